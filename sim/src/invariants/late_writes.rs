//! I6: a late renewal or withdrawal never touches another tenure.
//!
//! Requests wander about long after anybody cares; what they carry must make them harmless.

use super::{Invariant, Occurrence, Purpose};

/// I6.
pub(super) struct LateWrites;

impl Invariant for LateWrites {
    fn name(&self) -> &'static str {
        "I6 late writes"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Applied { purpose, before, after } = occurrence else { return Ok(()) };
        let tenure = match purpose {
            Purpose::Renew(tenure) | Purpose::Withdraw(tenure) => *tenure,
            Purpose::Look if before != after => return Err("a look changed the record".into()),
            _ => return Ok(()),
        };
        match before {
            Some(holder) if holder.tenure != Some(tenure) && before != after => {
                Err(format!("a late request of tenure {tenure} changed the record of {:?}", holder.tenure))
            }
            None if after.is_some_and(|after| after.tenure == Some(tenure)) => {
                Err(format!("a late request of tenure {tenure} made a record"))
            }
            _ => Ok(()),
        }
    }
}
