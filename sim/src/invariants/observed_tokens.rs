//! I10: observers never see a token go back.

use super::{Invariant, Occurrence};

/// I10.
#[derive(Default)]
pub(super) struct ObservedTokens {
    seen: u64,
}

impl Invariant for ObservedTokens {
    fn name(&self) -> &'static str {
        "I10 observed tokens"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Holds { truth: Some(truth), .. } = occurrence else { return Ok(()) };
        let token = truth.token.unwrap_or(self.seen);
        if token < self.seen {
            return Err(format!("the store shows token {token} after {}", self.seen));
        }
        self.seen = token;
        Ok(())
    }
}
