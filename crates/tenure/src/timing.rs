//! The durations of an election, checked as relations when they are built (SAFETY 2).

use std::time::Duration;

use crate::{Backoff, Error, ErrorKind};

/// How far two clocks' rates may lie apart from true time, in parts per million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateBound(u32);

impl RateBound {
    /// 10 %: time daemons slew by up to 8 %.
    pub const DEFAULT: RateBound = RateBound(100_000);

    /// A bound of so many parts per million; `None` from one half upwards.
    pub const fn parts_per_million(parts: u32) -> Option<Self> {
        if parts < 500_000 { Some(RateBound(parts)) } else { None }
    }

    /// A bound of so many per cent; `None` from 50 upwards.
    pub const fn percent(percent: u32) -> Option<Self> {
        match percent.checked_mul(10_000) {
            Some(parts) => Self::parts_per_million(parts),
            None => None,
        }
    }

    /// `span` · (1−ρ)/(1+ρ), rounded down: what a holder may count on of a lease (SAFETY 2e).
    pub fn shrink(self, span: Duration) -> Duration {
        scale(span, 1_000_000 - self.0, 1_000_000 + self.0, false)
    }

    /// `span` · (1+ρ)/(1−ρ), rounded up: what to wait for a holder that does not shrink its own (SAFETY 4).
    pub fn stretch(self, span: Duration) -> Duration {
        scale(span, 1_000_000 + self.0, 1_000_000 - self.0, true)
    }
}

fn scale(span: Duration, numerator: u32, denominator: u32, up: bool) -> Duration {
    const NANOS: u128 = 1_000_000_000;
    let product = span.as_nanos() * u128::from(numerator);
    let denominator = u128::from(denominator);
    let nanos = if up { product.div_ceil(denominator) } else { product / denominator };
    match u64::try_from(nanos / NANOS) {
        Ok(seconds) => Duration::new(seconds, (nanos % NANOS) as u32),
        Err(_) => Duration::MAX,
    }
}

/// How many failed renewals in a row end a tenure before its deadline does (SEEDS 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Tolerance {
    /// A failed renewal is tried again, quickly, until the deadline.
    #[default]
    UntilDeadline,
    /// The first failed renewal ends the tenure.
    FirstErrorLoses,
    /// This many failed renewals in a row end it; 0 counts as 1.
    FailuresLose(u32),
}

impl Tolerance {
    pub(crate) fn exceeded_by(self, failures: u32) -> bool {
        match self {
            Tolerance::UntilDeadline => false,
            Tolerance::FirstErrorLoses => failures >= 1,
            Tolerance::FailuresLose(most) => failures >= most.max(1),
        }
    }

    fn forgives_one(self) -> bool {
        !self.exceeded_by(1)
    }
}

/// Narrower limits than safety asks for, under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    name: &'static str,
    shortest_lease: Duration,
    longest_lease: Duration,
    shortest_interval: Duration,
    shortest_gap: Duration,
}

impl Limits {
    /// The limits of the Go NATS election (SEEDS 41): a lease of 30 s to 1 h, an interval of at least 5 s, and at least 5 s between the
    /// interval and the lease.
    pub const NATS_ELECTION: Limits = Limits {
        name: "nats-election",
        shortest_lease: Duration::from_secs(30),
        longest_lease: Duration::from_secs(3600),
        shortest_interval: Duration::from_secs(5),
        shortest_gap: Duration::from_secs(5),
    };

    fn check(&self, timing: &Timing) -> Result<(), Error> {
        let Limits { name, shortest_lease, longest_lease, shortest_interval, shortest_gap } = *self;
        let (lease, renew) = (timing.lease, timing.renew);
        if lease < shortest_lease || lease > longest_lease {
            return Err(refusal(format!(
                "the limits {name} take a lease of {shortest_lease:?} to {longest_lease:?}, and this one is {lease:?}"
            )));
        }
        if renew < shortest_interval {
            return Err(refusal(format!(
                "the limits {name} take a renew interval of at least {shortest_interval:?}, and this one is {renew:?}"
            )));
        }
        if lease.saturating_sub(renew) < shortest_gap {
            return Err(refusal(format!(
                "the limits {name} want {shortest_gap:?} between the renew interval ({renew:?}) and the lease ({lease:?})"
            )));
        }
        Ok(())
    }
}

