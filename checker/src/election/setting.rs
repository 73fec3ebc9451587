//! What a model of an election is made of, and how far it is explored.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure::machine::Plan;
use tenure::{Backoff, CandidateName, Interval, RateBound, Seat, Timing, TimingBuilder};

use super::clocks::Clocks;
use super::facts::Fact;
use super::invariants::Invariant;
use super::store::StoreKind;

/// How far an exploration goes. Whatever happens within these bounds is explored; nothing beyond them is.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Ticks of true time.
    pub ticks: u8,
    /// Tenures that the store grants.
    pub tenures: u64,
    /// Disturbances of all kinds together.
    pub disturbances: u8,
    /// Messages that do not arrive within the tick they were sent at: they come at any later one, or never. All others come within their tick, in any
    /// order.
    pub late: u8,
    /// Messages that are delivered twice, the second time at any tick.
    pub duplicates: u8,
    /// Processes that are stopped for any number of ticks.
    pub pauses: u8,
    /// Processes that die and start again without memory.
    pub crashes: u8,
    /// Leaders that resign.
    pub resignations: u8,
}

impl Bounds {
    /// So many ticks and disturbances, of whatever kind, among three tenures.
    pub const fn new(ticks: u8, disturbances: u8) -> Self {
        let any = disturbances;
        Bounds {
            ticks,
            tenures: 3,
            disturbances,
            late: any,
            duplicates: any,
            pauses: any,
            crashes: any,
            resignations: any,
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bounds { ticks, tenures, disturbances, .. } = *self;
        write!(f, "{ticks} ticks, {tenures} tenures, at most {disturbances} of: ")?;
        let kinds = [
            (self.late, "late or lost"),
            (self.duplicates, "doubled"),
            (self.pauses, "pauses"),
            (self.crashes, "crashes"),
            (self.resignations, "resignations"),
        ];
        for (number, (most, kind)) in kinds.into_iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            match most {
                most if most >= disturbances => write!(f, "{comma}{kind}")?,
                most => write!(f, "{comma}{kind} ≤ {most}")?,
            }
        }
        Ok(())
    }
}

/// One candidate's durations, in milliseconds of its own clock.
#[derive(Clone, Copy, Debug)]
pub struct Durations {
    /// The lease.
    pub lease: u64,
    /// How often it renews.
    pub renew: u64,
    /// How often it asks; half of it is waited, because the random word is 0.
    pub retry: u64,
    /// After how long a call counts as unanswered.
    pub timeout: u64,
    /// The time to stop work in.
    pub grace: u64,
}

impl Durations {
    /// Two ticks of a slow holder and of a fast store, the shortest lease in which an answer can be a tick late and still count.
    pub const SHORT: Durations = Durations { lease: 6_000, renew: 400, retry: 8_000, timeout: 3_100, grace: 400 };

    /// Three ticks.
    pub const LONG: Durations = Durations { lease: 9_000, renew: 2_400, retry: 8_000, timeout: 3_100, grace: 400 };

    /// Five ticks, in which a renewal that was given up is tried a second time.
    pub const PATIENT: Durations = Durations { lease: 15_000, renew: 1_900, retry: 8_000, timeout: 3_100, grace: 400 };

    /// The bound on clock rates of every model; [`Clocks::WITHIN`] are its extremes.
    pub const RATE_PERCENT: u32 = 20;

    /// As production checks them: an unsafe choice is refused here too.
    fn timing(&self) -> Timing {
        let ms = Duration::from_millis;
        TimingBuilder {
            lease: Some(ms(self.lease)),
            renew: Some(Interval::Every(ms(self.renew))),
            retry: Some(ms(self.retry)),
            grace: Some(ms(self.grace)),
            call_timeout: Some(ms(self.timeout)),
            backoff: Some(Backoff::constant(ms(self.retry))),
            rate: RateBound::percent(Self::RATE_PERCENT),
            ..TimingBuilder::default()
        }
        .build()
        .expect("the durations of a model satisfy SAFETY 2")
    }
}

/// A model: who runs, in which store, with which clocks, and within which bounds.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// The store.
    pub store: StoreKind,
    /// One for each candidate.
    pub candidates: Vec<Durations>,
    /// The clocks.
    pub clocks: Clocks,
    /// How far.
    pub bounds: Bounds,
    /// What must break in it; everything else must hold.
    pub breaks: &'static [Invariant],
    /// What must happen in it.
    pub meets: Vec<Fact>,
}

impl Setting {
    /// What a candidate is told in one of its lives: only its nonce is new with each (SAFETY 11).
    pub(super) fn plan(&self, candidate: usize, life: u8) -> Arc<Plan> {
        let seat = Seat::new("s").expect("a good name");
        let name = CandidateName::new(name_of(candidate)).expect("a good name");
        let nonce = (candidate as u64 + 1) * 10 + u64::from(life);
        Arc::new(Plan::new(seat, name, nonce, Arc::new(self.candidates[candidate].timing()), self.store.traits()))
    }
}

/// What people call a candidate.
pub fn name_of(candidate: usize) -> &'static str {
    ["ada", "bob", "eve", "joe"][candidate]
}
