//! I2: tokens rise with every tenure that the store has in office, and none is used twice.
//!
//! A resource tells leaders apart by their tokens alone. The order is that of the store's grants: where two can believe at once, one may hear of its
//! grant after the next has begun, and the fence refuses it. A store that loses its numbers begins a new age; a process that remembers does
//! not (SAFETY 14, 18).

use std::collections::{BTreeMap, BTreeSet};

use tenure::FencingToken;
use tenure::backend::TenureId;

use super::{Invariant, Occurrence};

/// I2.
#[derive(Default)]
pub(super) struct TokensRise {
    /// How often the store lost its numbers.
    age: u32,
    /// In which age a tenure was first in office; its holder may hear of it in a later one, or win again what was lost.
    won: BTreeMap<TenureId, u32>,
    /// A record was changed behind the store's back: a late copy of the holder's own bid may make another.
    tampered: bool,
    holder: Option<(TenureId, u64)>,
    used: BTreeSet<(u32, FencingToken)>,
    /// With what each process led last, and the highest that it saw in another's hand.
    led: BTreeMap<usize, FencingToken>,
    seen: BTreeMap<usize, FencingToken>,
}

impl TokensRise {
    fn holds(&mut self, tenure: TenureId, token: u64, believed: bool) -> Result<(), String> {
        match self.holder.replace((tenure, token)) {
            Some((last, highest)) if token < highest || (last != tenure && token == highest) => {
                Err(format!("the store has token {token} in office after {highest}"))
            }
            // A bid that was withdrawn can come late and win for nobody; nobody may believe in it.
            Some((last, highest)) if last == tenure && token != highest && believed && !self.tampered => {
                Err(format!("the token of tenure {tenure} changed from {highest} to {token}"))
            }
            _ => Ok(()),
        }
    }

    fn began(&mut self, process: usize, tenure: TenureId, token: FencingToken, ordered: bool) -> Result<(), String> {
        let first = self.won.get(&tenure).copied().unwrap_or(self.age);
        if let Some((_, highest)) = self.used.last().filter(|(_, highest)| ordered && token < *highest) {
            return Err(format!("tenure {tenure} leads with token {token} after {highest}"));
        }
        if !(first..=self.age).any(|age| self.used.insert((age, token))) {
            return Err(format!("tenure {tenure} leads with token {token}, which was used before"));
        }
        if let Some(seen) = self.seen.get(&process).filter(|seen| token < **seen) {
            return Err(format!("a process leads with token {token} after it saw {seen}"));
        }
        match self.led.insert(process, token) {
            Some(last) if token <= last => Err(format!("a process leads with token {token} after it led with {last}")),
            _ => Ok(()),
        }
    }
}

impl Invariant for TokensRise {
    fn name(&self) -> &'static str {
        "I2 tokens rise"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Holds { truth: Some(truth), believers } => {
                let Some(tenure) = truth.tenure else { return Ok(()) };
                self.won.entry(tenure).or_insert(self.age);
                truth.token.map_or(Ok(()), |token| self.holds(tenure, token, believers.contains(&tenure)))
            }
            Occurrence::Began { process, tenure, token: Some(token), ordered, .. } => {
                self.began(*process, *tenure, *token, *ordered)
            }
            // What a process has seen in another's hand it remembers as well.
            Occurrence::Shown { process, token: Some(token), own: false } => {
                let seen = self.seen.entry(*process).or_insert(*token);
                *seen = (*seen).max(*token);
                Ok(())
            }
            Occurrence::Tampered { numbers_lost } => {
                self.tampered = true;
                if *numbers_lost {
                    (self.age, self.holder) = (self.age + 1, None);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
