//! What goes over the wire: messages, calls and the connection.

mod blame;
mod call;
mod connection;
mod dial;
pub(crate) mod hub;
mod link;
mod login;
pub(crate) mod message;
mod noted;
mod release;
mod tls;

pub(crate) use blame::{Refusal, Why};
pub(crate) use call::Effect;
pub(crate) use link::Link;
pub(crate) use login::Login;
pub use tls::Tls;
