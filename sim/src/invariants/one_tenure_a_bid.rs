//! I7: an unknown outcome never makes two tenures.
//!
//! Every tenure has an id of its own and begins once; a process has one at a time.

use std::collections::BTreeSet;

use tenure::backend::TenureId;

use super::{Invariant, Occurrence};

/// I7.
#[derive(Default)]
pub(super) struct OneTenureABid {
    begun: BTreeSet<TenureId>,
    leading: BTreeSet<usize>,
}

impl Invariant for OneTenureABid {
    fn name(&self) -> &'static str {
        "I7 one tenure a bid"
    }

    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String> {
        match occurrence {
            Occurrence::Began { process, tenure, .. } => {
                if !self.begun.insert(*tenure) {
                    return Err(format!("tenure {tenure} began twice"));
                }
                if !self.leading.insert(*process) {
                    return Err(format!("tenure {tenure} began inside another of the same process"));
                }
            }
            Occurrence::Ended { process } => drop(self.leading.remove(process)),
            _ => {}
        }
        Ok(())
    }
}
