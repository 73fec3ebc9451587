//! The clients' side: what a node's driver core calls is a real [`Backend`], whose every message goes over the world's wire.
//!
//! Where the library has an adapter, it is that very adapter. Where a store does a whole call in one step, the client only forwards it. The clients
//! of Redis and Redlock are protocols of their own.

mod claims;
mod direct;
mod redis;
mod redlock;
mod register;
mod wire;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tenure::Backend;
use tenure::adapter::{RegisterBackend, TtlBackend};
use tenure::backend::Traits;

pub use wire::{Asked, Wire};

/// A client that forwards whole calls to a store like this.
pub fn direct(wire: Wire, traits: Traits) -> Arc<dyn Backend> {
    Arc::new(direct::Direct { wire, traits })
}

/// The library's adapter over a register; a Kubernetes-like one keeps whole seconds and pushes.
pub fn register(wire: Wire, pushed: bool) -> Arc<dyn Backend> {
    Arc::new(RegisterBackend::new(register::WiredRegister { wire, pushed }))
}

/// The library's adapter over a TTL store.
pub fn claims(wire: Wire) -> Arc<dyn Backend> {
    Arc::new(TtlBackend::new(claims::WiredClaims { wire }))
}

/// A client that runs scripts.
pub fn redis(wire: Wire, traits: Traits) -> Arc<dyn Backend> {
    Arc::new(redis::Redis { wire, traits, draws: AtomicU64::new(0) })
}

/// A client of so many independent masters.
pub fn redlock(wire: Wire, masters: usize) -> Arc<dyn Backend> {
    Arc::new(redlock::Redlock { wire, masters })
}
