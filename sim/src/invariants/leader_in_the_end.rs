//! I8: after faults end, a leader exists.
//!
//! Safety alone is easy: nobody ever leads. The world is calm for longer than a lease and the longest stretch before it ends. A candidate
//! that refuses to lead because the store has lost its numbers (SAFETY 18) waits for its operator, and counts as one.

use super::{Invariant, Occurrence};

/// I8.
pub(super) struct LeaderInTheEnd;

impl Invariant for LeaderInTheEnd {
    fn name(&self) -> &'static str {
        "I8 a leader in the end"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Closed { leads: false, .. } => Err("nobody leads long after the last fault".into()),
            _ => Ok(()),
        }
    }
}