/// The durations of one candidate in one election; every value of this type satisfies SAFETY 2.
///
/// All defaults follow the lease: with the default of 15 s they are renew 5 s, retry 2 s, grace 2 s, call timeout 3 s.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    pub(crate) lease: Duration,
    pub(crate) renew: Duration,
    pub(crate) retry: Duration,
    pub(crate) grace: Duration,
    pub(crate) call_timeout: Duration,
    pub(crate) settle: Duration,
    pub(crate) splay: Duration,
    pub(crate) at_least: Duration,
    pub(crate) kill_after: Option<Duration>,
    pub(crate) backoff: Backoff,
    pub(crate) tolerance: Tolerance,
    pub(crate) rate: RateBound,
}

impl Timing {
    /// The lease where none is chosen (SEEDS 61).
    pub const DEFAULT_LEASE: Duration = Duration::from_secs(15);
    /// No store or network keeps a shorter one in any useful way.
    pub const SHORTEST_LEASE: Duration = Duration::from_millis(10);
    /// A leader that dies holds its office for so long.
    pub const LONGEST_LEASE: Duration = Duration::from_secs(24 * 3600);

    /// The lease: for how long the store keeps the office for a holder that is not heard of.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// How often the holder renews.
    pub fn renew_interval(&self) -> Duration {
        self.renew
    }

    /// How often a candidate tries where the store pushes nothing.
    pub fn retry_interval(&self) -> Duration {
        self.retry
    }

    /// The time to stop guarded work in, between deadline and expiry.
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// After how long a call to the store counts as unanswered.
    pub fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    /// The delay between winning and leading (SAFETY 14).
    pub fn settle(&self) -> Duration {
        self.settle
    }

    /// The bound on clock rates.
    pub fn rate_bound(&self) -> RateBound {
        self.rate
    }

    /// From sending a request to the last instant at which a store that granted `ttl` surely has not given the office away.
    pub fn expiry_after(&self, ttl: Duration) -> Duration {
        self.rate.shrink(ttl)
    }

    /// From sending a request to the deadline, the grace before expiry; `None` when a grant of `ttl` is too short to hold office with
    /// (SAFETY 2a).
    pub fn deadline_after(&self, ttl: Duration) -> Option<Duration> {
        let deadline = self.expiry_after(ttl).checked_sub(self.grace)?;
        let needed = if self.tolerance.forgives_one() { self.renew + self.call_timeout } else { self.renew };
        (needed < deadline).then_some(deadline)
    }
}

impl Default for Timing {
    fn default() -> Self {
        TimingBuilder::default().build().expect("the defaults are safe")
    }
}

/// Durations as they are asked for; [`build`](TimingBuilder::build) refuses what is unsafe. What is left out follows the lease.
#[derive(Clone, Debug, Default)]
pub struct TimingBuilder {
    /// The lease; 15 s unless set.
    pub lease: Option<Duration>,
    /// How often to renew; a third of the lease unless set.
    pub renew: Option<Interval>,
    /// How often to try where the store pushes nothing; 2/15 of the lease unless set.
    pub retry: Option<Duration>,
    /// The time to stop guarded work in; 2/15 of the lease unless set.
    pub grace: Option<Duration>,
    /// After how long a call counts as unanswered; a fifth of the lease unless set.
    pub call_timeout: Option<Duration>,
    /// The delay between winning and leading; none unless set.
    pub settle: Settle,
    /// A random part of this is waited before the first attempt.
    pub splay: Duration,
    /// For how long the office is held at least.
    pub at_least: Duration,
    /// When to end the process after a loss if its work has not stopped; never unless set.
    pub kill_after: Option<Duration>,
    /// How long to wait between attempts; the retry interval unless set.
    pub backoff: Option<Backoff>,
    /// How many failed renewals end a tenure.
    pub tolerance: Tolerance,
    /// How far clock rates may lie apart; 10 % unless set.
    pub rate: Option<RateBound>,
    /// Narrower limits.
    pub limits: Option<Limits>,
}

