//! I1: beliefs of two candidates, grace included, never overlap.
//!
//! It is the promise itself. Beliefs are intervals on the holders' own clocks, so an overlap begins when one of them begins or is made longer.

use super::{Invariant, Occurrence};

/// I1.
pub(super) struct OneLeader;

impl Invariant for OneLeader {
    fn name(&self) -> &'static str {
        "I1 one leader"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Overlap { newcomer, believer } => {
                Err(format!("{newcomer} begins or goes on to lead while {believer} still believes"))
            }
            _ => Ok(()),
        }
    }
}
