//! I3: a fenced register loses no update, whatever is late.
//!
//! It holds also where I1 does not: outside the clock bound, and with records removed by hand.

use super::{Invariant, Occurrence};

/// I3.
pub(super) struct FencedUpdates;

impl Invariant for FencedUpdates {
    fn name(&self) -> &'static str {
        "I3 fenced updates"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Closed { lost: 1.., .. } => Err("the fenced counter lost an update".into()),
            _ => Ok(()),
        }
    }
}
