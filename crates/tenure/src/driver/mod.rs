//! Runs every campaign of a process on one thread of its own, so that a busy or blocked application never delays a renewal.
//!
//! [`Core`] is the whole logic and is synchronous; a thin asynchronous loop around it makes the calls.

mod core;
mod heart;
mod published;
mod shell;
#[cfg(test)]
mod tests;
mod timers;

pub use self::core::{BackendKey, Called, Command, Core, Happening, Key};
pub use self::heart::{Heart, Pulse};
pub use crate::incumbent::Onlooker;

pub(crate) use published::{Published, TenureState};
pub(crate) use shell::{Driver, Start};
