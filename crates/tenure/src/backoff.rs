//! How long a candidate that was not elected waits before it tries again.

use std::sync::Arc;
use std::time::Duration;

/// How long to wait after the n-th attempt in a row that did not win.
///
/// The count starts again with every win, no wait is longer than the ceiling, and every wait is then jittered by a factor between 0.5 and
/// 1.5 (SEEDS 39). It paces *polling*: where a store pushes vacancies, a candidate stands at once when the office falls vacant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Backoff(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Constant(Duration),
    Exponential { first: Duration, ceiling: Duration },
    Table(Arc<[Duration]>),
}

impl Backoff {
    /// No wait is shorter than this, so that a backoff of zero cannot flood a store (SEEDS 40).
    pub const FLOOR: Duration = Duration::from_millis(5);

    /// Always the same wait (jittered).
    pub const fn constant(wait: Duration) -> Self {
        Backoff(Kind::Constant(wait))
    }

    /// `first`, then twice as long each time, and never more than `ceiling`.
    pub const fn exponential(first: Duration, ceiling: Duration) -> Self {
        Backoff(Kind::Exponential { first, ceiling })
    }

    /// Any policy, written out: the n-th wait is the n-th entry, and the last entry is every wait after it. An empty table waits the floor.
    pub fn table(waits: impl Into<Arc<[Duration]>>) -> Self {
        Backoff(Kind::Table(waits.into()))
    }

    /// The longest wait before jitter.
    pub fn ceiling(&self) -> Duration {
        match &self.0 {
            Kind::Constant(wait) => *wait,
            Kind::Exponential { ceiling, .. } => *ceiling,
            Kind::Table(waits) => waits.iter().max().copied().unwrap_or(Self::FLOOR),
        }
    }

    /// The wait after `failures` attempts without a win (1 for the first), jittered by `random`.
    pub fn wait(&self, failures: u32, random: u64) -> Duration {
        let nth = failures.saturating_sub(1);
        let plain = match &self.0 {
            Kind::Constant(wait) => *wait,
            Kind::Exponential { first, ceiling } => doubled(*first, nth).min(*ceiling),
            Kind::Table(waits) => waits.get(nth as usize).or(waits.last()).copied().unwrap_or(Self::FLOOR),
        };
        jittered(plain, random).max(Self::FLOOR)
    }
}

/// `span` times two, so many times.
fn doubled(span: Duration, times: u32) -> Duration {
    // Doubled so often, a nanosecond is longer than any duration.
    const ENOUGH: u32 = 94;
    (0..times.min(ENOUGH)).fold(span, |span, _| span.saturating_mul(2))
}

/// `span` times a factor from 0.5 up to 1.5.
fn jittered(span: Duration, random: u64) -> Duration {
    let nanos = nanos(span);
    Duration::from_nanos((nanos / 2).saturating_add(fraction(nanos, random)))
}

/// All the nanoseconds of `span` that 64 bits can count: an absurd span stays a long one.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A part of `whole` between nothing and all of it, as `random` says.
pub(crate) fn fraction(whole: u64, random: u64) -> u64 {
    ((whole as u128 * random as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::{numbers, runs, spans};

    const SECOND: Duration = Duration::from_secs(1);
    /// The word that jitters by a factor of 1.
    const MIDDLE: u64 = 1 << 63;

    #[test]
    fn it_takes_the_count_of_failed_attempts_and_has_a_ceiling() {
        // SEEDS 39
        let backoff = Backoff::exponential(SECOND, SECOND * 10);
        let waits: Vec<_> = (1..=6).map(|n| backoff.wait(n, MIDDLE).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
        assert_eq!(backoff.wait(u32::MAX, MIDDLE), SECOND * 10);
        let table = Backoff::table([SECOND, SECOND * 5]);
        assert_eq!([1, 2, 3].map(|n| table.wait(n, MIDDLE).as_secs()), [1, 5, 5]);
    }

    #[test]
    fn it_jitters_between_half_and_one_and_a_half() {
        // SEEDS 39
        let backoff = Backoff::constant(SECOND);
        assert_eq!(backoff.wait(1, 0), SECOND / 2);
        let most = backoff.wait(1, u64::MAX);
        assert!(most > SECOND * 14 / 10 && most <= SECOND * 15 / 10, "{most:?}");
    }

    #[test]
    fn a_backoff_of_zero_does_no_harm() {
        // SEEDS 40
        for zero in
            [Backoff::constant(Duration::ZERO), Backoff::table([]), Backoff::exponential(Duration::ZERO, SECOND)]
        {
            assert!(zero.wait(1, 0) >= Backoff::FLOOR);
        }
    }

    /// Every wait lies between half of `plain` and one and a half times it, and never below the floor.
    fn stays_near(backoff: &Backoff, plain: Duration, failures: u32, random: u64) -> Result<(), TestCaseError> {
        // Nobody waits five hundred years; what is longer only must not become short.
        let plain = plain.min(Duration::from_nanos(u64::MAX));
        let wait = backoff.wait(failures, random);
        prop_assert!(wait >= Backoff::FLOOR && wait >= plain / 2, "{wait:?} of {plain:?}");
        prop_assert!(wait <= (plain + plain / 2).max(Backoff::FLOOR), "{wait:?} of {plain:?}");
        Ok(())
    }

    proptest! {
        #![proptest_config(runs(2000))]

        #[test]
        fn a_constant_wait_is_near_its_span_whatever_that_is(span in spans(), failures in any::<u32>(), random in numbers()) {
            stays_near(&Backoff::constant(span), span, failures, random)?;
        }

        #[test]
        fn an_exponential_wait_doubles_up_to_its_ceiling(
            first in spans(), ceiling in spans(), failures in prop_oneof![1..120_u32, any::<u32>()], random in numbers(),
        ) {
            let backoff = Backoff::exponential(first, ceiling);
            let doublings = failures.saturating_sub(1).min(127);
            // 94 bits hold every duration.
            let plain = first.as_nanos().saturating_mul(1 << doublings).min(ceiling.as_nanos());
            let plain = Duration::new((plain / 1_000_000_000) as u64, (plain % 1_000_000_000) as u32);
            stays_near(&backoff, plain, failures, random)?;
            prop_assert_eq!(backoff.ceiling(), ceiling);
            prop_assert!(backoff.wait(failures, random) <= backoff.wait(failures.saturating_add(1), random));
        }

        #[test]
        fn a_table_is_followed_to_its_end_and_its_ceiling_is_its_longest_wait(
            waits in prop::collection::vec(spans(), 0..6), failures in prop_oneof![0..8_u32, any::<u32>()], random in numbers(),
        ) {
            let backoff = Backoff::table(waits.clone());
            let nth = (failures.max(1) as usize - 1).min(waits.len().saturating_sub(1));
            let plain = waits.get(nth).copied().unwrap_or(Backoff::FLOOR);
            stays_near(&backoff, plain, failures, random)?;
            prop_assert!(plain <= backoff.ceiling());
        }

        #[test]
        fn a_fraction_is_a_part_of_the_whole(whole in numbers(), random in numbers()) {
            prop_assert!(fraction(whole, random) <= whole);
            prop_assert!(fraction(whole, random) <= fraction(whole, u64::MAX));
            prop_assert_eq!(fraction(whole, 0), 0);
        }
    }
}
