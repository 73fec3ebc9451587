//! I2: tokens rise with every tenure that the store has in office, and none is used twice.
//!
//! A resource tells leaders apart by their tokens alone. The order is that of the store's grants: where two can believe at once, one may hear of its
//! grant after the next has begun, and the fence refuses it. A store that loses its numbers begins again; a process that remembers does not
//! (SAFETY 14, 18).

use std::collections::{BTreeMap, BTreeSet};

use tenure::FencingToken;
use tenure::backend::TenureId;

use super::{Invariant, Occurrence};

/// I2.
#[derive(Default)]
pub(super) struct TokensRise {
    holder: Option<(TenureId, u64)>,
    used: BTreeSet<FencingToken>,
    remembered: BTreeMap<usize, FencingToken>,
}

impl Invariant for TokensRise {
    fn name(&self) -> &'static str {
        "I2 tokens rise"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Holds { truth: Some(truth), .. } => {
                let (Some(tenure), Some(token)) = (truth.tenure, truth.token) else { return Ok(()) };
                match self.holder.replace((tenure, token)) {
                    Some((last, highest)) if last != tenure && token <= highest => {
                        Err(format!("the store has token {token} in office after {highest}"))
                    }
                    Some((last, highest)) if last == tenure && token != highest => {
                        Err(format!("the token of tenure {tenure} changed from {highest} to {token}"))
                    }
                    _ => Ok(()),
                }
            }
            Occurrence::Began { process, tenure, token: Some(token), ordered, .. } => {
                if let Some(highest) = self.used.last().filter(|highest| *ordered && *token < **highest) {
                    return Err(format!("tenure {tenure} leads with token {token} after {highest}"));
                }
                if !self.used.insert(*token) {
                    return Err(format!("tenure {tenure} leads with token {token}, which was used before"));
                }
                match self.remembered.insert(*process, *token) {
                    Some(last) if *token <= last => {
                        Err(format!("a process leads with token {token} after it led with {last}"))
                    }
                    _ => Ok(()),
                }
            }
            Occurrence::NumbersLost => {
                (self.holder, self.used) = (None, BTreeSet::new());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
