//! Holding the office: settling, leading, winding down, lingering.

use std::time::Duration;

use super::{
    Action, Actions, Alarm, CallKind, Ending, Finish, Goal, LastSeen, Machine, Note, Op, Pause, Phase, State, Term,
    Wish,
};
use crate::backend::{Cover, Grant, Hint, Renewal, SessionId, Sight, TenureId, Vacancies, Vacancy, Version};
use crate::mutant::{Mutant, planted};
use crate::{FencingToken, Moment};

/// An office that the store has given to this candidate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Holding {
    pub(super) tenure: TenureId,
    version: Version,
    token: Option<FencingToken>,
    pub(super) session: Option<SessionId>,
    from: Moment,
    term: Term,
    /// When to renew, or with a session when to look whether the record is still ours.
    pub(super) renew_at: Moment,
    /// While settling: when that is over. From then on: until when the office is held at least.
    until: Moment,
    pub(super) stage: Stage,
    ending: Ending,
    /// A renewal of ours may still land (SAFETY 9).
    pub(super) unresolved: bool,
    /// The record is known to be another's, or gone.
    gone: bool,
    overrun_told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// Won, not announced.
    Settling,
    Leading,
    /// Over, but guarded work has not stopped yet.
    Winding,
    /// Over and stopped, but held for the minimum time.
    Lingering,
}

impl Stage {
    pub(super) fn state(self) -> State {
        match self {
            Stage::Settling => State::Settling,
            Stage::Leading => State::Leader,
            Stage::Winding | Stage::Lingering => State::SteppingDown,
        }
    }
}

impl Holding {
    pub(super) fn next_wake(&self, calling: bool) -> Moment {
        let renew = if calling || !self.renews() { Moment::NEVER } else { self.renew_at };
        match self.stage {
            Stage::Settling | Stage::Leading => self.term.deadline.min(renew),
            Stage::Winding if self.overrun_told => renew,
            Stage::Winding => self.term.expiry.min(renew),
            Stage::Lingering => self.until.min(self.term.expiry).min(renew),
        }
    }

    /// A tenure that was given up freely is renewed until its work has stopped and its minimum is over; a lost one is not.
    fn renews(&self) -> bool {
        match self.stage {
            Stage::Settling | Stage::Leading => true,
            Stage::Winding | Stage::Lingering => {
                self.ending.is_voluntary() && !self.gone && !planted(Mutant::WindingUnrenewed)
            }
        }
    }
}

/// A cover as it binds this holder.
pub(super) struct Covered {
    pub(super) term: Term,
    from: Moment,
    session: Option<SessionId>,
}

impl Machine {
    /// The shortest pause between two tries of a renewal that fails.
    const QUICKEST_RETRY: Duration = Duration::from_millis(20);

    /// What a cover is worth on this candidate's clock; when it is too short to hold office with, only its expiry.
    pub(super) fn cover(&self, cover: Cover, sent: Moment, now: Moment) -> Result<Covered, Moment> {
        let (from, ttl, session) = match cover {
            // SAFETY 1: a holder counts from before sending.
            Cover::Own { ttl } => (if planted(Mutant::ReceiptTimeDeadline) { now } else { sent }, ttl, None),
            Cover::Shared { session, from, ttl } => (from.min(now), ttl, Some(session)),
        };
        let ttl = if planted(Mutant::AskedNotGranted) { self.timing().lease } else { ttl };
        let skew = if planted(Mutant::SkewIgnored) { Duration::ZERO } else { self.plan.traits().store_skew };
        let ttl = ttl.saturating_sub(skew);
        let expiry = if planted(Mutant::DriftIgnored) { ttl } else { self.timing().expiry_after(ttl) };
        let fits = self.timing().deadline_after(ttl).is_some() || planted(Mutant::TooShortBelieved);
        let grace = if planted(Mutant::GraceForgotten) { Duration::ZERO } else { self.timing().grace };
        let deadline = expiry.checked_sub(grace).filter(|_| fits).ok_or(from.after(expiry))?;
        Ok(Covered { term: Term { deadline: from.after(deadline), expiry: from.after(expiry) }, from, session })
    }