/// A renew interval as it is asked for: plain, or as a part of the lease (SEEDS 12).
#[derive(Clone, Copy, Debug)]
pub enum Interval {
    /// This often.
    Every(Duration),
    /// After this part of the lease.
    Percent(u32),
}

/// The delay between winning and leading, for resources that cannot check tokens (SAFETY 14).
#[derive(Clone, Copy, Debug, Default)]
pub enum Settle {
    /// None, unless the election is shared with peers that may linger.
    #[default]
    Default,
    /// This long.
    For(Duration),
    /// One renew interval.
    OneInterval,
}

impl TimingBuilder {
    /// Checks every relation and gives the timing, or says which number to change.
    pub fn build(&self) -> Result<Timing, Error> {
        let lease = self.lease.unwrap_or(Timing::DEFAULT_LEASE);
        if lease.is_zero() {
            return Err(refusal("the lease is 0; set a lease of seconds, such as 15 s".into()));
        }
        if lease < Timing::SHORTEST_LEASE || lease > Timing::LONGEST_LEASE {
            let (least, most) = (Timing::SHORTEST_LEASE, Timing::LONGEST_LEASE);
            return Err(refusal(format!("a lease of {lease:?} is outside {least:?} to {most:?}; seconds are usual")));
        }
        let part = |numerator: u32, denominator: u32| lease * numerator / denominator;
        let renew = match self.renew {
            None => part(1, 3),
            Some(Interval::Every(interval)) => interval,
            Some(Interval::Percent(percent)) => part(percent, 100),
        };
        let retry = self.retry.unwrap_or(part(2, 15));
        let timing = Timing {
            lease,
            renew,
            retry,
            grace: self.grace.unwrap_or(part(2, 15)),
            call_timeout: self.call_timeout.unwrap_or(part(1, 5)),
            settle: match self.settle {
                Settle::Default => Duration::ZERO,
                Settle::For(span) => span,
                Settle::OneInterval => renew,
            },
            splay: self.splay,
            at_least: self.at_least,
            kill_after: self.kill_after,
            backoff: self.backoff.clone().unwrap_or(Backoff::constant(retry)),
            tolerance: self.tolerance,
            rate: self.rate.unwrap_or(RateBound::DEFAULT),
        };
        relations(&timing)?;
        if let Some(limits) = &self.limits {
            limits.check(&timing)?;
        }
        Ok(timing)
    }
}

/// SAFETY 2: D + G ≤ L·(1−ρ)/(1+ρ), and renewing plus one timeout fits before D.
fn relations(timing: &Timing) -> Result<(), Error> {
    let Timing { lease, renew, retry, grace, call_timeout, .. } = *timing;
    let percent = f64::from(timing.rate.0) / 10_000.0;
    for (what, span) in [("renew interval", renew), ("retry interval", retry), ("call timeout", call_timeout)] {
        if span.is_zero() {
            return Err(refusal(format!("the {what} is 0; leave it out to have it follow the lease")));
        }
        if span > Timing::LONGEST_LEASE {
            return Err(refusal(format!("the {what} is {span:?}; more than a day makes no sense")));
        }
    }
    if renew >= lease {
        return Err(refusal(format!(
            "the renew interval ({renew:?}) is not shorter than the lease ({lease:?}), so every tenure would expire; a third of the lease is usual"
        )));
    }
    let expiry = timing.expiry_after(lease);
    let Some(deadline) = expiry.checked_sub(grace).filter(|deadline| !deadline.is_zero()) else {
        return Err(refusal(format!(
            "a grace of {grace:?} does not fit into a lease of {lease:?}, of which {expiry:?} can be counted on with clocks that differ by \
             {percent} %; make the grace shorter than {expiry:?}{}",
            longer(timing, grace, " or the lease longer than ")
        )));
    };
    if renew >= deadline {
        return Err(refusal(format!(
            "a holder that renews every {renew:?} would step down first: of a lease of {lease:?}, clocks that differ by {percent} % and a grace of \
             {grace:?} leave {deadline:?}; renew more often than that{}",
            longer(timing, renew + grace, ", or lengthen the lease to more than ")
        )));
    }
    if timing.tolerance.forgives_one() && renew + call_timeout >= deadline {
        return Err(refusal(format!(
            "no second try fits: renewing every {renew:?} plus a call timeout of {call_timeout:?} is not shorter than the {deadline:?} that a lease of \
             {lease:?} leaves (clocks within {percent} %, grace {grace:?}); shorten the renew interval or the call timeout{}, or choose that the \
             first error loses",
            longer(timing, renew + call_timeout + grace, ", lengthen the lease to more than ")
        )));
    }
    Ok(())
}

