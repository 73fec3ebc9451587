//! Elections in a world of our own: the machine and the driver core that production runs, unchanged, among nodes that drift, freeze and die, a network
//! that loses, doubles and delays, and a model of a store. A seed decides everything, so a world can be run again bit by bit.
#![forbid(unsafe_code)]

pub mod client;
pub mod clock;
pub mod family;
pub mod faults;
pub mod foreign;
pub mod history;
pub mod invariants;
pub mod killers;
pub mod picture;
pub mod resource;
pub mod rng;
pub mod store;
pub mod tale;
pub mod world;

pub use family::Family;
pub use faults::Faults;
pub use history::{Fact, History, Violation};
pub use world::{CANDIDATES, END, World};

/// Runs the world of a seed.
pub fn run(seed: u64, family: Family, faults: Faults) -> History {
    World::new(seed, family, faults, false).run()
}

/// Runs it again and tells what happens.
pub fn tell(seed: u64, family: Family, faults: Faults) -> History {
    World::new(seed, family, faults, true).run()
}