    pub(super) fn hold(
        &mut self,
        grant: Grant,
        token: Option<FencingToken>,
        cover: Covered,
        now: Moment,
        random: u64,
        out: &mut Actions,
    ) {
        let settles = self.settles(grant.over, now);
        if !settles.is_zero() {
            out.push(Action::Emit(Note::Settling));
        } else if !self.timing().settle.is_zero() {
            out.push(Action::Emit(Note::SettleSkipped));
        }
        let until = now.after(settles);
        let pushed = matches!(&self.phase, Phase::Seeking(seeking) if seeking.next_try != Moment::NEVER);
        let renew_at = match cover.session {
            // What was pushed while the winning bid was in flight may be newer than its answer.
            Some(_) if pushed => now,
            Some(_) => self.next_look(now),
            None => self.next_renewal(cover.from, random),
        };
        self.phase = Phase::Holding(Holding {
            tenure: grant.tenure,
            version: grant.version,
            token,
            session: cover.session,
            from: cover.from,
            term: cover.term,
            renew_at: if settles.is_zero() { renew_at } else { renew_at.min(until) },
            until,
            stage: Stage::Settling,
            ending: Ending::Expired,
            unresolved: false,
            gone: false,
            overrun_told: false,
        });
        // With a session nothing else tells that the record was removed; without one, every renewal does.
        if cover.session.is_some() {
            self.watch_on(out)
        } else {
            self.watch_off(out)
        }
        if settles.is_zero() {
            self.begin(now, random, out);
        }
    }

    /// SAFETY 14: settling is skipped only after a release that names whom we last saw; a deleted record alone is no release.
    ///
    /// Even that one vouches for those before it only by the time it was in office: one that gave up at once, because its win was unusable, may
    /// have been settling itself.
    fn settles(&self, over: Vacancy, now: Moment) -> Duration {
        let in_due_form = match (over, self.last_seen) {
            (Vacancy::Released { by }, LastSeen::Tenure(last))
                if by == last && !planted(Mutant::ShortOfficeVouches) =>
            {
                return self.seen_since.after(self.timing().settle).until_from(now);
            }
            (Vacancy::Released { by }, LastSeen::Tenure(last)) => by == last || planted(Mutant::AnyReleaseSkips),
            (Vacancy::Released { .. }, LastSeen::Foreign) => planted(Mutant::ForeignReleaseSkips),
            (Vacancy::Removed, _) => planted(Mutant::SettleSkippedOnDeletion),
            _ => false,
        };
        if in_due_form || planted(Mutant::NeverSettles) { Duration::ZERO } else { self.timing().settle }
    }

    fn begin(&mut self, now: Moment, random: u64, out: &mut Actions) {
        let at_least = self.timing().at_least;
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        // SAFETY 18: a higher token may have shown up in another's hand while this win settled.
        if let (Some(token), Some(seen)) = (holding.token, self.memory.highest)
            && token < seen
            && !planted(Mutant::RegressionWhileSettling)
        {
            let alarm = Alarm::TokenWentBack { seen, offered: token.get() };
            return self.untenable(Ending::TokenWentBack, alarm, now, random, out);
        }
        holding.stage = Stage::Leading;
        holding.until = now.after(at_least);
        out.push(Action::SetDeadline(Some(holding.term)));
        out.push(Action::Begin { tenure: holding.tenure, token: holding.token });
        self.give_up_at = Moment::NEVER;
    }

    pub(super) fn elapse_holding(&mut self, now: Moment, random: u64, out: &mut Actions) {
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        match holding.stage {
            Stage::Settling | Stage::Leading if now >= holding.term.deadline => {
                self.end_tenure(Ending::Expired, now, random, out);
            }
            Stage::Settling if now >= holding.until && planted(Mutant::AnnouncedUnread) => self.begin(now, random, out),
            Stage::Winding if planted(Mutant::OverrunUntold) => {}
            Stage::Winding if now >= holding.term.expiry && !holding.overrun_told => {
                holding.overrun_told = true;
                let still_held = holding.ending.is_voluntary() && !holding.gone;
                out.push(Action::Alarm(Alarm::WorkOverran));
                if still_held {
                    self.arm_kill(now);
                }
            }
            Stage::Lingering if now >= holding.until || now >= holding.term.expiry => self.depart(now, random, out),
            _ => {}
        }
    }

