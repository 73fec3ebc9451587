//! I5: nothing starts after the deadline.
//!
//! A process that wakes from a long stop finds its answers waiting; a win among them whose time is over must not be announced.

use super::{Invariant, Occurrence};

/// I5.
pub(super) struct NothingAfterTheDeadline;

impl Invariant for NothingAfterTheDeadline {
    fn name(&self) -> &'static str {
        "I5 nothing after the deadline"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Began { tenure, late: true, .. } => {
                Err(format!("tenure {tenure} begins when its deadline has passed"))
            }
            Occurrence::Revived { process } => {
                Err(format!("process {process} goes on with a tenure whose deadline has passed"))
            }
            _ => Ok(()),
        }
    }
}
