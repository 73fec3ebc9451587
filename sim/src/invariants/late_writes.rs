//! I6: a late renewal or withdrawal never touches another tenure.
//!
//! Requests wander about long after anybody cares; what they carry must make them harmless.

use super::{Invariant, Occurrence};
use crate::store::Request;

/// I6.
pub(super) struct LateWrites;

impl Invariant for LateWrites {
    fn name(&self) -> &'static str {
        "I6 late writes"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Applied { request, before, after } = occurrence else { return Ok(()) };
        let (Request::Renew(bid, _) | Request::Withdraw(bid)) = request else { return Ok(()) };
        match before {
            Some(holder) if holder.tenure != Some(bid.tenure()) && before != after => {
                Err(format!("a late request of tenure {} changed the record of {:?}", bid.tenure(), holder.tenure))
            }
            None if after.is_some_and(|after| after.tenure == Some(bid.tenure())) => {
                Err(format!("a late request of tenure {} made a record", bid.tenure()))
            }
            _ => Ok(()),
        }
    }
}
