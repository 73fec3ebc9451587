//! I2: tokens rise strictly, whoever leads, and are never used twice.
//!
//! A resource tells leaders apart by their tokens alone.

use super::{Invariant, Occurrence};

/// I2.
#[derive(Default)]
pub(super) struct TokensRise {
    highest: u64,
}

impl Invariant for TokensRise {
    fn name(&self) -> &'static str {
        "I2 tokens rise"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Began { node, token: Some(token), .. } = occurrence else { return Ok(()) };
        if token.get() <= self.highest {
            return Err(format!("node-{node} leads with token {token} after {}", self.highest));
        }
        self.highest = token.get();
        Ok(())
    }
}