    pub(super) fn proceed_holding(&mut self, now: Moment, out: &mut Actions) {
        let soon = now.after(self.renew_slack());
        let Phase::Holding(holding) = &self.phase else {
            return;
        };
        if soon < holding.renew_at || !holding.renews() {
            return;
        }
        let op = match holding.session {
            Some(_) => Op::Inspect,
            None => Op::Renew { version: holding.version.clone() },
        };
        self.renew_or_look(op, now, out);
    }

    fn renew_or_look(&mut self, op: Op, now: Moment, out: &mut Actions) {
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        let tenure = holding.tenure;
        let no_later = match holding.stage {
            Stage::Settling | Stage::Leading => holding.term.deadline,
            Stage::Winding | Stage::Lingering => Moment::NEVER,
        };
        let kind = if op == Op::Inspect { CallKind::Inspect } else { CallKind::Renew };
        if kind == CallKind::Inspect {
            // Whatever is pushed from here on may be newer than the answer, and asks for another look.
            holding.renew_at = Moment::NEVER;
            self.watch_on(out);
        }
        self.order(kind, tenure, op, now, no_later, out);
    }

    pub(super) fn renewed(&mut self, sent: Moment, renewal: Renewal, now: Moment, random: u64, out: &mut Actions) {
        match renewal {
            Renewal::Extended(grant) => self.extended(sent, grant, now, random, out),
            Renewal::Mismatch(sight) => self.mismatched(&sight, now, random, out),
        }
    }

    fn extended(&mut self, sent: Moment, grant: Grant, now: Moment, random: u64, out: &mut Actions) {
        let cover = self.cover(grant.cover, sent, now);
        let renew_at = self.next_renewal(sent, random);
        let replaced = matches!((self.memory.incarnation, grant.incarnation), (Some(old), Some(new)) if old != new)
            && !planted(Mutant::ReplacementUnnoticed);
        let seen = self.memory.highest;
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        if grant.tenure != holding.tenure {
            return self.renew_failed(true, false, now, random, out);
        }
        holding.unresolved = false;
        if !planted(Mutant::StaleVersionRenewed) {
            holding.version = grant.version;
        }
        holding.renew_at = renew_at;
        self.failures = 0;
        if replaced {
            return self.untenable(Ending::TokenWentBack, Alarm::StoreReplaced { seen }, now, random, out);
        }
        self.take_cover(cover, now, random, out);
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        let confirmed_at = if planted(Mutant::ConfirmedEarly) { now } else { sent };
        let confirmed = holding.stage == Stage::Settling && confirmed_at >= holding.until;
        if holding.stage == Stage::Settling && !confirmed {
            holding.renew_at = renew_at.min(holding.until.max(now));
        }
        out.push(Action::Emit(Note::Renewed));
        if confirmed {
            self.begin(now, random, out);
        } else if holding.stage == Stage::Leading {
            out.push(Action::SetDeadline(Some(holding.term)));
        }
        self.heed_request(grant.asked_to_resign, now, random, out);
    }

    /// Counts on a new cover from now on, or ends the tenure where that leaves nothing to hold office with.
    fn take_cover(&mut self, cover: Result<Covered, Moment>, now: Moment, random: u64, out: &mut Actions) {
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        let cover = match cover {
            Ok(cover) => cover,
            Err(expiry) => {
                // The store expires the record by what it granted last.
                holding.term.expiry = holding.term.expiry.min(expiry);
                return self.untenable(Ending::GrantTooShort, Alarm::GrantTooShort, now, random, out);
            }
        };
        holding.from = cover.from;
        let kept = if planted(Mutant::LongerTermKept) { holding.term.deadline } else { Moment::ZERO };
        holding.term = Term { deadline: cover.term.deadline.max(kept), ..cover.term };
        match holding.stage {
            Stage::Settling | Stage::Leading if now >= holding.term.deadline => {
                self.end_tenure(Ending::Expired, now, random, out);
            }
            Stage::Winding if holding.overrun_told && now < holding.term.expiry => {
                // It was not lost after all.
                holding.overrun_told = false;
                self.kill_at = Moment::NEVER;
            }
            _ => {}
        }
    }

