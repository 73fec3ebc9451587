//! I4: belief ends before the store gives the office away.
//!
//! Whoever believes is the one the store has in office; a store that has another while somebody still believes has given it away too early.

use super::{Invariant, Occurrence};

/// I4.
pub(super) struct BeliefBeforeGiveaway;

impl Invariant for BeliefBeforeGiveaway {
    fn name(&self) -> &'static str {
        "I4 belief before giveaway"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Holds { truth, believers } = occurrence else { return Ok(()) };
        let holder = truth.and_then(|truth| truth.tenure);
        match believers.iter().find(|believer| Some(**believer) != holder) {
            Some(believer) => Err(match holder {
                Some(holder) => format!("tenure {believer} is believed in while the store has {holder} in office"),
                None => format!("tenure {believer} is believed in while the store has given its office away"),
            }),
            None => Ok(()),
        }
    }
}
