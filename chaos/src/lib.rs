//! Candidates in processes of their own, real servers, faults from a seed, and a history that is judged afterwards.
//!
//! A backend brings a [`Subject`]: how its servers start, what can go wrong with them, and how a candidate reaches them. Its test target has no harness of
//! its own, because the same program is every candidate as well:
//!
//! ```no_run
//! # use chaos::{Chaos, Subject};
//! # fn example(subject: &'static dyn Subject) {
//! Chaos::new().subject(subject).main()
//! # }
//! ```
#![forbid(unsafe_code)]

mod call;
mod candidate;
mod chaos;
mod diary;
mod fleet;
mod invariants;
mod onlooker;
mod picture;
mod record;
mod recorded;
mod registers;
mod run;
mod schedule;
mod subject;

pub use crate::chaos::Chaos;
pub use candidate::OFFICE;
pub use subject::{Breaks, Fault, Request, Servers, Subject};
