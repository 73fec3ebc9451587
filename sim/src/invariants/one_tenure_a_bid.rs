//! I7: an unknown outcome never makes two tenures.
//!
//! Every tenure has an id of its own and begins once; a node has one at a time.

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
            Occurrence::Began { node, tenure, .. } => {
                if !self.begun.insert(*tenure) {
                    return Err(format!("tenure {tenure} began twice"));
                }
                if !self.leading.insert(*node) {
                    return Err(format!("node-{node} began a tenure inside another"));
                }
            }
            Occurrence::Ended { node } => drop(self.leading.remove(node)),
            _ => {}
        }
        Ok(())
    }
}
