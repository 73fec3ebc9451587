//! The memory store at the seam. What these tests say of a store, `SEEDS n` and `SAFETY n` say of every one.

mod administration;
mod cost;
mod disturbance;
mod records;
mod sessions;
mod tampering;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use super::{MemoryBackend, MemorySessions};
use crate::backend::{
    Answer, Attempt, AttemptId, Backend, Bid, Cover, Grant, Renewal, SessionId, Sight, Standing, TenureId, Traits,
    Vacancy, Version,
};
use crate::machine::Plan;
use crate::timing::TimingBuilder;
use crate::{CandidateName, Clock, Error, ManualClock, Moment, Promise, Seat, Timing};

const SECOND: Duration = Duration::from_secs(1);
const NANO: Duration = Duration::from_nanos(1);
/// The lease of a bid where a test does not choose one.
const LEASE: Duration = Duration::from_secs(15);

fn seat(name: &str) -> Seat {
    Seat::new(name).unwrap()
}

/// The first bid of the candidate with this nonce.
fn bid(seat_name: &str, nonce: u64) -> Bid {
    nth_bid(seat_name, nonce, 1)
}

fn nth_bid(seat_name: &str, nonce: u64, count: u64) -> Bid {
    Bid::new(plan(seat_name, nonce, LEASE), TenureId::new(nonce, count), None)
}

fn bid_for(seat_name: &str, nonce: u64, lease: Duration) -> Bid {
    Bid::new(plan(seat_name, nonce, lease), TenureId::new(nonce, 1), None)
}

fn displacing(seat_name: &str, nonce: u64, version: Version) -> Bid {
    Bid::new(plan(seat_name, nonce, LEASE), TenureId::new(nonce, 1), Some(version))
}

fn plan(seat_name: &str, nonce: u64, lease: Duration) -> Arc<Plan> {
    let timing = TimingBuilder { lease: Some(lease), ..TimingBuilder::default() }.build();
    // A lease that no timing allows can still reach a store.
    let timing = timing.unwrap_or_else(|_| Timing { lease, ..Timing::default() });
    let name = CandidateName::new(&format!("pod-{nonce}")).unwrap();
    Arc::new(Plan::new(seat(seat_name), name, nonce, Arc::new(timing), Traits::new(Promise::Fenced)))
}

fn sent(at: Moment) -> Attempt {
    Attempt { id: AttemptId(1), sent: at }
}

fn stand<'a>(store: &'a dyn Backend, bid: &'a Bid) -> Answer<'a, Standing> {
    store.stand(bid, sent(Moment::ZERO))
}

fn renew<'a>(store: &'a dyn Backend, bid: &'a Bid, version: &'a Version) -> Answer<'a, Renewal> {
    store.renew(bid, version, sent(Moment::ZERO))
}

#[track_caller]
fn grant(standing: Result<Standing, Error>) -> Grant {
    match standing {
        Ok(Standing::Elected(grant)) => grant,
        other => panic!("not elected: {other:?}"),
    }
}

#[track_caller]
fn extended(renewal: Result<Renewal, Error>) -> Grant {
    match renewal {
        Ok(Renewal::Extended(grant)) => grant,
        other => panic!("not extended: {other:?}"),
    }
}

#[track_caller]
fn held(standing: Result<Standing, Error>) -> Sight {
    match standing {
        Ok(Standing::Held(sight)) => sight,
        other => panic!("not held: {other:?}"),
    }
}

#[track_caller]
fn queued(standing: Result<Standing, Error>) -> Sight {
    match standing {
        Ok(Standing::Queued(sight, Some(Cover::Shared { .. }))) => sight,
        other => panic!("not queued: {other:?}"),
    }
}

#[track_caller]
fn session_of(grant: &Grant) -> SessionId {
    match grant.cover {
        Cover::Shared { session, .. } => session,
        other => panic!("no session: {other:?}"),
    }
}

/// The clocks that a store is tested on.
enum Time {
    Manual(ManualClock),
    Real,
}

impl Time {
    fn both() -> [Time; 2] {
        [Time::Manual(ManualClock::new()), Time::Real]
    }

    fn store(&self) -> MemoryBackend {
        match self {
            Time::Manual(clock) => MemoryBackend::with_clock(clock.clone()),
            Time::Real => MemoryBackend::new(),
        }
    }

    fn sessions(&self) -> MemorySessions {
        match self {
            Time::Manual(clock) => MemorySessions::with_clock(clock.clone()),
            Time::Real => MemorySessions::new(),
        }
    }
}
