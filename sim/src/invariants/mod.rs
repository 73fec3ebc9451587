//! What must always hold: one file an invariant, each with its reason.

mod belief_before_giveaway;
mod fenced_updates;
mod late_writes;
mod leader_in_the_end;
mod nothing_after_the_deadline;
mod observed_tokens;
mod one_leader;
mod one_tenure_a_bid;
mod tokens_rise;

use tenure::FencingToken;
use tenure::backend::TenureId;

use crate::store::{Request, Truth};

/// Something that an invariant may object to.
#[derive(Debug)]
pub enum Occurrence<'a> {
    /// A tenure began at a node.
    Began {
        /// The node.
        node: usize,
        /// The tenure.
        tenure: TenureId,
        /// Its token.
        token: Option<FencingToken>,
        /// Another node that believes at this instant.
        rival: Option<usize>,
        /// Its deadline had passed already.
        late: bool,
    },
    /// A tenure ended at a node.
    Ended {
        /// The node.
        node: usize,
    },
    /// The store applied a request.
    Applied {
        /// The request.
        request: &'a Request,
        /// Who held the office before.
        before: Option<Truth>,
        /// Who holds it now.
        after: Option<Truth>,
    },
    /// Who holds the office, and who believes to.
    Holds {
        /// The store's own word.
        truth: Option<Truth>,
        /// The tenures of those who believe.
        believers: &'a [TenureId],
    },
    /// The world is over.
    Closed {
        /// Whether somebody leads.
        leads: bool,
        /// Updates that the fenced counter lost.
        lost: u64,
    },
}

/// One property of every world.
pub trait Invariant {
    /// Its name: the number in the guarantees, and a word.
    fn name(&self) -> &'static str;

    /// Takes note of what happened; an error says how that breaks it.
    fn check(&mut self, occurrence: &Occurrence<'_>) -> Result<(), String>;
}

/// All of them.
pub fn all() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(one_leader::OneLeader),
        Box::new(tokens_rise::TokensRise::default()),
        Box::new(fenced_updates::FencedUpdates),
        Box::new(belief_before_giveaway::BeliefBeforeGiveaway::default()),
        Box::new(nothing_after_the_deadline::NothingAfterTheDeadline),
        Box::new(late_writes::LateWrites),
        Box::new(one_tenure_a_bid::OneTenureABid::default()),
        Box::new(leader_in_the_end::LeaderInTheEnd),
        Box::new(observed_tokens::ObservedTokens::default()),
    ]
}
