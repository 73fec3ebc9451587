//! I4: belief ends before the store gives the office away.
//!
//! Whoever believes is the one the store has in office; a store that has another while somebody still believes has given it away too early.

use tenure::backend::TenureId;

use super::{Invariant, Occurrence};

/// I4.
#[derive(Default)]
pub(super) struct BeliefBeforeGiveaway {
    holder: Option<TenureId>,
}

impl Invariant for BeliefBeforeGiveaway {
    fn name(&self) -> &'static str {
        "I4 belief before giveaway"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Holds { truth, believers } = occurrence else { return Ok(()) };
        let holder = truth.and_then(|truth| truth.tenure);
        let changed = self.holder != holder;
        let last = std::mem::replace(&mut self.holder, holder);
        match last {
            Some(last) if changed && believers.contains(&last) => {
                Err(format!("the store gave the office of tenure {last} away while its holder believed"))
            }
            _ => Ok(()),
        }
    }
}
