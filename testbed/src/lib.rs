//! Real servers on private ports, and ways to break them.
//!
//! A test owns what it starts: each [`Server`] has a folder and ports of its own, can be frozen, killed, wiped, restored and started again,
//! and ends with the test, also when that panics or is killed. A [`Proxy`] in between breaks connections.

#![forbid(unsafe_code)]

pub mod certificates;
pub mod conformance;
pub mod etcd;
mod failure;
mod folder;
mod port;
mod proxy;
pub mod redis;
mod server;
mod sweeper;
pub mod tools;
mod trials;
mod warden;

pub use failure::Failure;
pub use folder::Folder;
pub use port::Port;
pub use proxy::{Counts, Proxy};
pub use server::{Backup, Place, Program, Server};
pub use trials::Trials;
