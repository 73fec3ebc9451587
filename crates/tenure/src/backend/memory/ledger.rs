//! What both forms of the memory store count and grant by.

use std::time::Duration;

use crate::backend::Incarnation;
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, Moment};

/// The counter of a store, which life of the store it belongs to, and what leases it grants.
#[derive(Debug)]
pub(super) struct Ledger {
    revision: u64,
    incarnation: Incarnation,
    granting: Option<Duration>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Ledger { revision: 0, incarnation: random_incarnation(), granting: None }
    }

    /// The number of the next write. There is one counter for the whole store, so it survives the removal of every record (SAFETY 18).
    pub(super) fn next(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }

    /// Grants this much from now on, whatever is asked.
    pub(super) fn grant_always(&mut self, ttl: Duration) {
        self.granting = Some(ttl);
    }

    /// The counter goes back, as that of a store restored from a backup does: nobody is told.
    pub(super) fn rewind(&mut self, by: u64) {
        self.revision = self.revision.saturating_sub(by);
    }

    /// A store made anew: its numbers start again, and it can be told from the old one by its incarnation.
    pub(super) fn reset(&mut self) {
        let old = self.incarnation;
        self.revision = 0;
        while self.incarnation == old {
            self.incarnation = random_incarnation();
        }
    }

    pub(super) fn note_release(&mut self) {
        if planted(Mutant::MemoryTokenReset) {
            self.revision = 0;
        }
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// What is granted to one who asks for `lease`; a record that would be over at once is refused (SEEDS 6).
    pub(super) fn granted(&self, lease: Duration) -> Result<Duration, Error> {
        let ttl = self.granting.unwrap_or(lease);
        if ttl.is_zero() {
            return Err(Error::new(
                ErrorKind::InvalidConfig,
                "a lease of 0 would be over before it began; ask for one that is longer",
            ));
        }
        Ok(ttl)
    }
}

/// A record is over *at* its expiry (SEEDS 5): the holder counts on nothing from that instant on, and another may have it.
pub(super) fn is_over(expiry: Moment, now: Moment) -> bool {
    if planted(Mutant::MemoryLateExpiry) { now > expiry } else { now >= expiry }
}

fn random_incarnation() -> Incarnation {
    Incarnation::new(fastrand::u64(1..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_made_anew_has_another_incarnation_and_one_that_is_rewound_has_not() {
        let mut ledger = Ledger::new();
        let first = ledger.incarnation();
        assert_eq!((ledger.next(), ledger.next(), ledger.next()), (1, 2, 3));
        ledger.rewind(2);
        assert_eq!((ledger.next(), ledger.incarnation()), (2, first));
        ledger.rewind(u64::MAX);
        assert_eq!(ledger.next(), 1);
        ledger.reset();
        assert_eq!(ledger.next(), 1);
        assert_ne!(ledger.incarnation(), first);
    }
}
