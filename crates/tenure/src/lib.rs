//! Elects one leader among many processes, ends that leadership by itself in time, and gives it a number with which a resource can refuse
//! a former leader.
//!
//! # What it does not promise
//! **A lease alone never gives mutual exclusion.** A process can freeze between the check that it leads and the act that relies on it, for
//! longer than any lease; when it goes on, another leads. tenure gives two things instead, and both are needed:
//! - **A deadline.** Leadership ends on the holder's own clock, which counts suspended time, before the store can give the office away; it
//!   asks nobody for that. This holds while the rates of clocks stay within a stated bound (10 % unless set).
//! - **A fencing token**, which rises with every tenure. A resource that refuses every token below the highest it has seen ([`Fence`]) refuses the
//!   process that froze. Raising it is a new leader's first act.
//!
//! A paused virtual machine can stop every clock it has, and a store that was wiped has forgotten who led: in both cases only the token helps, and
//! in the second only while a candidate or a fence remembers the old ones. What a backend can be relied on for it says ([`Promise`]).
//!
//! # Ten lines
//! ```
//! use tenure::{Election, Fence, backend::memory::MemoryBackend};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tenure::Error> {
//! # let report = Fence::in_memory();
//! let election = Election::new(MemoryBackend::new(), "nightly-report")?;
//! let me = election.candidate("pod-1").build()?; // refuses every timing with which two could lead
//!
//! let tenure = me.campaign().await?; // returns when elected
//! let token = tenure.token().expect("this backend has tokens");
//! report.raise(token)?; // from here on the resource refuses every former leader
//! tenure.while_held(async { println!("reporting as {token}") }).await?; // dropped at its next await once leadership is lost
//! tenure.resign().await?; // the next candidate leads at once
//!
//! let campaign = election.candidate("pod-2").build()?.start()?; // or: campaign for ever, in the background
//! println!("leading: {}", campaign.is_leader()); // one load and one look at the clock
//! campaign.stop().await?; // work stops, then the office is given up, then this returns
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//! | to … | see |
//! | --- | --- |
//! | run for an office | [`Election`], then [`Candidate`]: [`campaign`](Candidate::campaign), [`try_campaign`](Candidate::try_campaign), [`start`](Candidate::start) |
//! | do a leader's work | [`Tenure`] and [`Leadership`]: [`while_held`](Leadership::while_held), [`guard`](Leadership::guard), [`cancellation`](Leadership::cancellation) |
//! | campaign in the background | [`Campaign`], its [`Events`] and [`Change`]s |
//! | refuse former leaders | [`Fence`], [`FencingToken`] |
//! | know who leads | [`Election::incumbent`], [`Election::observe`] |
//! | choose durations | [`CandidateBuilder`], [`Timing`], [`Tolerance`], [`Backoff`], [`Limits`] |
//! | take the first free of several offices | [`first_free`] |
//! | lead keys of a TTL store with values of your own | [`Elections`] |
//! | start and stop something with leadership | [`reconcile`] |
//! | do without a runtime | [`blocking`] |
//! | test a program that elects | [`backend::memory`], [`ManualClock`] |
//! | bring another store | [`adapter`], [`backend`], and the feature `conformance` for its tests |
//! | see what decides | [`machine`], which is pure, and [`driver`], which runs it |
#![forbid(unsafe_code)]

pub mod adapter;
#[cfg(test)]
mod arbitrary;
pub mod backend;
mod backoff;
pub mod blocking;
mod campaign;
mod candidate;
mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod driver;
mod election;
mod elections;
mod error;
mod event;
mod fence;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod incumbent;
mod listener;
pub mod machine;
mod moment;
#[doc(hidden)]
pub mod mutant;
mod name;
mod observation;
pub mod reconcile;
mod slots;
mod tenure;
mod timing;
mod token;

pub use backend::{Backend, ForeignPeers, Promise};
pub use backoff::Backoff;
pub use campaign::Campaign;
pub use candidate::{Candidate, CandidateBuilder};
pub use clock::{BootClock, Clock, ManualClock};
pub use election::Election;
pub use elections::Elections;
pub use error::{Error, ErrorKind};
pub use event::{Event, Events};
pub use fence::Fence;
pub use incumbent::Incumbent;
pub use listener::Change;
pub use machine::{Alarm, Ending, Finish, State};
pub use moment::Moment;
pub use name::{CandidateName, Seat};
pub use observation::Observation;
pub use slots::first_free;
pub use tenure::{Leadership, Tenure, WhileHeld, WorkGuard};
pub use timing::{Interval, Limits, RateBound, Settle, Timing, TimingBuilder, Tolerance};
pub use token::FencingToken;

/// The exit status of a process that was ended because work did not stop after leadership was lost.
pub const KILLED_EXIT_STATUS: i32 = 75;
