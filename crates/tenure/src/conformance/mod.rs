//! The suite that every backend has to pass, for backends outside this repository too.
//!
//! It asks of a store what the contract of [`Backend`](crate::Backend) says, one property a case, each named by a sentence: at the seam, where a case
//! makes the calls itself, and through whole elections with the real driver. What it does *not* show is that a store keeps its word under
//! load, in a cluster that loses members, or with a broken disk.
//!
//! # A backend in ten lines
//! A test target of its own, with `harness = false` in `Cargo.toml`:
//! ```no_run
//! use std::sync::Arc;
//! use tenure::backend::{Backend, memory::MemoryBackend};
//! use tenure::conformance::{Harness, Suite};
//!
//! struct MyStore(MemoryBackend);
//!
//! impl Harness for MyStore {
//!     fn client(&self, _: usize) -> Arc<dyn Backend> {
//!         Arc::new(self.0.client())
//!     }
//! }
//!
//! fn main() {
//!     Suite::new("my-store", || MyStore(MemoryBackend::new())).main()
//! }
//! ```
//! ```toml
//! [[test]]
//! name = "conformance"
//! harness = false
//! ```
//! It takes the arguments of any test target: a filter, `--list`, `--test-threads`, `--exact`. A server that may not be there is declared by
//! [`Suite::needs`]. [`Suite::run`] does the same inside a program and gives a [`Report`].
//!
//! # Which cases run
//! The backend's [`Traits`](crate::backend::Traits) choose them: a store that has no queue is not asked for one. [`Harness`] has hooks to break and
//! tamper with the store. A case that applies and whose hook is missing did **not** run: it is shown as ignored with the name of the hook,
//! listed once more at the end, and fails the run where `TENURE_STRICT=1` or `CI` is set. Nothing is ever silently green.
//!
//! | theme | what is asked | chosen where |
//! | --- | --- | --- |
//! | `standing` | of many bids one wins; a bid can be repeated; a holder is seen as it wrote itself | always |
//! | `displacing` | another's record goes by its exact version and in no other way | always |
//! | `renewing` | a full lease anew, a new version, never a new record, never over a newer tenure | always |
//! | `withdrawing` | frees at once, needs no version, touches nothing else, leaves its word | always |
//! | `expiring` | not before the lease is over, soon after it, and no part of a second is cut | mostly where the store judges |
//! | `looking` | writes nothing, is linearizable | always |
//! | `tokens` | rise with every tenure, across expiry, removal, restart and wipe | `has_tokens` |
//! | `watching` | armed first, told of vacancies, never silent at its end | `Pushed` |
//! | `seats` | names that look alike are different offices | always |
//! | `errors` | a store that is away gives errors and no answers, and is found again | always |
//! | `queueing` | first come, first served; no herd | `queues` |
//! | `sessions` | one heartbeat for all, one end for all, one withdrawal for one | `shares_sessions` |
//! | `administering` | list, ask to resign, evict and bar | where offered |
//! | `elections`, `handover` | never two leaders, tokens that rise, and a leader again after every fault, with the real driver | always |

mod bench;
mod case;
mod cases;
mod contender;
mod fleet;
mod harness;
mod report;
mod suite;
#[cfg(test)]
mod tests;

pub use harness::{Harness, Hook, Hooked, NoHook};
pub use report::{Broken, NotRun, Report};
pub use suite::Suite;