    /// The store no longer gives what an office can be held with: the tenure ends; one that is over is not kept up any longer.
    fn untenable(&mut self, ending: Ending, alarm: Alarm, now: Moment, random: u64, out: &mut Actions) {
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        holding.renew_at = Moment::NEVER;
        if let Stage::Settling | Stage::Leading = holding.stage {
            out.push(Action::Alarm(alarm));
            self.end_tenure(ending, now, random, out);
        }
    }

    /// Somebody asked the holder to resign: it does, and holds the office for no minimum.
    fn heed_request(&mut self, asked: bool, now: Moment, random: u64, out: &mut Actions) {
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        match holding.stage {
            _ if !asked || planted(Mutant::RequestIgnored) => {}
            Stage::Settling | Stage::Leading => self.end_tenure(Ending::AskedToResign, now, random, out),
            Stage::Winding | Stage::Lingering => holding.until = holding.until.min(now),
        }
    }

    fn mismatched(&mut self, sight: &Sight, now: Moment, random: u64, out: &mut Actions) {
        let shortly = now.after(self.most_slack() * 2);
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        if let Some(held) = sight.held().filter(|held| held.tenure == Some(holding.tenure)) {
            // SAFETY 9: a record with our tenure id is ours; a renewal of ours landed after all. The old deadline stays.
            // Where none was under way, somebody else writes to our record, and may go on doing so: not at once then.
            holding.renew_at = if holding.unresolved { now } else { shortly };
            holding.version = held.version.clone();
            holding.unresolved = false;
        } else if holding.unresolved && !planted(Mutant::MismatchBelievedUnresolved) {
            // SAFETY 9: with an attempt of our own unresolved this is not yet loss: read back first.
            self.renew_or_look(Op::Inspect, now, out);
        } else if planted(Mutant::MismatchRetried) {
            self.renew_failed(false, false, now, random, out);
        } else {
            self.deposed(now, random, out);
        }
    }

    pub(super) fn inspected(&mut self, sent: Moment, sight: &Sight, now: Moment, random: u64, out: &mut Actions) {
        let next_look = self.next_look(now);
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        let Some(held) = sight.held().filter(|held| held.tenure == Some(holding.tenure)) else {
            return self.deposed(now, random, out);
        };
        holding.version = held.version.clone();
        holding.unresolved = false;
        if planted(Mutant::ReadBackExtends) {
            let term =
                Term { deadline: sent.after(Duration::from_secs(10)), expiry: sent.after(Duration::from_secs(12)) };
            holding.term = term;
        }
        if holding.session.is_none() {
            holding.renew_at = now;
        } else {
            self.failures = 0;
            let pushed = if planted(Mutant::LostLook) { Moment::NEVER } else { holding.renew_at };
            holding.renew_at = pushed.min(next_look);
            if holding.stage == Stage::Settling {
                if sent >= holding.until {
                    self.begin(now, random, out);
                } else {
                    holding.renew_at = holding.renew_at.min(holding.until);
                }
            }
        }
        self.heed_request(held.asked_to_resign, now, random, out);
    }

    fn deposed(&mut self, now: Moment, random: u64, out: &mut Actions) {
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        let known = std::mem::replace(&mut holding.gone, true);
        match holding.stage {
            Stage::Settling | Stage::Lingering => self.depart(now, random, out),
            Stage::Leading => {
                out.push(Action::Alarm(Alarm::Deposed));
                self.end_tenure(Ending::Deposed, now, random, out);
            }
            Stage::Winding if known => {}
            Stage::Winding => self.lost_meanwhile(now, out),
        }
    }

    /// The office went away while its work stops: the time that was given for that counted on it.
    fn lost_meanwhile(&mut self, now: Moment, out: &mut Actions) {
        let Phase::Holding(holding) = &self.phase else {
            return;
        };
        out.push(Action::StopWork { by: now });
        if holding.ending.is_voluntary() && !holding.overrun_told {
            self.arm_kill(now);
        }
    }

