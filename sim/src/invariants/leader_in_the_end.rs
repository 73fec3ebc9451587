//! I8: after faults end, a leader exists.
//!
//! Safety alone is easy: nobody ever leads. The world is calm for six leases before it ends, which is more than any wait can last.

use super::{Invariant, Occurrence};

/// I8.
pub(super) struct LeaderInTheEnd;

impl Invariant for LeaderInTheEnd {
    fn name(&self) -> &'static str {
        "I8 a leader in the end"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Closed { leads: false, .. } => Err("nobody leads six leases after the last fault".into()),
            _ => Ok(()),
        }
    }
}
