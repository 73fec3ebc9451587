//! Leader election.
#![forbid(unsafe_code)]

pub mod adapter;
pub mod backend;
mod backoff;
pub mod blocking;
mod clock;
mod error;
pub mod machine;
mod moment;
#[doc(hidden)]
pub mod mutant;
mod name;
pub mod reconcile;
mod timing;
mod token;

pub use backend::{Backend, Promise};
pub use backoff::Backoff;
pub use clock::{BootClock, Clock, ManualClock};
pub use error::{Error, ErrorKind};
pub use machine::{Alarm, Ending};
pub use moment::Moment;
pub use name::{CandidateName, Seat};
pub use timing::{Limits, RateBound, Timing, TimingBuilder, Tolerance};
pub use token::FencingToken;
