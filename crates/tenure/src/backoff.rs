//! How long a candidate that was not elected waits before it tries again.

use std::sync::Arc;
use std::time::Duration;

/// How long to wait after the n-th attempt in a row that did not win.
///
/// The count starts again with every win, every wait is jittered by a factor between 0.5 and 1.5, and none is longer than the ceiling
/// (SEEDS 39). It paces *polling*: where a store pushes vacancies, a candidate stands at once when the office falls vacant.
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

    /// Any policy, written out: the n-th wait is the n-th entry, and the last entry is the ceiling. An empty table waits the floor.
    pub fn table(waits: impl Into<Arc<[Duration]>>) -> Self {
        Backoff(Kind::Table(waits.into()))
    }

    /// The longest wait before jitter.
    pub fn ceiling(&self) -> Duration {
        match &self.0 {
            Kind::Constant(wait) => *wait,
            Kind::Exponential { ceiling, .. } => *ceiling,
            Kind::Table(waits) => waits.last().copied().unwrap_or(Self::FLOOR),
        }
    }

    /// The wait after `failures` attempts without a win (1 for the first), jittered by `random`.
    pub fn wait(&self, failures: u32, random: u64) -> Duration {
        let nth = failures.saturating_sub(1);
        let plain = match &self.0 {
            Kind::Constant(wait) => *wait,
            Kind::Exponential { first, ceiling } => first.saturating_mul(1u32 << nth.min(31)).min(*ceiling),
            Kind::Table(waits) => waits.get(nth as usize).or(waits.last()).copied().unwrap_or(Self::FLOOR),
        };
        jittered(plain, random).max(Self::FLOOR)
    }
}

/// `span` times a factor from 0.5 up to 1.5.
fn jittered(span: Duration, random: u64) -> Duration {
    let nanos = span.as_nanos() as u64;
    Duration::from_nanos(nanos / 2 + fraction(nanos, random))
}

/// A part of `whole` between nothing and all of it, as `random` says.
pub(crate) fn fraction(whole: u64, random: u64) -> u64 {
    ((whole as u128 * random as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
