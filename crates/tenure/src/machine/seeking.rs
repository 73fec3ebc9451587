//! Running for the office: standing, waiting, observing a silent holder.

use std::time::Duration;

use super::{
    Action, Actions, Alarm, CallKind, Failure, Finish, Goal, LastSeen, Machine, Note, Op, Pause, Phase, Reclaim,
    WatchState, Wish,
};
use crate::backend::{Cover, Expiry, Grant, Held, Hint, SessionId, Sight, Standing, TenureId, Version};
use crate::mutant::{Mutant, planted};
use crate::{Backoff, FencingToken, Moment};

/// A candidacy that has not won yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seeking {
    pub(super) tenure: TenureId,
    /// When to stand next; while a bid is in flight, when what was pushed meanwhile asks for another.
    pub(super) next_try: Moment,
    rival: Option<Rival>,
    /// The session that keeps the place in the queue.
    pub(super) session: Option<SessionId>,
    /// The store keeps our bid in a queue.
    pub(super) queued: bool,
}

/// The holder, as one version of its record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rival {
    version: Version,
    /// When this exact version may be displaced; never, where the store judges.
    displace_at: Moment,
    /// A bid that may displace it was made.
    tried: bool,
}

impl Seeking {
    fn rival_was_tried(&self) -> bool {
        self.rival.as_ref().is_some_and(|rival| rival.tried)
    }
}

impl Machine {
    /// A follower whose watch stands looks by itself only once in so many leases.
    const LEASES_BETWEEN_RECHECKS: u32 = 10;

    pub(super) fn seek(&mut self, now: Moment) {
        self.bids += 1;
        let tenure =
            if planted(Mutant::NoNonce) { TenureId::new(0, 1) } else { TenureId::new(self.plan.nonce(), self.bids) };
        self.phase = Phase::Seeking(Seeking { tenure, next_try: now, rival: None, session: None, queued: false });
    }

    pub(super) fn stand(&mut self, now: Moment, out: &mut Actions) {
        out.push(Action::Emit(Note::Attempting(self.state())));
        let Phase::Seeking(seeking) = &mut self.phase else {
            return;
        };
        seeking.next_try = Moment::NEVER;
        let tenure = seeking.tenure;
        let displace = seeking.rival.as_mut().filter(|rival| rival.displace_at <= now).map(|rival| {
            rival.tried = true;
            rival.version.clone()
        });
        if displace.is_some() {
            out.push(Action::Emit(Note::Displacing));
        }
        self.order(CallKind::Stand, tenure, Op::Stand { displace }, now, self.give_up_at, out);
    }

