//! Clocks that run at the two extremes of what is assumed of them.

use tenure::Moment;

/// How far a slow and a fast clock go in one tick of true time, in milliseconds. True time itself lies between the two and is never read.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// The slowest clock that is assumed.
    pub slow: u64,
    /// The fastest.
    pub fast: u64,
}

impl Clocks {
    /// The extremes of a bound of 20 %: 0.8 to 1.2 is 2 to 3, so that few ticks make a lease and its end falls on a tick for both.
    pub const WITHIN: Clocks = Clocks { slow: 2_000, fast: 3_000 };

    /// Just outside that bound, by a third of a thousandth.
    pub const BEYOND: Clocks = Clocks { slow: 2_000, fast: 3_001 };

    /// What a clock shows at a tick. Its origin is not zero, so that nothing is hidden by times that cannot go below it.
    pub fn at(self, tick: u8, fast: bool) -> Moment {
        const ORIGIN: u64 = 1_000_000;
        let pace = if fast { self.fast } else { self.slow };
        Moment::from_nanos((ORIGIN + u64::from(tick) * pace) * 1_000_000)
    }
}
