//! I2: tokens rise with every tenure that the store has in office, and none is used twice.
//!
//! A resource tells leaders apart by their tokens alone. The order is that of the store's grants: where two can believe at once, one may hear of its
//! grant after the next has begun, and the fence refuses it.

use std::collections::BTreeSet;

use tenure::backend::TenureId;

use super::{Invariant, Occurrence};

/// I2.
#[derive(Default)]
pub(super) struct TokensRise {
    holder: Option<TenureId>,
    highest: u64,
    used: BTreeSet<u64>,
}

impl Invariant for TokensRise {
    fn name(&self) -> &'static str {
        "I2 tokens rise"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Holds { truth: Some(truth), .. } if truth.tenure != self.holder => {
                self.holder = truth.tenure;
                let token = truth.token.unwrap_or(0);
                if token <= self.highest {
                    return Err(format!("the store has token {token} in office after {}", self.highest));
                }
                self.highest = token;
            }
            Occurrence::Began { node, token: Some(token), .. } if !self.used.insert(token.get()) => {
                return Err(format!("node-{node} leads with token {token}, which was used before"));
            }
            _ => {}
        }
        Ok(())
    }
}
