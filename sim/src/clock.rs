//! A clock that runs at its own rate.

use tenure::Moment;

/// How a node's clock shows true time: a rate in parts per million of it, and an origin of its own, so that no two nodes' moments are comparable.
#[derive(Clone, Copy, Debug)]
pub struct DriftingClock {
    rate: u64,
    origin: u64,
}

impl DriftingClock {
    /// A clock with this rate (1,000,000 is true) that showed `origin` when the world began.
    pub fn new(rate: u64, origin: u64) -> Self {
        DriftingClock { rate, origin }
    }

    /// What it shows at a true time.
    pub fn local(&self, time: u64) -> Moment {
        Moment::from_nanos(self.origin + (u128::from(time) * u128::from(self.rate) / 1_000_000) as u64)
    }

    /// The first true time at which it shows `moment` or later; never, for a moment that never comes.
    pub fn time_of(&self, moment: Moment) -> u64 {
        if moment == Moment::NEVER {
            return u64::MAX;
        }
        let since = moment.as_nanos().saturating_sub(self.origin);
        (u128::from(since) * 1_000_000).div_ceil(u128::from(self.rate)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_comes_at_the_first_time_that_shows_it() {
        for rate in [900_000, 1_000_000, 1_100_000, 333_333] {
            let clock = DriftingClock::new(rate, 77);
            for nanos in [77, 78, 1_000, 123_456_789] {
                let time = clock.time_of(Moment::from_nanos(nanos));
                assert!(clock.local(time) >= Moment::from_nanos(nanos));
                assert!(time == 0 || clock.local(time - 1) < Moment::from_nanos(nanos));
            }
        }
    }
}