    pub(super) fn stood(&mut self, sent: Moment, standing: Standing, now: Moment, random: u64, out: &mut Actions) {
        match standing {
            Standing::Elected(grant) => self.elected(sent, grant, now, random, out),
            Standing::Held(sight) => self.not_elected(&sight, None, false, sent, now, random, out),
            Standing::Queued(sight, cover) => self.not_elected(&sight, cover, true, sent, now, random, out),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one answer, taken apart")]
    fn not_elected(
        &mut self,
        sight: &Sight,
        cover: Option<Cover>,
        queued: bool,
        sent: Moment,
        now: Moment,
        random: u64,
        out: &mut Actions,
    ) {
        self.failures = self.failures.saturating_add(1);
        out.push(Action::Emit(Note::NotElected));
        let Phase::Seeking(seeking) = &mut self.phase else {
            return;
        };
        seeking.queued = queued;
        seeking.session = match cover {
            Some(Cover::Shared { session, .. }) => Some(session),
            _ => None,
        };
        self.tried_once(Finish::NotElected);
        // A bid of ours that was given up and landed late holds the office for nobody.
        if let Some(ghost) = sight.held().and_then(|held| held.tenure).filter(|tenure| self.is_ghost(*tenure)) {
            return self.clear_ghost(ghost, queued, now, out);
        }
        if self.wish != Wish::Run {
            return if queued {
                self.clear_bid(Pause::None, now, out)
            } else {
                self.go_on(Pause::None, now, random, out)
            };
        }
        // SAFETY 1: an observer stamps after receiving.
        let seen_at = if planted(Mutant::SendTimeObservation) { sent } else { now };
        let at_the_latest = self.observe(sight, seen_at);
        self.watch_on(out);
        let recheck = self.timing().lease * Self::LEASES_BETWEEN_RECHECKS;
        let failures = if planted(Mutant::BackoffUncounted) { 1 } else { self.failures };
        let poll = self.timing().backoff.wait(failures, random);
        let Phase::Seeking(seeking) = &mut self.phase else {
            return;
        };
        // A push is sure to come only for a holder that goes; a vacancy that was not won, or a displacement that did not work, is none.
        let pushed = self.watch == WatchState::Armed && sight.held().is_some() && !seeking.rival_was_tried();
        let pace = if pushed { recheck } else { poll };
        // What was pushed while the bid was in flight may be newer than its answer.
        seeking.next_try = seeking.next_try.min(at_the_latest).min(now.after(pace));
    }

    /// Takes note of what was seen, received at `seen_at`; the answer is when it is worth standing again at the latest.
    fn observe(&mut self, sight: &Sight, seen_at: Moment) -> Moment {
        let Some(held) = sight.held() else {
            // Vacant, and yet we did not win it: somebody is quicker. Nothing to wait for but the pace.
            return Moment::NEVER;
        };
        let seen = held.tenure.map_or(LastSeen::Foreign, LastSeen::Tenure);
        if seen != self.last_seen {
            (self.last_seen, self.seen_since) = (seen, seen_at);
        }
        let permitted = self.displaceable(held, seen_at);
        let soonest = (self.timing().retry / 20).max(Backoff::FLOOR);
        let Phase::Seeking(seeking) = &mut self.phase else {
            return Moment::NEVER;
        };
        let (displace_at, tried) = match &seeking.rival {
            // SAFETY 4: the wait runs from the first sight of an unchanged version. A later proof of death can only shorten it.
            Some(rival) if rival.version == held.version && !planted(Mutant::ObservationAlwaysRestarts) => {
                (rival.displace_at.min(permitted), rival.tried)
            }
            Some(rival) if planted(Mutant::ObservationNeverRestarts) => (rival.displace_at.min(permitted), false),
            _ => (permitted, false),
        };
        seeking.rival = Some(Rival { version: held.version.clone(), displace_at, tried });
        match held.expiry {
            // It was tried and did not work: the pace decides, or what was planned already.
            _ if tried => seeking.next_try,
            // Where the end of it is pushed, nothing needs asking.
            Expiry::Store { remaining: Some(remaining) } if self.watch != WatchState::Armed => {
                displace_at.min(seen_at.after(remaining.max(soonest)))
            }
            _ => displace_at,
        }
    }

    /// When a record that was first seen at `seen_at` may be displaced.
    fn displaceable(&self, held: &Held, seen_at: Moment) -> Moment {
        if (self.plan.reclaim() == Reclaim::TrustingUniqueName || planted(Mutant::ReclaimUntrusted))
            && *held.holder == *self.plan.name().as_str()
            && held.tenure.is_some()
        {
            return seen_at;
        }
        match held.expiry {
            Expiry::Store { .. } => Moment::NEVER,
            Expiry::Observe { recorded } => {
                let recorded = if planted(Mutant::OwnLeaseObserved) { self.timing().lease } else { recorded };
                seen_at.after(self.wait_out(held, recorded))
            }
            Expiry::Dead { after } => seen_at.after(after),
        }
    }

    /// SAFETY 4: a holder of ours shrinks its own lease by the clock bound; a foreign one does not, so we wait longer for it.
    fn wait_out(&self, held: &Held, recorded: Duration) -> Duration {
        if held.tenure.is_some() || planted(Mutant::ForeignNotStretched) {
            recorded
        } else {
            self.timing().rate.stretch(recorded)
        }
    }

    /// Whether this tenure id is one of this machine's own, and not the one it bids for.
    fn is_ghost(&self, tenure: TenureId) -> bool {
        tenure.nonce() == self.plan.nonce() && self.tenure() != Some(tenure) && !planted(Mutant::GhostLeft)
    }

    fn elected(&mut self, sent: Moment, grant: Grant, now: Moment, random: u64, out: &mut Actions) {
        if self.wish != Wish::Run && !planted(Mutant::WinAfterStop) {
            return self.clear_bid(Pause::None, now, out);
        }
        if self.tenure() != Some(grant.tenure) {
            return self.stand_unanswered(false, now, random, out);
        }
        let token = match self.admit_token(&grant) {
            Ok(token) => token,
            Err(alarm) => {
                out.push(Action::Alarm(alarm));
                self.failures = self.failures.saturating_add(1);
                if self.goal != Goal::Forever {
                    self.wish = Wish::Finish(Finish::Barred);
                }
                return self.clear_bid(Pause::Backoff, now, out);
            }
        };
        match self.cover(grant.cover, sent, now) {
            Ok(cover) if now < cover.term.deadline || planted(Mutant::OverdueWinBelieved) => {
                self.failures = 0;
                self.memory.highest = self.memory.highest.max(token);
                self.memory.incarnation = grant.incarnation.or(self.memory.incarnation);
                self.hold(grant, token, cover, now, random, out);
            }
            // SAFETY 2a: a grant that does not fit is withdrawn, not believed; nor is one whose answer came too late.
            unusable => {
                if unusable.is_err() {
                    out.push(Action::Alarm(Alarm::GrantTooShort));
                }
                out.push(Action::Emit(Note::Unusable));
                self.failures = self.failures.saturating_add(1);
                self.tried_once(Finish::Refused);
                self.clear_bid(Pause::Backoff, now, out);
            }
        }
    }

    /// SAFETY 18: tokens never go back, and numbers of another life of the store are not comparable.
    fn admit_token(&self, grant: &Grant) -> Result<Option<FencingToken>, Alarm> {
        let base = if planted(Mutant::BaseIgnored) { 0 } else { self.plan.token_base() };
        let replaced = matches!((self.memory.incarnation, grant.incarnation), (Some(old), Some(new)) if old != new);
        if replaced && !planted(Mutant::IncarnationIgnored) {
            return Err(Alarm::StoreReplaced { seen: self.memory.highest });
        }
        let Some(native) = grant.token else {
            return Ok(None);
        };
        let token = FencingToken::based(base, native);
        match (self.memory.highest, token) {
            (Some(seen), _) if token <= Some(seen) && !planted(Mutant::TokenRegressionIgnored) => {
                Err(Alarm::TokenWentBack { seen, offered: base.saturating_add(native) })
            }
            (_, Some(token)) => Ok(Some(token)),
            // Out of range: it cannot be above anything.
            (seen, None) => Err(Alarm::TokenWentBack {
                seen: seen.unwrap_or(FencingToken::MAX),
                offered: base.saturating_add(native),
            }),
        }
    }

    /// SAFETY 9: after an attempt to win whose outcome is unknown, withdraw, and bid under a new id.
    pub(super) fn stand_unanswered(&mut self, given_up: bool, now: Moment, random: u64, out: &mut Actions) {
        self.failures = self.failures.saturating_add(1);
        out.push(Action::Emit(Note::AttemptFailed));
        self.tried_once(Finish::Refused);
        if planted(Mutant::UnknownWinNotWithdrawn) {
            return self.go_on(Pause::None, now, random, out);
        }
        self.clear_bid(if given_up { Pause::None } else { Pause::Backoff }, now, out);
    }

    /// One try was asked for, and this was it.
    pub(super) fn tried_once(&mut self, finish: Finish) {
        if self.goal == Goal::TryOnce && self.wish == Wish::Run {
            self.wish = Wish::Finish(finish);
        }
    }

    pub(super) fn stand_failed(&mut self, failure: Failure, now: Moment, random: u64, out: &mut Actions) {
        self.failures = self.failures.saturating_add(1);
        out.push(Action::Emit(Note::AttemptFailed));
        self.tried_once(Finish::Refused);
        if self.goal == Goal::OneTenure && !failure.transient && self.wish == Wish::Run {
            self.wish = Wish::Finish(Finish::Refused);
        }
        let wait = self.timing().backoff.wait(self.failures, random);
        let Phase::Seeking(seeking) = &mut self.phase else {
            return;
        };
        seeking.next_try = now.after(wait);
        if self.wish != Wish::Run {
            if seeking.queued {
                self.clear_bid(Pause::None, now, out)
            } else {
                self.go_on(Pause::None, now, random, out)
            }
        }
    }

    pub(super) fn hinted_seeking(&mut self, hint: Hint, now: Moment, random: u64) {
        let shown = matches!(hint, Hint::Seen(_));
        let look_at = match hint {
            // What was pushed before the subscription stood is not known: look once.
            Hint::Armed | Hint::Changed | Hint::Vacant => now,
            Hint::Eta(span) => now.after(span),
            Hint::Lagged => now.after(self.timing().backoff.wait(1, random)),
            Hint::Seen(sight) => match &sight {
                Sight::Vacant(_) => now,
                // Our bid came to its turn, or one that was given up landed late.
                Sight::Held(held) if held.tenure.is_some_and(|tenure| tenure.nonce() == self.plan.nonce()) => now,
                Sight::Held(_) => self.observe(&sight, now),
            },
        };
        let recheck = now.after(self.timing().lease * Self::LEASES_BETWEEN_RECHECKS);
        let Phase::Seeking(seeking) = &mut self.phase else {
            return;
        };
        if self.call.is_some() && planted(Mutant::LostWakeUp) {
            return;
        }
        if self.call.is_none() && shown && self.watch == WatchState::Armed {
            // The record itself was pushed: nothing needs asking before this version may be displaced.
            seeking.next_try = look_at.min(recheck);
        } else {
            seeking.next_try = seeking.next_try.min(look_at);
        }
    }
}
