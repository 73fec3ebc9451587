//! Whatever timing is asked for.
//!
//! SAFETY 2 is derived here a second time, in whole nanoseconds and without a division: D + G ≤ L·(1−ρ)/(1+ρ) is
//! (D + G)·(10⁶ + ρ) ≤ L·(10⁶ − ρ) with ρ in parts per million.

use proptest::option::weighted;
use proptest::prelude::*;

use super::*;
use crate::arbitrary::{runs, spans};

const MILLION: u128 = 1_000_000;
const NANO: Duration = Duration::from_nanos(1);

/// Rates that can be had; 0 is a bound too.
fn rates() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..500_000_u32, 1 => prop::sample::select(vec![0, 1, 100_000, 499_999])]
}

fn tolerances() -> impl Strategy<Value = Tolerance> {
    prop_oneof![
        Just(Tolerance::UntilDeadline),
        Just(Tolerance::FirstErrorLoses),
        (0..3_u32).prop_map(Tolerance::FailuresLose)
    ]
}

fn settles() -> impl Strategy<Value = Settle> {
    prop_oneof![Just(Settle::Default), Just(Settle::OneInterval), spans().prop_map(Settle::For)]
}

fn backoffs() -> impl Strategy<Value = Backoff> {
    prop_oneof![
        spans().prop_map(Backoff::constant),
        (spans(), spans()).prop_map(|(first, ceiling)| Backoff::exponential(first, ceiling)),
        prop::collection::vec(spans(), 0..5).prop_map(Backoff::table),
    ]
}

/// Spans that suit a lease of a minute, so that some timings are accepted: without them nearly all are refused.
fn usual() -> impl Strategy<Value = Duration> {
    (0..30_000_000_000_u64).prop_map(Duration::from_nanos)
}

fn any_or_usual() -> impl Strategy<Value = Duration> {
    prop_oneof![1 => spans(), 3 => usual()]
}

fn intervals() -> impl Strategy<Value = Interval> {
    prop_oneof![
        3 => any_or_usual().prop_map(Interval::Every),
        2 => (0..100_u32).prop_map(Interval::Percent),
        1 => any::<u32>().prop_map(Interval::Percent),
    ]
}

prop_compose! {
    fn builders()(
        lease in weighted(0.8, prop_oneof![1 => spans(), 3 => (1..60_000_000_000_u64).prop_map(Duration::from_nanos)]),
        renew in weighted(0.5, intervals()), retry in weighted(0.3, any_or_usual()), grace in weighted(0.4, any_or_usual()),
        call_timeout in weighted(0.4, any_or_usual()), settle in settles(), splay in spans(), at_least in spans(),
        kill_after in weighted(0.5, spans()), backoff in weighted(0.5, backoffs()), tolerance in tolerances(),
        rate in weighted(0.6, rates()), limited in prop::bool::weighted(0.1),
    ) -> TimingBuilder {
        TimingBuilder {
            lease, renew, retry, grace, call_timeout, settle, splay, at_least, kill_after, backoff, tolerance,
            rate: rate.map(|parts| RateBound::parts_per_million(parts).unwrap()),
            limits: limited.then_some(Limits::NATS_ELECTION),
        }
    }
}

/// What was asked for, in nanoseconds, with the defaults as they are documented.
#[derive(Debug)]
struct Asked {
    lease: u128,
    renew: u128,
    retry: u128,
    grace: u128,
    call_timeout: u128,
    /// What must fit before the deadline.
    needed: u128,
    rate: u128,
    limited: bool,
}

impl Asked {
    fn of(builder: &TimingBuilder) -> Self {
        let lease = builder.lease.map_or(15_000_000_000, |lease| lease.as_nanos());
        let renew = match builder.renew {
            None => lease / 3,
            Some(Interval::Every(interval)) => interval.as_nanos(),
            Some(Interval::Percent(percent)) => lease * u128::from(percent) / 100,
        };
        let call_timeout = builder.call_timeout.map_or(lease / 5, |span| span.as_nanos());
        let second_try = match builder.tolerance {
            Tolerance::FirstErrorLoses | Tolerance::FailuresLose(0 | 1) => false,
            Tolerance::UntilDeadline | Tolerance::FailuresLose(_) => true,
        };
        Asked {
            lease,
            renew,
            retry: builder.retry.map_or(lease * 2 / 15, |span| span.as_nanos()),
            grace: builder.grace.map_or(lease * 2 / 15, |span| span.as_nanos()),
            call_timeout,
            needed: if second_try { renew + call_timeout } else { renew },
            rate: builder.rate.map_or(100_000, |rate| u128::from(rate.0)),
            limited: builder.limits.is_some(),
        }
    }

    /// Whether a holder may count on `span` of a lease of `lease`.
    fn fits(&self, span: u128, lease: u128) -> bool {
        span.saturating_mul(MILLION + self.rate) <= lease * (MILLION - self.rate)
    }

