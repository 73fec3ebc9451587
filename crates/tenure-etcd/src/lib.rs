//! Elections in etcd.
#![forbid(unsafe_code)]

mod address;
mod administer;
mod backend;
mod builder;
mod keys;
mod queue;
mod record;
mod sessions;
mod watching;
mod wire;

pub use backend::EtcdBackend;
pub use builder::EtcdBuilder;
pub use wire::{Secret, Tls};
