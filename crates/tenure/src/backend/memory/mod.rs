//! Elections inside one process: for tests of a program that elects, for its demos, and for candidates that are threads or tasks.
//!
//! It is a store like any other, behind the same seam and held to the same contract, in the two shapes that stores come in:
//! - [`MemoryBackend`]: every record has a lease of its own, as in Redis or NATS;
//! - [`MemorySessions`]: one session covers many elections, and candidates wait in a queue, as in etcd or ZooKeeper.
//!
//! On a [`ManualClock`](crate::ManualClock) an hour of leases passes at once. [`Faults`] breaks the calls of one client or of all: delays, errors,
//! answers that never come, a cut connection. [`ByHand`] does to the store what operators and restores do. [`Calls`] says what an election
//! costs its store.
//!
//! What it does *not* do: reach another process, or remember anything after the last client is dropped.
//!
//! ```
//! use std::time::Duration;
//! use tenure::backend::memory::{MemoryBackend, Operation};
//! use tenure::{Election, ManualClock};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tenure::Error> {
//! let clock = ManualClock::new();
//! let store = MemoryBackend::with_clock(clock.clone());
//! let election = Election::new(store.clone(), "nightly-report")?;
//! let candidate = election.candidate("pod-1").clock(clock.clone()).build()?;
//!
//! let tenure = candidate.campaign().await?;
//! clock.advance(Duration::from_secs(60));
//! assert!(tenure.is_held(), "it was renewed again and again");
//! assert!(store.calls().of(Operation::Renew) >= 10);
//!
//! store.faults().sever();
//! clock.advance(Duration::from_secs(14));
//! assert!(!tenure.is_held(), "it ended by itself, before its lease did");
//! # Ok(())
//! # }
//! ```

mod by_hand;
mod client;
mod facade;
mod faults;
mod ledger;
mod offices;
mod own;
mod queue;
mod queues;
mod record;
mod scope;
mod shared;
mod store;
mod subscription;
#[cfg(test)]
mod tests;
mod watchers;

pub use by_hand::ByHand;
pub use faults::{Calls, Faults, Operation, Times};
pub use own::MemoryBackend;
pub use shared::MemorySessions;
