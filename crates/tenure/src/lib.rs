//! Leader election.
#![forbid(unsafe_code)]

pub mod adapter;
pub mod backend;
mod backoff;
pub mod blocking;
mod campaign;
mod candidate;
mod clock;
pub mod driver;
mod election;
mod error;
mod event;
mod incumbent;
mod listener;
pub mod machine;
mod moment;
#[doc(hidden)]
pub mod mutant;
mod name;
mod observation;
pub mod reconcile;
mod tenure;
mod timing;
mod token;

pub use backend::{Backend, Promise};
pub use backoff::Backoff;
pub use campaign::Campaign;
pub use candidate::{Candidate, CandidateBuilder};
pub use clock::{BootClock, Clock, ManualClock};
pub use election::Election;
pub use error::{Error, ErrorKind};
pub use event::{Event, Events};
pub use incumbent::Incumbent;
pub use listener::Change;
pub use machine::{Alarm, Ending, Finish, State};
pub use moment::Moment;
pub use name::{CandidateName, Seat};
pub use observation::Observation;
pub use tenure::{Leadership, Tenure, WhileHeld, WorkGuard};
pub use timing::{Limits, RateBound, Timing, TimingBuilder, Tolerance};
pub use token::FencingToken;

/// The exit status of a process that was ended because work did not stop after leadership was lost.
pub const KILLED_EXIT_STATUS: i32 = 75;
