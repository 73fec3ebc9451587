//! Two adapters, so that a new backend is two or three small functions.
//!
//! | the store can … | implement | and elections run over |
//! | --- | --- | --- |
//! | insert, swap and delete by value, and expires keys itself | [`TtlStore`] | [`TtlBackend`] |
//! | read, and write conditional on a version; nothing expires | [`Register`] | [`RegisterBackend`] |
//!
//! The adapters keep the rules that are easy to get wrong: every write carries a value the key never had, an outcome that is not known is
//! resolved and never guessed, a late write touches no newer tenure, and fencing tokens rise in the order of tenures. What is *not* in
//! them is time: deadlines, retries and the wait before a silent holder is displaced belong to the [machine](crate::machine).
//!
//! # A backend in three functions
//! ```
//! use std::collections::HashMap;
//! use std::sync::{Arc, Mutex};
//! use std::time::Duration;
//!
//! use tenure::adapter::{Claim, Claimant, TtlBackend, TtlStore};
//! use tenure::{BootClock, Clock, Error, Moment, Seat};
//!
//! #[derive(Debug, Default)]
//! struct Shelf(Mutex<HashMap<Seat, (Claim<Claimant>, Moment)>>);
//!
//! impl TtlStore<Seat, Claim<Claimant>> for Shelf {
//!     async fn insert_if_absent(&self, key: &Seat, value: &Claim<Claimant>, ttl: Duration) -> Result<bool, Error> {
//!         let mut shelf = self.0.lock().unwrap();
//!         let now = BootClock.now();
//!         let free = !shelf.get(key).is_some_and(|(_, expiry)| now < *expiry);
//!         if free {
//!             shelf.insert(key.clone(), (value.clone(), now.after(ttl)));
//!         }
//!         Ok(free)
//!     }
//!
//!     async fn compare_and_swap(
//!         &self, key: &Seat, old: &Claim<Claimant>, new: &Claim<Claimant>, ttl: Duration,
//!     ) -> Result<bool, Error> {
//!         let mut shelf = self.0.lock().unwrap();
//!         let now = BootClock.now();
//!         let matches = shelf.get(key).is_some_and(|(value, expiry)| value == old && now < *expiry);
//!         if matches {
//!             shelf.insert(key.clone(), (new.clone(), now.after(ttl)));
//!         }
//!         Ok(matches)
//!     }
//!
//!     async fn compare_and_delete(&self, key: &Seat, value: &Claim<Claimant>) -> Result<bool, Error> {
//!         let mut shelf = self.0.lock().unwrap();
//!         let now = BootClock.now();
//!         let matches = shelf.get(key).is_some_and(|(held, expiry)| held == value && now < *expiry);
//!         if matches {
//!             shelf.remove(key);
//!         }
//!         Ok(matches)
//!     }
//! }
//!
//! # use tenure::backend::{Attempt, AttemptId, Bid, Renewal, Standing, TenureId};
//! # use tenure::machine::Plan;
//! # use tenure::{Backend, CandidateName, Timing};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let backend = TtlBackend::new(Shelf::default());
//! # let bid = |name: &str, nonce| {
//! #     let (seat, name) = (Seat::new("nightly-report").unwrap(), CandidateName::new(name).unwrap());
//! #     let plan = Plan::new(seat, name, nonce, Arc::new(Timing::default()), backend.traits());
//! #     Bid::new(Arc::new(plan), TenureId::new(nonce, 1), None)
//! # };
//! # let attempt = Attempt { id: AttemptId(1), sent: BootClock.now() };
//! # let (ours, theirs) = (bid("pod-1", 1), bid("pod-2", 2));
//! let Standing::Elected(grant) = backend.stand(&ours, attempt).await? else { panic!("the office was free") };
//! assert!(matches!(backend.stand(&theirs, attempt).await?, Standing::Held(_)));
//! assert!(matches!(backend.renew(&ours, &grant.version, attempt).await?, Renewal::Extended(_)));
//! backend.withdraw(&ours).await?;
//! assert!(matches!(backend.stand(&theirs, attempt).await?, Standing::Elected(_)));
//! # Ok(())
//! # }
//! ```
//! A store that can also be looked at implements [`TtlStore::look`]: then candidates see who holds the office. One that keeps a durable
//! counter implements [`TtlStore::next_token`]: then every tenure has a fencing token.

mod claim;
mod ledger;
mod memory_register;
mod memory_ttl;
mod record;
mod register;
mod register_backend;
#[cfg(test)]
mod rig;
mod ttl_backend;
mod ttl_store;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use claim::{Claim, Claimant};
pub use memory_register::MemoryRegister;
pub use memory_ttl::MemoryTtl;
pub use record::{Holder, RegisterRecord};
pub use register::{Register, Writing};
pub use register_backend::RegisterBackend;
pub use ttl_backend::TtlBackend;
pub use ttl_store::{Look, TtlStore, ttl_in_millis, ttl_in_seconds};

use crate::backend::TenureId;
use crate::{Error, Seat};

/// How often a call looks again when a record changes under its hands, before it says so.
const ROUNDS: usize = 4;

/// The wall clock, for people to read. Whole milliseconds, so that a store which keeps no finer ones gives back an equal value.
fn wall_clock() -> Option<SystemTime> {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(UNIX_EPOCH + Duration::from_millis(since_epoch.as_millis() as u64))
}

/// Whom the record of an office from which somebody was evicted belongs to: nobody. The nonce 0 marks it.
fn nobody() -> TenureId {
    TenureId::new(0, fastrand::u64(..))
}

fn is_nobody(tenure: TenureId) -> bool {
    tenure.nonce() == 0
}

fn evicted(holder: &str) -> String {
    format!("nobody ({holder} was evicted)")
}

/// The record changed between every read and the write that followed it.
fn contended(seat: &Seat, operation: &'static str) -> Error {
    Error::unavailable(format!("the record changed under each of {ROUNDS} tries; try again"))
        .of_election(seat)
        .during(operation)
}