/// The advice to have a lease of which more than `span` can be counted on; nothing where that one would be refused too.
fn longer(timing: &Timing, span: Duration, advice: &str) -> String {
    let lease = timing.rate.stretch(span);
    if lease < Timing::LONGEST_LEASE { format!("{advice}{lease:?}") } else { String::new() }
}

fn refusal(message: String) -> Error {
    Error::new(ErrorKind::UnsafeTiming, message)
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn built(change: impl FnOnce(&mut TimingBuilder)) -> Result<Timing, Error> {
        let mut builder = TimingBuilder::default();
        change(&mut builder);
        builder.build()
    }

    #[track_caller]
    fn refused(why: &str, change: impl FnOnce(&mut TimingBuilder)) {
        let error = built(change).expect_err("this timing is unsafe");
        assert_eq!(error.kind(), ErrorKind::UnsafeTiming);
        assert!(error.to_string().contains(why), "{error}");
    }

    #[test]
    fn the_defaults_are_fifteen_five_and_two_seconds() {
        // SEEDS 61
        let timing = Timing::default();
        assert_eq!((timing.lease, timing.renew, timing.retry), (SECOND * 15, SECOND * 5, SECOND * 2));
    }

    #[test]
    fn deadline_plus_grace_never_exceeds_what_the_clock_bound_leaves_of_the_lease() {
        // SAFETY 2: 15 s at 10 % leave 12.27 s, so a deadline of 10.27 s with 2 s of grace.
        let timing = Timing::default();
        let deadline = timing.deadline_after(SECOND * 15).unwrap();
        assert_eq!(deadline + timing.grace, Duration::from_nanos(15_000_000_000 * 9 / 11));
        // client-go's 15/14/2 is refused.
        refused("leave", |b| {
            b.renew = Some(Interval::Every(SECOND * 14));
            b.retry = Some(SECOND * 2);
        });
    }

    #[test]
    fn a_grant_that_does_not_fit_has_no_deadline() {
        // SAFETY 2a
        let timing = Timing::default();
        assert!(timing.deadline_after(SECOND * 30).is_some());
        assert!(timing.deadline_after(SECOND * 10).is_none());
        assert!(timing.deadline_after(Duration::ZERO).is_none());
    }

    #[test]
    fn every_violated_relation_is_refused_with_its_numbers_and_a_remedy() {
        refused("the lease is 0", |b| b.lease = Some(Duration::ZERO));
        refused("outside 10ms", |b| b.lease = Some(Duration::from_millis(1)));
        refused("outside 10ms", |b| b.lease = Some(SECOND * 3600 * 24 * 3650));
        refused("does not fit into a lease of 15s", |b| b.grace = Some(SECOND * 13));
        refused("lengthen the lease", |b| b.renew = Some(Interval::Every(SECOND * 11)));
        refused("no second try fits", |b| b.call_timeout = Some(SECOND * 6));
        refused("not shorter than the lease", |b| b.renew = Some(Interval::Every(SECOND * 15)));
        refused("renew interval is 0", |b| b.renew = Some(Interval::Percent(0)));
        refused("retry interval is 0", |b| b.retry = Some(Duration::ZERO));
        refused("call timeout is 0", |b| b.call_timeout = Some(Duration::ZERO));
        refused("call timeout is", |b| b.call_timeout = Some(Duration::MAX));
        refused("does not fit", |b| b.grace = Some(Duration::MAX));
    }

    #[test]
    fn the_remedy_that_a_refusal_names_works() {
        let renew = SECOND * 11;
        let error = built(|b| b.renew = Some(Interval::Every(renew))).unwrap_err().to_string();
        let named = RateBound::DEFAULT.stretch(renew + SECOND * 2);
        assert!(error.contains(&format!("{named:?}")), "{error}");
        built(|b| {
            b.lease = Some(named + SECOND);
            b.renew = Some(Interval::Every(renew));
            b.grace = Some(SECOND * 2);
            b.tolerance = Tolerance::FirstErrorLoses;
        })
        .unwrap();
    }

    #[test]
    fn first_error_loses_needs_no_room_for_a_second_try() {
        // SAFETY 2d
        let tight = |tolerance| {
            built(|b| {
                b.call_timeout = Some(SECOND * 6);
                b.tolerance = tolerance;
            })
        };
        tight(Tolerance::FirstErrorLoses).unwrap();
        tight(Tolerance::FailuresLose(1)).unwrap();
        tight(Tolerance::FailuresLose(2)).unwrap_err();
    }

    #[test]
    fn the_renew_interval_can_be_a_part_of_the_lease() {
        // SEEDS 12
        for (percent, rate) in [(25, 10), (50, 10), (40, 10), (75, 3)] {
            let timing = built(|b| {
                b.lease = Some(SECOND * 100);
                b.renew = Some(Interval::Percent(percent));
                b.call_timeout = Some(SECOND * 5);
                b.grace = Some(SECOND * 5);
                b.rate = RateBound::percent(rate);
            })
            .unwrap();
            assert_eq!(timing.renew, SECOND * percent);
        }
    }

    #[test]
    fn the_limits_of_the_nats_election_hold_at_their_exact_boundaries() {
        // SEEDS 41
        let nats = |lease: Duration, renew: Duration| {
            built(|b| {
                b.lease = Some(lease);
                b.renew = Some(Interval::Every(renew));
                b.grace = Some(SECOND / 5);
                b.call_timeout = Some(SECOND / 5);
                b.rate = RateBound::percent(8);
                b.limits = Some(Limits::NATS_ELECTION);
            })
        };
        let nano = Duration::from_nanos(1);
        nats(SECOND * 30, SECOND * 25).unwrap();
        assert!(nats(SECOND * 30, SECOND * 25 + nano).unwrap_err().to_string().contains("5s between"));
        nats(SECOND * 30, SECOND * 5).unwrap();
        assert!(nats(SECOND * 30, SECOND * 5 - nano).unwrap_err().to_string().contains("at least 5s"));
        assert!(nats(SECOND * 30 - nano, SECOND * 6).unwrap_err().to_string().contains("30s to 3600s"));
        nats(SECOND * 3600, SECOND * 600).unwrap();
        assert!(nats(SECOND * 3600 + nano, SECOND * 600).unwrap_err().to_string().contains("30s to 3600s"));
        // 25 s in 30 s is refused with the default bound: it needs 8 %.
        let error = built(|b| {
            b.lease = Some(SECOND * 30);
            b.renew = Some(Interval::Every(SECOND * 25));
            b.limits = Some(Limits::NATS_ELECTION);
        });
        assert!(error.unwrap_err().to_string().contains("lengthen the lease"));
    }

    #[test]
    fn shrinking_rounds_down_and_stretching_rounds_up() {
        let bound = RateBound::percent(10).unwrap();
        assert_eq!(bound.shrink(Duration::from_nanos(12)), Duration::from_nanos(9));
        assert_eq!(bound.stretch(Duration::from_nanos(9)), Duration::from_nanos(11));
        assert_eq!(bound.stretch(Duration::from_nanos(10)), Duration::from_nanos(13));
        assert_eq!(RateBound::percent(50), None);
    }
}