    /// A renewal, or the look at a record under a session, failed; `unresolved` when it may have landed.
    pub(super) fn renew_failed(
        &mut self,
        unresolved: bool,
        given_up: bool,
        now: Moment,
        random: u64,
        out: &mut Actions,
    ) {
        out.push(Action::Emit(Note::RenewalFailed));
        self.failures = self.failures.saturating_add(1);
        let lost = self.timing().tolerance.exceeded_by(self.failures) && !planted(Mutant::ToleranceIgnored)
            || planted(Mutant::FailureIsLoss);
        let (retry, renew) = (self.timing().retry, self.timing().renew);
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        holding.unresolved |= unresolved;
        // A call that was given up has cost its time already; one that failed at once must not be repeated in a tight loop.
        let left = holding.term.deadline.until_from(now);
        let pause = match left {
            Duration::ZERO => retry,
            left => (left / 8).min(retry).max(Self::QUICKEST_RETRY.min(renew / 10)),
        };
        holding.renew_at = if given_up || planted(Mutant::TightRetry) { now } else { now.after(pause) };
        if lost && matches!(holding.stage, Stage::Settling | Stage::Leading) {
            self.end_tenure(Ending::RenewalsFailed, now, random, out);
        }
    }

    pub(super) fn cover_moved(&mut self, from: Moment, ttl: Duration, now: Moment, random: u64, out: &mut Actions) {
        let Phase::Holding(Holding { session: Some(session), from: old, .. }) = self.phase else {
            return;
        };
        if from <= old && !planted(Mutant::CoverWentBack) {
            return;
        }
        let cover = self.cover(Cover::Shared { session, from, ttl }, from, now);
        self.take_cover(cover, now, random, out);
        if let Phase::Holding(Holding { stage: Stage::Leading, term, .. }) = self.phase {
            out.push(Action::SetDeadline(Some(term)));
        }
    }

    pub(super) fn cover_lost(&mut self, now: Moment, random: u64, out: &mut Actions) {
        match &mut self.phase {
            Phase::Holding(_) if planted(Mutant::SessionLossIgnored) => {}
            Phase::Holding(Holding { session: Some(_), gone: gone @ false, stage, .. }) => {
                *gone = true;
                match stage {
                    Stage::Settling | Stage::Lingering => self.depart(now, random, out),
                    Stage::Leading => self.end_tenure(Ending::SessionLost, now, random, out),
                    Stage::Winding => self.lost_meanwhile(now, out),
                }
            }
            // SAFETY 21: a waiting candidate whose session died withdraws, and a win that is still under way counts for nothing.
            Phase::Seeking(seeking) if (seeking.session.is_some()) && !planted(Mutant::PhantomWin) => {
                // The store may still know a session that is over by our own clock, and answer every bid with it: not at once again.
                let pause = if planted(Mutant::LostSessionUnpaced) { Pause::None } else { Pause::Backoff };
                self.clear_bid(pause, now, out);
            }
            _ => {}
        }
    }

    /// While a session covers the office, a push about our own record is looked into.
    pub(super) fn hinted_holding(&mut self, hint: &Hint, now: Moment) {
        let retry = self.timing().retry;
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        if holding.session.is_none() {
            return;
        }
        let look_at = match hint {
            Hint::Seen(sight)
                if sight.is_of(holding.tenure) && !sight.held().is_some_and(|held| held.asked_to_resign) =>
            {
                return;
            }
            Hint::Eta(_) => return,
            Hint::Lagged => now.after(retry),
            Hint::Armed | Hint::Seen(_) | Hint::Changed | Hint::Vacant => now,
        };
        holding.renew_at = holding.renew_at.min(look_at);
    }

    pub(super) fn resign(&mut self, now: Moment, random: u64, out: &mut Actions) {
        if let Phase::Holding(Holding { stage: Stage::Settling | Stage::Leading, .. }) = self.phase {
            self.end_tenure(Ending::Resigned, now, random, out);
        }
    }

