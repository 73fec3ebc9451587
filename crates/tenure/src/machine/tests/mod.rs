//! The rules, one by one, on the machine alone: no clock, no thread, no store but what a test says.
//!
//! [`Rig`] drives one machine, keeps the one call in flight and the one armed wake as a driver would, and checks with every step what must
//! always hold ([`Watchdog`]). [`store`] has a toy store for tests that need two machines against one record.

mod anything;
mod audit;
mod campaigning;
mod endings;
mod health;
mod hints;
mod holder;
mod minimum_hold;
mod observer;
mod phases;
mod properties;
mod rig;
mod sessions;
mod settling;
mod shape;
mod stopping;
mod store;
mod tokens;
mod unknown;
mod watchdog;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{
    Action, Actions, Alarm, Ending, Failure, Finish, Goal, Input, Machine, Note, Op, Outcome, Plan, Reclaim, State,
    Term,
};
use crate::backend::{
    Attempt, Cover, Expiry, Grant, Held, Hint, Incarnation, Renewal, SessionId, Sight, Standing, TenureId, Traits,
    Vacancies, Vacancy, Version,
};
use crate::timing::{Settle, TimingBuilder};
use crate::{Backoff, CandidateName, FencingToken, Moment, Promise, RateBound, Seat, Timing, Tolerance};

use rig::{Ordered, Rig, Seen, Setup};
use watchdog::Watchdog;

/// The default lease, and what the defaults make of it with clocks within 10 %: 12.27 s can be counted on, 2 s of them to stop work in.
const LEASE: Duration = Duration::from_secs(15);
const EXPIRY: Duration = Duration::from_nanos(15_000_000_000 * 9 / 11);
const DEADLINE: Duration = Duration::from_nanos(15_000_000_000 * 9 / 11 - 2_000_000_000);
const NANO: Duration = Duration::from_nanos(1);
/// The random word that jitters by a factor of one.
const MIDDLE: u64 = 1 << 63;

/// So many seconds after the tests' clock began.
fn at(seconds: f64) -> Moment {
    Moment::ZERO.after(Duration::from_secs_f64(seconds))
}

fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A grant of `ttl` on a record of its own.
fn grant(tenure: TenureId, version: u64) -> Grant {
    Grant {
        tenure,
        version: Version::number(version),
        token: Some(version),
        incarnation: None,
        cover: Cover::Own { ttl: LEASE },
        over: Vacancy::Free,
        asked_to_resign: false,
    }
}

/// The record of another candidate of this program, in a store that judges expiry itself.
fn held(version: u64) -> Held {
    Held {
        version: Version::number(version),
        tenure: Some(TenureId::new(0xbad, 1)),
        holder: "other".into(),
        token: None,
        since: None,
        advertise: Arc::default(),
        asked_to_resign: false,
        expiry: Expiry::Store { remaining: None },
    }
}

/// The same, where contenders judge: it may be displaced after `recorded`.
fn silent(version: u64, recorded: Duration) -> Held {
    Held { expiry: Expiry::Observe { recorded }, ..held(version) }
}

fn elected(grant: Grant) -> Outcome {
    Outcome::Stood(Standing::Elected(grant))
}

fn occupied(held: Held) -> Outcome {
    Outcome::Stood(Standing::Held(Sight::Held(held)))
}

fn extended(grant: Grant) -> Outcome {
    Outcome::Renewed(Renewal::Extended(grant))
}

fn mismatch(sight: Sight) -> Outcome {
    Outcome::Renewed(Renewal::Mismatch(sight))
}

/// Nothing was written, and trying again can help.
const TRANSIENT: Outcome = Outcome::Failed(Failure { transient: true, indeterminate: false });
/// Nothing was written, and trying again does not help.
const REFUSED: Outcome = Outcome::Failed(Failure { transient: false, indeterminate: false });
/// The write may have landed.
const UNKNOWN: Outcome = Outcome::Failed(Failure { transient: true, indeterminate: true });
