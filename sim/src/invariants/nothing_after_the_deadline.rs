//! I5: nothing starts after the deadline.

use super::{Invariant, Occurrence};

/// I5.
pub(super) struct NothingAfterTheDeadline;

impl Invariant for NothingAfterTheDeadline {
    fn name(&self) -> &'static str {
        "I5 nothing after the deadline"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Began { node, late: true, .. } => {
                Err(format!("node-{node} begins a tenure whose deadline has passed"))
            }
            _ => Ok(()),
        }
    }
}
