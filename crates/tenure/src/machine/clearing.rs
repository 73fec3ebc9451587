//! Removing every trace of a bid or a tenure from the store.

use super::Finish;
use super::{Action, Actions, Goal, Machine, Note, Phase, Plan, Wish};
use crate::Moment;
use crate::backend::TenureId;
use crate::mutant::{Mutant, planted};

/// A withdrawal under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Clearing {
    pub(super) tenure: TenureId,
    /// When to stop trying: what is in the store then expires by itself, or is displaced like anybody's.
    pub(super) until: Moment,
    pub(super) next_try: Moment,
    pub(super) pause: Pause,
    /// Whether it was a tenure that had begun, and not only a bid.
    pub(super) held: bool,
    /// Whether the present bid waits in a queue behind it, and is to be withdrawn next.
    pub(super) queued: bool,
}

impl Clearing {
    /// Somebody waits for the end of the campaign: two tries, and no more.
    pub(super) fn hasten(&mut self, now: Moment, plan: &Plan) {
        self.until = self.until.min(now.after(plan.timing().call_timeout * 2));
        self.next_try = self.next_try.min(now);
    }
}

/// How long to stay away afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pause {
    None,
    Backoff,
    /// After a resignation: until another had its chance.
    SitOut,
}

impl Machine {
    /// Withdraws the bid of the present phase.
    pub(super) fn clear_bid(&mut self, pause: Pause, now: Moment, out: &mut Actions) {
        if let Phase::Seeking(seeking) = &self.phase {
            let tenure = seeking.tenure;
            self.clear(tenure, pause, false, now, out);
        }
    }

    pub(super) fn clear(&mut self, tenure: TenureId, pause: Pause, held: bool, now: Moment, out: &mut Actions) {
        // The watch belongs to a bid that is no more.
        self.watch_off(out);
        self.call = None;
        let mut clearing =
            Clearing { tenure, until: now.after(self.timing().lease), next_try: now, pause, held, queued: false };
        if let Wish::Finish(_) = self.wish {
            clearing.hasten(now, &self.plan);
        }
        self.phase = Phase::Clearing(clearing);
    }

    /// Withdraws an earlier bid of ours that landed after it was given up, and then the present one if that waits behind it.
    pub(super) fn clear_ghost(&mut self, ghost: TenureId, queued: bool, now: Moment, out: &mut Actions) {
        // Bid after bid: then the withdrawal does not help, and the store is not to be flooded.
        let pause = if self.failures > 2 { Pause::Backoff } else { Pause::None };
        self.clear(ghost, pause, false, now, out);
        if let Phase::Clearing(clearing) = &mut self.phase {
            clearing.queued = queued;
        }
    }

    pub(super) fn withdraw_failed(&mut self, worth_a_retry: bool, now: Moment, random: u64, out: &mut Actions) {
        let wait = self.timing().backoff.wait(1, random);
        let Phase::Clearing(clearing) = &mut self.phase else {
            return;
        };
        clearing.next_try = now.after(wait);
        if !worth_a_retry || planted(Mutant::WithdrawnOnce) || clearing.next_try >= clearing.until {
            self.cleared(false, now, random, out);
        }
    }

    pub(super) fn cleared(&mut self, confirmed: bool, now: Moment, random: u64, out: &mut Actions) {
        let Phase::Clearing(Clearing { mut pause, held, queued, .. }) = self.phase else {
            return;
        };
        if !confirmed && pause == Pause::None {
            // What could not be withdrawn is still in the way of the next bid.
            pause = Pause::Backoff;
        }
        if queued {
            return self.clear(TenureId::new(self.plan.nonce(), self.bids), pause, false, now, out);
        }
        if held || !confirmed {
            out.push(Action::Emit(if confirmed { Note::Released } else { Note::ReleaseUnconfirmed }));
        }
        if held && self.goal != Goal::Forever && !matches!(self.wish, Wish::Finish(_)) {
            return self.finish(Finish::TenureEnded, out);
        }
        self.go_on(pause, now, random, out);
    }
}
