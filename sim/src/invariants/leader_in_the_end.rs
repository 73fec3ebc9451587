//! I8: after faults end, a leader exists.
//!
//! Safety alone is easy: nobody ever leads. Somebody must within the longest lease and what the world stretches it by (`World::stretch`), and at its
//! end. Candidates that all refuse to lead because the store has lost its numbers (SAFETY 18) wait for their operator.

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
