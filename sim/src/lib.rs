//! Elections in a world of our own: the machine and the driver core that production runs, unchanged, among nodes that drift, freeze and die, a network
//! that loses, doubles and delays, and a model of a store. A seed decides everything, so a world can be run again bit by bit.
#![forbid(unsafe_code)]

pub mod clock;
pub mod faults;
pub mod history;
pub mod invariants;
pub mod resource;
pub mod rng;
pub mod store;
pub mod world;

pub use faults::Faults;
pub use history::{Fact, History, Violation};
pub use world::{END, World};

use std::time::Duration;

use store::{RegisterStore, SessionStore, Store, TtlStore};

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Keys with a TTL: Redis.
    Ttl,
    /// Keys whose TTL the store decides: a NATS bucket.
    Bucket,
    /// Sessions and a queue: etcd, ZooKeeper.
    Session,
    /// Conditional writes, polled: DynamoDB, object stores.
    Register,
    /// Conditional writes, pushed: Kubernetes.
    PushedRegister,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 5] =
        [Family::Ttl, Family::Bucket, Family::Session, Family::Register, Family::PushedRegister];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Family::Ttl => "ttl",
            Family::Bucket => "bucket",
            Family::Session => "session",
            Family::Register => "register",
            Family::PushedRegister => "pushed-register",
        }
    }

    fn store(self) -> Box<dyn Store> {
        match self {
            Family::Ttl => Box::new(TtlStore::new(None)),
            Family::Bucket => Box::new(TtlStore::new(Some(Duration::from_secs(20)))),
            Family::Session => Box::new(SessionStore::default()),
            Family::Register => Box::new(RegisterStore::new(false)),
            Family::PushedRegister => Box::new(RegisterStore::new(true)),
        }
    }
}

/// Runs the world of a seed.
pub fn run(seed: u64, family: Family, faults: Faults) -> History {
    World::new(seed, 5, family.store(), faults).run()
}
