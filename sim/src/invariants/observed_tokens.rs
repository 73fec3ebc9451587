//! I10: observers never see a token go back.
//!
//! Answers overtake each other and stores are restored; whoever routes by what it is shown must never be led back to a former leader.

use std::collections::BTreeMap;

use tenure::FencingToken;

use super::{Invariant, Occurrence};

/// I10.
#[derive(Default)]
pub(super) struct ObservedTokens {
    highest: BTreeMap<usize, FencingToken>,
}

impl Invariant for ObservedTokens {
    fn name(&self) -> &'static str {
        "I10 observed tokens"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Shown { process, token: Some(token), .. } = occurrence else { return Ok(()) };
        match self.highest.insert(*process, *token) {
            Some(highest) if *token < highest => Err(format!("an observer is shown token {token} after {highest}")),
            _ => Ok(()),
        }
    }
}
