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
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Moment::from_nanos(5).after(Duration::MAX), Moment::NEVER);
        assert_eq!(Moment::from_nanos(5).before(Duration::from_secs(1)), Moment::ZERO);
        assert_eq!(Moment::from_nanos(5).since(Moment::from_nanos(9)), Duration::ZERO);
        assert_eq!(Moment::from_nanos(9).since(Moment::from_nanos(5)), Duration::from_nanos(4));
    }
}