    /// Belief ends here: the deadline is retracted, work is told to stop, then the end is told (SAFETY 12).
    pub(super) fn end_tenure(&mut self, ending: Ending, now: Moment, random: u64, out: &mut Actions) {
        let grace = self.timing().grace;
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        match holding.stage {
            Stage::Winding | Stage::Lingering => {}
            Stage::Settling => {
                holding.ending = ending;
                if planted(Mutant::LostWithoutGained) {
                    out.push(Action::End(ending));
                }
                self.depart(now, random, out);
            }
            Stage::Leading => {
                holding.ending = ending;
                holding.stage = Stage::Winding;
                let by = if ending.leaves_record() { holding.term.expiry.min(now.after(grace)) } else { now };
                out.push(Action::SetDeadline(None));
                out.push(Action::StopWork { by });
                out.push(Action::End(ending));
                if !ending.is_voluntary() {
                    // What is still in flight can only extend a record that is withdrawn next; nobody waits for it.
                    self.call = None;
                    self.arm_kill(now);
                }
                if planted(Mutant::ReleasedBeforeWorkStopped) {
                    self.depart(now, random, out);
                }
            }
        }
    }

    /// SEEDS 26: a set time after the loss the process ends, unless its work has stopped.
    fn arm_kill(&mut self, now: Moment) {
        if !planted(Mutant::NeverKilled) {
            self.kill_at = self.timing().kill_after.map_or(Moment::NEVER, |span| now.after(span));
        }
    }

    pub(super) fn work_stopped(&mut self, now: Moment, random: u64, out: &mut Actions) {
        let Phase::Holding(holding) = &mut self.phase else {
            return;
        };
        if !planted(Mutant::KilledAlthoughStopped) {
            self.kill_at = Moment::NEVER;
        }
        let binds = holding.ending.honours_minimum_hold() && !planted(Mutant::MinimumHoldIgnored)
            || planted(Mutant::MinimumHoldForced);
        if binds && now < holding.until && !holding.gone {
            holding.stage = Stage::Lingering;
        } else {
            self.depart(now, random, out);
        }
    }

    /// The office is given up, if anything of it is left in the store, and the campaign goes on or ends.
    fn depart(&mut self, now: Moment, random: u64, out: &mut Actions) {
        let Phase::Holding(holding) = &self.phase else {
            return;
        };
        let announced = holding.stage != Stage::Settling;
        let (tenure, ending, gone) = (holding.tenure, holding.ending, holding.gone);
        let pause = match ending {
            Ending::Resigned | Ending::AskedToResign if !planted(Mutant::NoSitOut) => Pause::SitOut,
            _ => Pause::Backoff,
        };
        self.call = None;
        self.failures = 0;
        // One that led had settled before; one that did not vouches for nobody.
        (self.last_seen, self.seen_since) =
            if announced { (LastSeen::Tenure(tenure), Moment::ZERO) } else { (LastSeen::Foreign, now) };
        if !announced {
            self.tried_once(Finish::NotElected);
        }
        if ending.leaves_record() && !gone {
            self.clear(tenure, pause, announced, now, out);
        } else if announced && self.goal != Goal::Forever && !matches!(self.wish, Wish::Finish(_)) {
            self.finish(Finish::TenureEnded, out);
        } else {
            self.go_on(pause, now, random, out);
        }
    }

    /// Renewals are spread over the tenth before their time, so that many elections do not renew at one instant.
    fn next_renewal(&self, sent: Moment, random: u64) -> Moment {
        let interval = self.timing().renew.as_nanos() as u64;
        sent.after(Duration::from_nanos(interval - crate::backoff::fraction(interval / 10, random)))
    }

    /// When to look whether a record under a session is still ours, where no watch tells.
    fn next_look(&self, now: Moment) -> Moment {
        match self.plan.traits().vacancies {
            Vacancies::Pushed => Moment::NEVER,
            Vacancies::Polled => now.after(self.timing().renew),
        }
    }

    /// How much earlier than due a renewal may go out, so that one wake serves many. What confirms a settled win must be sent after
    /// settling, and one that failed has its pause.
    pub(super) fn renew_slack(&self) -> Duration {
        match &self.phase {
            Phase::Holding(holding) if holding.stage != Stage::Settling && self.failures == 0 => self.most_slack(),
            _ => Duration::ZERO,
        }
    }

    fn most_slack(&self) -> Duration {
        (self.timing().renew / 50).min(Duration::from_millis(50))
    }
}
