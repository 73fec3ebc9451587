//! A point on the clock that counts suspended time.

use std::fmt;
use std::time::Duration;

/// Nanoseconds of a suspend-aware clock ([`Clock`](crate::Clock)), counted from an origin that only that clock knows.
///
/// Moments of two machines, or of two boots of one machine, are never comparable; nothing in tenure writes one into a store.
/// `std::time::Instant` is deliberately not used: on Linux it stops while the machine sleeps, and a lease does not (SAFETY 5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The clock's origin.
    pub const ZERO: Moment = Moment(0);
    /// Later than every instant that can happen.
    pub const NEVER: Moment = Moment(u64::MAX);

    /// The moment `nanos` nanoseconds after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Moment(nanos)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This moment plus `span`; [`Moment::NEVER`] when that cannot be represented.
    #[must_use]
    pub const fn after(self, span: Duration) -> Self {
        let nanos = span.as_nanos();
        if nanos >= u64::MAX as u128 {
            return Moment::NEVER;
        }
        Moment(self.0.saturating_add(nanos as u64))
    }

    /// This moment minus `span`; [`Moment::ZERO`] when that lies before the origin.
    #[must_use]
    pub const fn before(self, span: Duration) -> Self {
        let nanos = span.as_nanos();
        if nanos >= u64::MAX as u128 {
            return Moment::ZERO;
        }
        Moment(self.0.saturating_sub(nanos as u64))
    }

    /// How long after `earlier` this moment is; zero when it is not after it.
    pub const fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// How long from `now` until this moment; zero when it has passed.
    pub const fn until_from(self, now: Moment) -> Duration {
        self.since(now)
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Moment::NEVER { f.write_str("never") } else { write!(f, "{:?}", Duration::from_nanos(self.0)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::{numbers, runs, spans};

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Moment::from_nanos(5).after(Duration::MAX), Moment::NEVER);
        assert_eq!(Moment::from_nanos(5).before(Duration::from_secs(1)), Moment::ZERO);
        assert_eq!(Moment::from_nanos(5).since(Moment::from_nanos(9)), Duration::ZERO);
        assert_eq!(Moment::from_nanos(9).since(Moment::from_nanos(5)), Duration::from_nanos(4));
    }

    proptest! {
        #![proptest_config(runs(2000))]

        #[test]
        fn moments_count_as_whole_numbers_do_within_their_ends(at in numbers(), span in spans(), other in numbers()) {
            let (moment, nanos) = (Moment::from_nanos(at), span.as_nanos());
            let after = (u128::from(at) + nanos).min(u128::from(u64::MAX));
            prop_assert_eq!(u128::from(moment.after(span).as_nanos()), after);
            prop_assert_eq!(u128::from(moment.before(span).as_nanos()), u128::from(at).saturating_sub(nanos));
            let earlier = Moment::from_nanos(other);
            prop_assert_eq!(moment.since(earlier), Duration::from_nanos(at.saturating_sub(other)));
            prop_assert_eq!(moment.until_from(earlier), moment.since(earlier));
            prop_assert!(moment.since(earlier).is_zero() || earlier.after(moment.since(earlier)) == moment);
        }

        #[test]
        fn a_later_moment_stays_later_and_never_stays_never(at in numbers(), other in numbers(), span in spans(), more in spans()) {
            let (sooner, later) = (Moment::from_nanos(at.min(other)), Moment::from_nanos(at.max(other)));
            prop_assert!(sooner.before(span) <= sooner && sooner <= sooner.after(span));
            prop_assert!(sooner.after(span) <= later.after(span) && sooner.before(span) <= later.before(span));
            prop_assert!(later.after(span.min(more)) <= later.after(span.max(more)));
            prop_assert_eq!(Moment::NEVER.after(span), Moment::NEVER);
            prop_assert_eq!(Moment::ZERO.before(span), Moment::ZERO);
        }
    }
}
