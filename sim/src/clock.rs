//! A clock that runs at its own rate.

use tenure::Moment;

/// How a clock shows true time: a rate in parts per million of it, and an origin of its own, so that no two nodes' moments are comparable.
#[derive(Clone, Copy, Debug)]
pub struct DriftingClock {
    rate: u64,
    /// What it showed at `since`.
    origin: u64,
    since: u64,
}

impl DriftingClock {
    /// A clock with this rate (1,000,000 is true) that showed `origin` when the world began.
    pub fn new(rate: u64, origin: u64) -> Self {
        DriftingClock { rate, origin, since: 0 }
    }

    /// What it shows at a true time.
    pub fn local(&self, time: u64) -> Moment {
        let passed = u128::from(time.saturating_sub(self.since)) * u128::from(self.rate) / 1_000_000;
        Moment::from_nanos(self.origin + passed as u64)
    }

    /// The first true time at which it shows `moment` or later; never, for a moment that never comes.
    pub fn time_of(&self, moment: Moment) -> u64 {
        if moment == Moment::NEVER {
            return u64::MAX;
        }
        let ahead = moment.as_nanos().saturating_sub(self.origin);
        self.since.saturating_add((u128::from(ahead) * 1_000_000).div_ceil(u128::from(self.rate)) as u64)
    }

    /// Somebody sets it at a true time, forward or back.
    pub fn step(&mut self, time: u64, by: i64) {
        self.origin = self.local(time).as_nanos().saturating_add_signed(by);
        self.since = time;
    }

    /// It stood still from one true time to another, as that of a paused virtual machine may.
    pub fn stood_still(&mut self, from: u64, to: u64) {
        self.origin = self.local(from).as_nanos();
        self.since = to;
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

    #[test]
    fn a_clock_can_be_set_and_can_stand_still() {
        let mut clock = DriftingClock::new(1_000_000, 1_000);
        clock.step(100, -50);
        assert_eq!(clock.local(100), Moment::from_nanos(1_050));
        clock.stood_still(200, 500);
        assert_eq!(clock.local(500), Moment::from_nanos(1_150));
        assert_eq!(clock.time_of(Moment::from_nanos(1_160)), 510);
    }
}
