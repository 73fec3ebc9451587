//! Small elections: candidates that run the production machine, a network, clocks at their extremes, and a model of a store.

mod clocks;
mod driving;
mod facts;
mod invariants;
mod message;
mod model;
mod narrate;
mod node;
mod setting;
mod shared;
mod stepping;
mod store;
mod world;

pub use clocks::Clocks;
pub use facts::{Fact, Facts};
pub use invariants::{Broken, Invariant};
pub use message::{Body, Ends, Granted, Message, Reply, Request, Seen, Session};
pub use model::{Answer, Blow, ElectionModel, Step};
pub use node::Node;
pub use setting::{Bounds, Durations, Setting, name_of};
pub use shared::Shared;
pub use store::{Flaw, RegisterStore, SessionStore, Store, StoreKind, Truth, TtlStore};
pub use world::World;
