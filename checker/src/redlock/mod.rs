//! The fencing token of Redlock: the protocol, models of it, and variants without one of its rules.

mod model;
mod protocol;
mod variant;

pub use model::{Cluster, RISING, RedlockModel, Step, UNDER_LOCK, UNIQUE};
pub use protocol::{Attempt, Heard, Master, Reply, Request, majority};
pub use variant::{Source, Variant};