    /// SAFETY 2, 2d: some deadline lies after what is needed, and the grace after it.
    fn is_safe(&self) -> bool {
        self.fits(self.needed + 1 + self.grace, self.lease)
    }

    /// The limits that are stated beside safety.
    fn is_within_limits(&self) -> bool {
        const SECOND: u128 = 1_000_000_000;
        const DAY: u128 = 24 * 3600 * SECOND;
        let sane = (SECOND / 100..=DAY).contains(&self.lease)
            && [self.renew, self.retry, self.call_timeout].iter().all(|span| (1..=DAY).contains(span));
        // SEEDS 41
        let narrow = !self.limited
            || (30 * SECOND..=3600 * SECOND).contains(&self.lease)
                && self.renew >= 5 * SECOND
                && self.renew + 5 * SECOND <= self.lease;
        sane && narrow
    }
}

proptest! {
    #![proptest_config(runs(2000))]

    #[test]
    fn a_timing_is_accepted_exactly_if_it_is_safe_and_within_the_stated_limits(builder in builders()) {
        let asked = Asked::of(&builder);
        match builder.build() {
            Ok(timing) => {
                prop_assert!(asked.is_safe() && asked.is_within_limits(), "{timing:?} of {asked:?}");
                let found = [timing.lease, timing.renew, timing.retry, timing.grace, timing.call_timeout];
                let wanted = [asked.lease, asked.renew, asked.retry, asked.grace, asked.call_timeout];
                prop_assert_eq!(found.map(|span| span.as_nanos()), wanted, "what was asked for is what is had");
                let settle = match builder.settle {
                    Settle::Default => 0,
                    Settle::For(span) => span.as_nanos(),
                    Settle::OneInterval => asked.renew,
                };
                prop_assert_eq!(timing.settle.as_nanos(), settle);
            }
            Err(error) => {
                prop_assert!(!asked.is_safe() || !asked.is_within_limits(), "{error}: refused without need");
                prop_assert_eq!(error.kind(), ErrorKind::UnsafeTiming);
                let said = error.to_string();
                let fields = ["lease", "renew interval", "retry interval", "call timeout", "grace"];
                prop_assert!(fields.iter().any(|field| said.contains(field)), "it names no field: {said}");
                prop_assert!(said.contains(|c: char| c.is_ascii_digit()), "it names no number: {said}");
                prop_assert!(said.len() < 500, "{said}");
            }
        }
    }

    #[test]
    fn the_deadline_of_a_grant_is_the_last_that_is_safe(builder in builders(), ttl in spans()) {
        // SAFETY 2a: the same relations hold for whatever the store grants.
        let Ok(timing) = builder.build() else { return Err(TestCaseError::reject("it is unsafe")) };
        let asked = Asked::of(&builder);
        for ttl in [ttl, timing.lease] {
            let expiry = timing.expiry_after(ttl).as_nanos();
            prop_assert!(asked.fits(expiry, ttl.as_nanos()), "SAFETY 2e: expiry comes before the store can give the office away");
            let safe = asked.fits(asked.needed + 1 + asked.grace, ttl.as_nanos());
            prop_assert_eq!(timing.deadline_after(ttl).is_some(), safe, "a grant is believed exactly if it fits");
            let Some(deadline) = timing.deadline_after(ttl).map(|deadline| deadline.as_nanos()) else { continue };
            prop_assert!(asked.needed < deadline);
            prop_assert!(asked.fits(deadline + asked.grace, ttl.as_nanos()));
            prop_assert!(!asked.fits(deadline + 1 + asked.grace, ttl.as_nanos()), "no time is given away");
        }
    }

    #[test]
    fn a_longer_grant_never_ends_earlier(builder in builders(), one in spans(), other in spans()) {
        let Ok(timing) = builder.build() else { return Err(TestCaseError::reject("it is unsafe")) };
        let (shorter, longer) = (one.min(other), one.max(other));
        prop_assert!(timing.expiry_after(shorter) <= timing.expiry_after(longer));
        prop_assert!(timing.deadline_after(shorter) <= timing.deadline_after(longer), "nor is it believed less");
    }

    #[test]
    fn the_shortest_lease_that_is_safe_is_accepted_and_a_nanosecond_less_is_refused(
        renew in 1..10_000_000_000_u64, call_timeout in 1..10_000_000_000_u64, grace in 0..10_000_000_000_u64,
        rate in rates(), tolerance in tolerances(),
    ) {
        let builder = TimingBuilder {
            renew: Some(Interval::Every(Duration::from_nanos(renew))),
            retry: Some(Duration::from_secs(1)),
            grace: Some(Duration::from_nanos(grace)),
            call_timeout: Some(Duration::from_nanos(call_timeout)),
            rate: RateBound::parts_per_million(rate),
            tolerance,
            ..TimingBuilder::default()
        };
        let Asked { needed, grace, rate, .. } = Asked::of(&builder);
        let least = ((needed + 1 + grace) * (MILLION + rate)).div_ceil(MILLION - rate);
        let least = Duration::from_nanos(least as u64);
        prop_assume!(least > Timing::SHORTEST_LEASE);
        let with = |lease| TimingBuilder { lease: Some(lease), ..builder.clone() }.build();
        prop_assert!(with(least).is_ok(), "{:?}", with(least));
        prop_assert!(with(least - NANO).is_err());
    }

    #[test]
    fn the_lease_that_a_refusal_names_is_long_enough(
        lease in usual(), renew in usual(), call_timeout in usual(), grace in usual(), rate in rates(),
        tolerance in tolerances(),
    ) {
        let builder = TimingBuilder {
            lease: Some(lease),
            renew: Some(Interval::Every(renew)),
            retry: Some(Duration::from_secs(1)),
            grace: Some(grace),
            call_timeout: Some(call_timeout),
            rate: RateBound::parts_per_million(rate),
            tolerance,
            ..TimingBuilder::default()
        };
        let mut asked = builder.clone();
        // Each refusal may name one relation; there are four, and none comes back once it was heeded.
        for _ in 0..4 {
            let Err(error) = asked.build() else { return Ok(()) };
            let said = error.to_string();
            let Some(named) = named_lease(&said) else { return Err(TestCaseError::reject("no lease mends it")) };
            prop_assert!(named >= asked.lease.unwrap(), "{said}");
            // A millisecond more: people do not count in nanoseconds.
            asked.lease = Some(named + Duration::from_millis(1));
        }
        prop_assert!(asked.build().is_ok(), "{:?}", asked.build());
    }

    #[test]
    fn no_refusal_names_a_lease_that_would_be_refused(builder in builders()) {
        if let Err(error) = builder.build() {
            let named = named_lease(&error.to_string());
            prop_assert!(named.is_none_or(|named| named < Timing::LONGEST_LEASE), "{error}");
        }
    }

    #[test]
    fn rates_from_one_half_upwards_are_no_bound(number in any::<u32>()) {
        prop_assert_eq!(RateBound::parts_per_million(number).is_some(), number < 500_000);
        prop_assert_eq!(RateBound::percent(number), if number < 50 { Some(RateBound(number * 10_000)) } else { None });
    }

    #[test]
    fn shrinking_and_stretching_round_to_the_safe_side(rate in rates(), span in spans(), other in spans()) {
        let bound = RateBound::parts_per_million(rate).unwrap();
        let (rate, nanos) = (u128::from(rate), span.as_nanos());
        let (shrunk, stretched) = (bound.shrink(span), bound.stretch(span));
        prop_assert!(shrunk <= span && span <= stretched, "{shrunk:?}, {span:?}, {stretched:?}");
        prop_assert!(shrunk.as_nanos() * (MILLION + rate) <= nanos * (MILLION - rate), "SAFETY 2");
        prop_assert!((shrunk.as_nanos() + 1) * (MILLION + rate) > nanos * (MILLION - rate), "and by less than a nanosecond");
        if stretched < Duration::MAX {
            prop_assert!(stretched.as_nanos() * (MILLION - rate) >= nanos * (MILLION + rate), "SAFETY 4");
            prop_assert_eq!(bound.shrink(stretched), span, "one undoes the other");
        }
        prop_assert!(bound.stretch(shrunk) <= span);
        let (shorter, longer) = (span.min(other), span.max(other));
        prop_assert!(bound.shrink(shorter) <= bound.shrink(longer));
        prop_assert!(bound.stretch(shorter) <= bound.stretch(longer));
    }

    #[test]
    fn a_wider_bound_shrinks_more_and_stretches_more(one in rates(), other in rates(), span in spans()) {
        let [narrow, wide] = [one.min(other), one.max(other)].map(|rate| RateBound::parts_per_million(rate).unwrap());
        prop_assert!(wide.shrink(span) <= narrow.shrink(span));
        prop_assert!(wide.stretch(span) >= narrow.stretch(span));
    }
}

/// The lease that a refusal tells to exceed.
fn named_lease(said: &str) -> Option<Duration> {
    let (_, after) =
        said.split_once("the lease longer than ").or_else(|| said.split_once("lengthen the lease to more than "))?;
    let end = after.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let unit = match &after[end..] {
        unit if unit.starts_with("ns") => 1e-9,
        unit if unit.starts_with("µs") => 1e-6,
        unit if unit.starts_with("ms") => 1e-3,
        _ => 1.0,
    };
    // Rounded up to a microsecond: a floating number does not tell nanoseconds apart.
    Some(Duration::from_secs_f64(after[..end].parse::<f64>().ok()? * unit) + Duration::from_micros(1))
}
