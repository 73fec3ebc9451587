//! What goes wrong, and how often.

/// Probabilities in parts per million and spans in nanoseconds; everything is drawn from the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// A message never arrives.
    pub loss: u32,
    /// A message arrives twice, at two times.
    pub duplication: u32,
    /// The longest ordinary way of a message; some nodes have slower links, up to what calls are given.
    pub delay: u64,
    /// Nodes with slower links, in parts per million.
    pub slow: u32,
    /// A message takes very long.
    pub late: u32,
    /// The longest of those.
    pub lateness: u64,
    /// A server refuses a script, and has not run it.
    pub refusal: u32,
    /// Mean time between pauses of a process; 0 for none, as in all that follow.
    pub between_pauses: u64,
    /// Mean time between partitions of a process from the servers, one way or both.
    pub between_partitions: u64,
    /// Mean time between crashes of a process.
    pub between_crashes: u64,
    /// Mean time between deeds of a user: resignations, ends and beginnings of campaigns, failing health.
    pub between_deeds: u64,
    /// Mean time between restarts of a server.
    pub between_restarts: u64,
    /// How far clock rates lie from true, in parts per million.
    pub drift: u64,
    /// Beyond the assumptions: mean time between steps of a server's clock, and pauses in which a node's clock stands still.
    pub between_clock_faults: u64,
    /// Beyond the assumptions: mean time between deletions of the record by hand.
    pub between_removals: u64,
    /// Beyond the assumptions: mean time between wipes of the store.
    pub between_wipes: u64,
    /// Beyond the assumptions: mean time between restores of an older state.
    pub between_restores: u64,
}

/// Every kind of fault by its name on the command line.
pub const KINDS: [&str; 14] = [
    "loss",
    "duplication",
    "delay",
    "refusals",
    "pauses",
    "partitions",
    "crashes",
    "deeds",
    "restarts",
    "drift",
    "clocks",
    "removals",
    "wipes",
    "restores",
];

impl Faults {
    /// The clock-rate bound that the rules assume.
    pub const BOUND: u64 = 100_000;

    /// A calm network, steady clocks, and nobody who does anything.
    pub const NONE: Faults = Faults {
        loss: 0,
        duplication: 0,
        delay: 2_000_000,
        slow: 0,
        late: 0,
        lateness: 0,
        refusal: 0,
        between_pauses: 0,
        between_partitions: 0,
        between_crashes: 0,
        between_deeds: 0,
        between_restarts: 0,
        drift: 0,
        between_clock_faults: 0,
        between_removals: 0,
        between_wipes: 0,
        between_restores: 0,
    };

    /// Everything at once that the rules assume can happen: clocks keep to their bound, and nobody touches records behind the store's back.
    pub const ALL: Faults = Faults {
        loss: 30_000,
        duplication: 20_000,
        delay: 40_000_000,
        slow: 400_000,
        late: 30_000,
        lateness: 20_000_000_000,
        refusal: 10_000,
        between_pauses: 12_000_000_000,
        between_partitions: 16_000_000_000,
        between_crashes: 18_000_000_000,
        between_deeds: 15_000_000_000,
        between_restarts: 30_000_000_000,
        drift: Self::BOUND,
        ..Faults::NONE
    };

    /// The same with clocks far outside their bound, stepped and standing still: only fencing must hold then.
    pub const CLOCKS: Faults = Faults { drift: 500_000, between_clock_faults: 20_000_000_000, ..Faults::ALL };

    /// The same as all, with records deleted and wiped; candidates that settle still lead alone.
    pub const DELETIONS: Faults = Faults { between_restores: 0, ..Faults::RECORDS };

    /// The same as all, with records deleted, wiped and restored.
    pub const RECORDS: Faults = Faults {
        between_removals: 25_000_000_000,
        between_wipes: 40_000_000_000,
        between_restores: 40_000_000_000,
        ..Faults::ALL
    };

    /// Both.
    pub const BEYOND: Faults = Faults {
        drift: Faults::CLOCKS.drift,
        between_clock_faults: Faults::CLOCKS.between_clock_faults,
        ..Faults::RECORDS
    };

    /// The faults of a word: `none`, `all`, `clocks`, `deletions`, `records`, `beyond`, or kinds with commas between them.
    pub fn named(word: &str) -> Option<Faults> {
        Some(match word {
            "none" => Faults::NONE,
            "all" => Faults::ALL,
            "clocks" => Faults::CLOCKS,
            "deletions" => Faults::DELETIONS,
            "records" => Faults::RECORDS,
            "beyond" => Faults::BEYOND,
            kinds => {
                let mut chosen = Faults::NONE;
                for kind in kinds.split(',') {
                    chosen.add(kind)?;
                }
                chosen
            }
        })
    }

    fn add(&mut self, kind: &str) -> Option<()> {
        let (all, beyond) = (Faults::ALL, Faults::BEYOND);
        match kind {
            "loss" => self.loss = all.loss,
            "duplication" => self.duplication = all.duplication,
            "delay" => {
                (self.delay, self.slow, self.late, self.lateness) = (all.delay, all.slow, all.late, all.lateness);
            }
            "refusals" => self.refusal = all.refusal,
            "pauses" => self.between_pauses = all.between_pauses,
            "partitions" => self.between_partitions = all.between_partitions,
            "crashes" => self.between_crashes = all.between_crashes,
            "deeds" => self.between_deeds = all.between_deeds,
            "restarts" => self.between_restarts = all.between_restarts,
            "drift" => self.drift = all.drift,
            "clocks" => (self.drift, self.between_clock_faults) = (beyond.drift, beyond.between_clock_faults),
            "removals" => self.between_removals = beyond.between_removals,
            "wipes" => self.between_wipes = beyond.between_wipes,
            "restores" => self.between_restores = beyond.between_restores,
            _ => return None,
        }
        Some(())
    }

    /// Whether clocks do what the rules assume that they do not.
    pub fn break_clocks(&self) -> bool {
        self.drift > Self::BOUND || self.between_clock_faults > 0
    }

    /// Whether records change behind the store's back.
    pub fn break_records(&self) -> bool {
        self.between_removals > 0 || self.between_wipes > 0 || self.between_restores > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_and_all_of_them_together_are_beyond() {
        assert_eq!(Faults::named(&KINDS.join(",")), Some(Faults::BEYOND));
        assert_eq!(Faults::named("loss,typo"), None);
        for kind in KINDS {
            assert_ne!(Faults::named(kind), Some(Faults::NONE), "{kind}");
        }
    }
}
