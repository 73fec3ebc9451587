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

use crate::store::Truth;

/// What a world takes for granted; where it does not, some invariants cannot hold.
#[derive(Clone, Copy, Debug)]
pub struct Assumptions {
    /// Clock rates keep to their bound, and clocks neither step nor stand still.
    pub clocks: bool,
    /// Records change only through the store.
    pub records: bool,
    /// The store can tell that it lost numbers, or its clients remember them. Independent masters cannot: they must keep what they acknowledged.
    pub numbers: bool,
    /// Older states are never restored.
    pub no_restores: bool,
    /// Every candidate settles for a whole lease.
    pub settled: bool,
}

impl Assumptions {
    /// Whether an invariant cannot be had in such a world. SAFETY 14: with settling, I1 holds also where records are removed.
    ///
    /// `tampered`: less than [`LONGEST_BELIEF`] ago records were changed behind the store's back. What was removed can be believed in until its
    /// deadline and no longer, so it is no excuse long after.
    pub fn excuse(&self, invariant: &str, tampered: bool) -> bool {
        match invariant.split(' ').next() {
            Some("I1") => !(self.clocks && (!tampered || self.settled && self.no_restores)),
            Some("I2") => !self.numbers,
            Some("I4") => !self.clocks || tampered,
            // A clock at half its rate makes every wait twice as long, and one that is set back by an hour keeps a key for an hour (SAFETY 17).
            Some("I8") => !self.clocks,
            _ => false,
        }
    }
}

/// No belief outlives its record by more, in true time: the longest lease, and a little.
pub const LONGEST_BELIEF: u64 = 21_000_000_000;

/// What a call is for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// To win.
    Stand(TenureId),
    /// To keep the office.
    Renew(TenureId),
    /// To give it up.
    Withdraw(TenureId),
    /// To see it.
    Look,
    /// A foreign program's.
    Foreign,
}

/// Something that an invariant may object to.
#[derive(Debug)]
pub enum Occurrence<'a> {
    /// A tenure began in a process.
    Began {
        /// The process: a number that no later life of the node has.
        process: usize,
        /// The tenure.
        tenure: TenureId,
        /// Its token.
        token: Option<FencingToken>,
        /// Its deadline had passed already.
        late: bool,
        /// The world is one in which tenures begin in the order in which they were won.
        ordered: bool,
    },
    /// A tenure whose deadline had passed was given another.
    Revived {
        /// The process.
        process: usize,
    },
    /// Somebody begins to believe while another does.
    Overlap {
        /// Who begins.
        newcomer: &'a str,
        /// Who still believes.
        believer: &'a str,
    },
    /// A tenure ended in a process.
    Ended {
        /// The process.
        process: usize,
    },
    /// A server applied a request.
    Applied {
        /// What it was sent for.
        purpose: Purpose,
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
    /// What a process shows of the holder to whoever observes it.
    Shown {
        /// The process.
        process: usize,
        /// The holder's token.
        token: Option<FencingToken>,
        /// The holder is the process itself, or will be.
        own: bool,
    },
    /// Records were changed behind the store's back.
    Tampered {
        /// The store lost numbers that it had given.
        numbers_lost: bool,
    },
    /// The world is over.
    Closed {
        /// Whether somebody leads, or has good reason not to.
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
        Box::new(belief_before_giveaway::BeliefBeforeGiveaway),
        Box::new(nothing_after_the_deadline::NothingAfterTheDeadline),
        Box::new(late_writes::LateWrites),
        Box::new(one_tenure_a_bid::OneTenureABid::default()),
        Box::new(leader_in_the_end::LeaderInTheEnd),
        Box::new(observed_tokens::ObservedTokens::default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_had_is_excused() {
        let inside = Assumptions { clocks: true, records: true, numbers: true, no_restores: true, settled: false };
        assert!(all().iter().all(|invariant| !inside.excuse(invariant.name(), false)));
        let beyond = Assumptions { clocks: false, records: false, numbers: true, no_restores: false, settled: false };
        let excused: Vec<_> = all().iter().map(|one| one.name()).filter(|name| beyond.excuse(name, true)).collect();
        assert_eq!(excused, ["I1 one leader", "I4 belief before giveaway", "I8 a leader in the end"]);
        let settled = Assumptions { records: false, settled: true, ..inside };
        assert!(!settled.excuse("I1 one leader", true), "settling is for this");
        let records = Assumptions { records: false, no_restores: false, ..inside };
        assert!(records.excuse("I1 one leader", true));
        assert!(!records.excuse("I1 one leader", false), "nothing was touched, or it is long ago");
        assert!(!records.excuse("I4 belief before giveaway", false));
    }
}
