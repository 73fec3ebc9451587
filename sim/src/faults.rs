//! What goes wrong, and how often.

/// Probabilities in parts per million and spans in nanoseconds; everything is drawn from the seed.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// A message never arrives.
    pub loss: u32,
    /// A message arrives twice, at two times.
    pub duplication: u32,
    /// The longest ordinary way of a message.
    pub delay: u64,
    /// A message takes very long.
    pub late: u32,
    /// The longest of those.
    pub lateness: u64,
    /// Mean time between process faults (pause, crash) of all nodes together; 0 for none.
    pub between_faults: u64,
    /// Mean time between deletions of the record by hand; 0 for none.
    pub between_removals: u64,
    /// How far clock rates lie apart, in parts per million.
    pub drift: u64,
}

impl Faults {
    /// A calm network and steady clocks.
    pub const NONE: Faults = Faults {
        loss: 0,
        duplication: 0,
        delay: 2_000_000,
        late: 0,
        lateness: 0,
        between_faults: 0,
        between_removals: 0,
        drift: 0,
    };

    /// Everything at once that the rules assume can happen: the clocks keep to their bound of 10 %, and nobody removes records by hand.
    pub const ALL: Faults = Faults {
        loss: 30_000,
        duplication: 20_000,
        delay: 40_000_000,
        late: 30_000,
        lateness: 20_000_000_000,
        between_faults: 8_000_000_000,
        between_removals: 0,
        drift: 100_000,
    };

    /// The same with records removed by hand and clocks far outside their bound: only fencing must hold then.
    pub const BEYOND: Faults = Faults { drift: 500_000, between_removals: 15_000_000_000, ..Faults::ALL };

    /// Whether they go beyond what the rules assume.
    pub fn is_beyond(&self) -> bool {
        self.drift > 100_000 || self.between_removals > 0
    }
}
