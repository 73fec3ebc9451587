//! One pure machine for one candidate in one election: `step(now, input, random) -> actions`.
//!
//! It has no clock, does no I/O, starts no task and allocates nothing; it alone decides deadlines, retries, observation waits,
//! displacement, settling, minimum hold, demotion and endings. The same code runs in production, in simulation and under a model checker.
//!
//! A step goes through four stages: what time alone has decided (`elapse`), what the input says (`hear`), which calls are due (`proceed`),
//! and when to wake next (`arm`). Timers are hints: every step reads `now` again, so an answer that comes after the deadline finds the
//! tenure already ended (SAFETY 9).

mod action;
mod clearing;
mod holding;
mod input;
mod memory;
mod plan;
mod seeking;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub use action::{Action, Actions, Alarm, Ending, Finish, Note, Op, State, Term};
pub use input::{Failure, Goal, Input, Outcome};
pub use memory::Memory;
pub use plan::{Plan, Reclaim};

use crate::backend::{Attempt, AttemptId, Hint, Renewal, SessionId, Sight, Standing, TenureId, Vacancies};
use crate::mutant::{Mutant, planted};
use crate::{FencingToken, Moment};
use clearing::{Clearing, Pause};
use holding::{Holding, Stage};
use seeking::Seeking;

/// One candidate in one election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    plan: Arc<Plan>,
    phase: Phase,
    call: Option<Call>,
    goal: Goal,
    wish: Wish,
    watch: WatchState,
    healthy: bool,
    /// Attempts in a row that did not win, or renewals in a row that failed.
    failures: u32,
    calls: u64,
    bids: u64,
    /// When to stop trying to be elected.
    give_up_at: Moment,
    /// When to end the process if guarded work has not stopped.
    kill_at: Moment,
    /// The wake that was asked for last.
    armed: Moment,
    last_seen: LastSeen,
    /// Since when, on this clock, that one is known to have been in office.
    seen_since: Moment,
    memory: Memory,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// Before the first attempt (splay), or sitting out after a resignation.
    Pausing {
        until: Moment,
    },
    Seeking(Seeking),
    Holding(Holding),
    Clearing(Clearing),
    /// Not fit to lead.
    Resting,
    Done,
}

/// What the user wants of the campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wish {
    Run,
    Rest,
    Finish(Finish),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WatchState {
    Off,
    Arming,
    Armed,
}

/// Whom this candidate last saw in office; a release counts only if it names that one (SAFETY 14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LastSeen {
    Nobody,
    Foreign,
    Tenure(TenureId),
}

/// The call in flight; there is one at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Call {
    attempt: Attempt,
    kind: CallKind,
    give_up_at: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CallKind {
    Stand,
    Renew,
    Withdraw,
    Inspect,
}

impl Machine {
    /// A machine that waits for [`Input::Start`].
    pub fn new(plan: Arc<Plan>) -> Self {
        let memory = plan.memory();
        Machine {
            plan,
            phase: Phase::Idle,
            call: None,
            goal: Goal::Forever,
            wish: Wish::Run,
            watch: WatchState::Off,
            healthy: true,
            failures: 0,
            calls: 0,
            bids: 0,
            give_up_at: Moment::NEVER,
            kill_at: Moment::NEVER,
            armed: Moment::NEVER,
            last_seen: LastSeen::Nobody,
            seen_since: Moment::ZERO,
            memory,
        }
    }

    /// Takes one input at `now` and says what to do. `now` is read after the input exists; `random` is a fresh random word.
    pub fn step(&mut self, now: Moment, input: Input, random: u64) -> Actions {
        let mut out = Actions::new();
        if matches!(input, Input::Wake) {
            // The wake that was asked for is spent, or came early: ask again.
            self.armed = Moment::NEVER;
        }
        let work_was_told_to_stop = matches!(&self.phase, Phase::Holding(holding) if holding.stage == Stage::Winding);
        let by_timer_only =
            planted(Mutant::DeadlineByTimerOnly) && !matches!(input, Input::Wake | Input::Answer { .. });
        if !planted(Mutant::RevivedTenure) && !by_timer_only {
            self.elapse(now, random, &mut out);
        }
        match input {
            // It cannot mean the work of a tenure that ended only now.
            Input::WorkStopped if !work_was_told_to_stop && !planted(Mutant::UnaskedWorkStop) => {}
            input => self.hear(now, input, random, &mut out),
        }
        if planted(Mutant::RevivedTenure) {
            self.elapse(now, random, &mut out);
        }
        self.proceed(now, &mut out);
        self.arm(&mut out);
        out
    }

    /// What this machine was told once.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What the next campaign of this candidate is to know.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Where the campaign stands.
    pub fn state(&self) -> State {
        match &self.phase {
            Phase::Idle | Phase::Done => State::Idle,
            Phase::Pausing { .. } | Phase::Seeking(_) => State::Candidate,
            Phase::Holding(holding) => holding.stage.state(),
            Phase::Clearing(_) => State::SteppingDown,
            Phase::Resting => State::Resting,
        }
    }

    /// Whether it waits for the answer to this call; any other answer is nobody's (and a win among them is withdrawn).
    pub fn awaits(&self, attempt: AttemptId) -> bool {
        self.call.is_some_and(|call| call.attempt.id == attempt)
    }

    /// Whether it holds this tenure or still bids for it; one that is being cleared away is neither.
    pub fn claims(&self, tenure: TenureId) -> bool {
        match &self.phase {
            Phase::Seeking(seeking) => seeking.tenure == tenure,
            Phase::Holding(holding) => holding.tenure == tenure,
            _ => false,
        }
    }

    /// Whether a call is under way.
    pub fn is_calling(&self) -> bool {
        self.call.is_some()
    }

    /// The session that covers its office or its place in the queue.
    pub fn session(&self) -> Option<SessionId> {
        match &self.phase {
            Phase::Seeking(seeking) => seeking.session,
            Phase::Holding(holding) => holding.session,
            _ => None,
        }
    }

    /// The tenure it bids for or holds.
    pub fn tenure(&self) -> Option<TenureId> {
        match &self.phase {
            Phase::Seeking(seeking) => Some(seeking.tenure),
            Phase::Holding(holding) => Some(holding.tenure),
            Phase::Clearing(clearing) => Some(clearing.tenure),
            _ => None,
        }
    }

    fn elapse(&mut self, now: Moment, random: u64, out: &mut Actions) {
        if now >= self.kill_at {
            self.kill_at = Moment::NEVER;
            out.push(Action::Kill);
        }
        if let Phase::Holding(_) = self.phase {
            self.elapse_holding(now, random, out);
        }
        if let Some(call) = self.call.filter(|call| now >= call.give_up_at) {
            self.call = None;
            self.unanswered(call, now, random, out);
        }
        if now >= self.give_up_at && !self.has_won() && !planted(Mutant::PatienceIgnored) {
            self.give_up_at = Moment::NEVER;
            self.leave(Wish::Finish(Finish::TimedOut), now, random, out);
        }
        match self.phase {
            Phase::Pausing { until } if now >= until => self.seek(now),
            Phase::Clearing(Clearing { until, .. }) if now >= until && self.call.is_none() => {
                self.cleared(false, now, random, out);
            }
            _ => {}
        }
    }

    fn hear(&mut self, now: Moment, input: Input, random: u64, out: &mut Actions) {
        match input {
            Input::Wake => {}
            Input::Start { goal, patience } => self.start(goal, patience, now, random, out),
            Input::Stop => self.leave(Wish::Finish(Finish::Stopped), now, random, out),
            Input::Resign => self.resign(now, random, out),
            Input::Health(healthy) => self.health(healthy, now, random, out),
            Input::WorkStopped => self.work_stopped(now, random, out),
            Input::Answer { attempt, outcome } => {
                // Also one that comes too late for its call says whom it saw.
                if let Outcome::Stood(Standing::Held(sight) | Standing::Queued(sight, _))
                | Outcome::Renewed(Renewal::Mismatch(sight))
                | Outcome::Inspected(sight) = &outcome
                {
                    self.remember(sight);
                }
                if let Some(call) =
                    self.call.filter(|call| call.attempt.id == attempt || planted(Mutant::StaleAnswerAccepted))
                {
                    self.call = None;
                    self.answered(call, outcome, now, random, out);
                }
            }
            Input::Hint(hint) => self.hinted(hint, now, random),
            Input::CoverMoved { from, ttl } => self.cover_moved(from, ttl, now, random, out),
            Input::CoverLost => self.cover_lost(now, random, out),
        }
    }

    fn start(&mut self, goal: Goal, patience: Option<Duration>, now: Moment, random: u64, out: &mut Actions) {
        if !matches!(self.phase, Phase::Idle | Phase::Done) {
            return;
        }
        self.goal = goal;
        self.wish = if self.healthy { Wish::Run } else { Wish::Rest };
        self.failures = 0;
        self.give_up_at = patience.map_or(Moment::NEVER, |patience| now.after(patience));
        let splay = crate::backoff::fraction(crate::backoff::nanos(self.timing().splay), random);
        match self.wish {
            Wish::Run if splay > 0 && !planted(Mutant::SplayIgnored) => {
                self.phase = Phase::Pausing { until: now.after(Duration::from_nanos(splay)) }
            }
            _ => self.go_on(Pause::None, now, random, out),
        }
    }

    /// Ends the campaign, or its candidacy for now, from wherever it stands.
    fn leave(&mut self, wish: Wish, now: Moment, random: u64, out: &mut Actions) {
        if let Wish::Finish(_) = self.wish {
            return;
        }
        self.wish = wish;
        match &mut self.phase {
            Phase::Done => {}
            Phase::Idle | Phase::Pausing { .. } | Phase::Resting => self.go_on(Pause::None, now, random, out),
            // A bid in flight may still win: its answer decides what there is to withdraw.
            Phase::Seeking(_) if self.call.is_some() => {}
            Phase::Seeking(seeking) if seeking.queued => self.clear_bid(Pause::None, now, out),
            Phase::Seeking(_) => self.go_on(Pause::None, now, random, out),
            Phase::Clearing(clearing) => {
                if let Wish::Finish(_) = wish {
                    clearing.hasten(now, &self.plan);
                }
            }
            Phase::Holding(_) => {
                let ending = if wish == Wish::Rest { Ending::Unhealthy } else { Ending::Stopped };
                self.end_tenure(ending, now, random, out);
            }
        }
    }

    fn health(&mut self, healthy: bool, now: Moment, random: u64, out: &mut Actions) {
        if healthy == self.healthy || planted(Mutant::HealthIgnored) {
            return;
        }
        self.healthy = healthy;
        if matches!(self.phase, Phase::Idle | Phase::Done) {
            // A campaign that starts asks for it.
            return;
        }
        match (healthy, self.wish) {
            (false, Wish::Run) => self.leave(Wish::Rest, now, random, out),
            (true, Wish::Rest) => {
                self.wish = Wish::Run;
                if self.phase == Phase::Resting {
                    self.go_on(Pause::None, now, random, out);
                }
            }
            _ => {}
        }
    }

    /// What comes after a bid or a tenure of which nothing is left in the store.
    fn go_on(&mut self, pause: Pause, now: Moment, random: u64, out: &mut Actions) {
        self.watch_off(out);
        match self.wish {
            Wish::Finish(finish) => self.finish(finish, out),
            Wish::Rest => {
                self.phase = Phase::Resting;
                out.push(Action::Emit(Note::Resting));
            }
            Wish::Run => match pause {
                Pause::None => self.seek(now),
                Pause::Backoff => {
                    let wait = self.timing().backoff.wait(self.failures.max(1), random);
                    self.phase = Phase::Pausing { until: now.after(wait) };
                }
                Pause::SitOut => self.phase = Phase::Pausing { until: now.after(self.timing().retry) },
            },
        }
    }

    fn finish(&mut self, finish: Finish, out: &mut Actions) {
        self.watch_off(out);
        self.phase = Phase::Done;
        self.call = None;
        self.give_up_at = Moment::NEVER;
        out.push(Action::Finish(finish));
    }

    fn proceed(&mut self, now: Moment, out: &mut Actions) {
        if self.call.is_some() {
            return;
        }
        match &self.phase {
            Phase::Seeking(seeking) if self.wish == Wish::Run && now >= seeking.next_try => self.stand(now, out),
            Phase::Holding(_) => self.proceed_holding(now, out),
            Phase::Clearing(clearing) if now >= clearing.next_try => {
                let tenure = clearing.tenure;
                self.order(CallKind::Withdraw, tenure, Op::Withdraw, now, Moment::NEVER, out);
            }
            _ => {}
        }
    }

    fn answered(&mut self, call: Call, outcome: Outcome, now: Moment, random: u64, out: &mut Actions) {
        match (call.kind, outcome) {
            (CallKind::Stand, Outcome::Stood(standing)) => self.stood(call.attempt.sent, standing, now, random, out),
            (CallKind::Renew, Outcome::Renewed(renewal)) => self.renewed(call.attempt.sent, renewal, now, random, out),
            (CallKind::Withdraw, Outcome::Withdrew) => self.cleared(true, now, random, out),
            (CallKind::Inspect, Outcome::Inspected(sight)) => {
                self.inspected(call.attempt.sent, &sight, now, random, out)
            }
            (_, Outcome::Failed(failure)) if !failure.indeterminate => self.failed(call, failure, now, random, out),
            // An answer that does not fit its call says nothing about what happened.
            _ => self.unanswered(call, now, random, out),
        }
    }

    /// The outcome of a call is not known (SAFETY 9). One that was given up has cost its time already, so the next step need not wait.
    fn unanswered(&mut self, call: Call, now: Moment, random: u64, out: &mut Actions) {
        let given_up = now >= call.give_up_at;
        match call.kind {
            CallKind::Stand => self.stand_unanswered(given_up, now, random, out),
            CallKind::Renew => self.renew_failed(true, given_up, now, random, out),
            CallKind::Inspect => self.renew_failed(false, given_up, now, random, out),
            CallKind::Withdraw => self.withdraw_failed(true, now, random, out),
        }
    }

    /// A call failed, and certainly wrote nothing.
    fn failed(&mut self, call: Call, failure: Failure, now: Moment, random: u64, out: &mut Actions) {
        match call.kind {
            CallKind::Stand => self.stand_failed(failure, now, random, out),
            CallKind::Renew | CallKind::Inspect => self.renew_failed(false, false, now, random, out),
            CallKind::Withdraw => self.withdraw_failed(failure.transient, now, random, out),
        }
    }

    /// SAFETY 18: a token seen in another's hand is remembered, whatever this candidate was doing when it saw it.
    fn remember(&mut self, sight: &Sight) {
        let Some(held) = sight.held().filter(|held| held.tenure.is_none() || held.tenure != self.tenure()) else {
            return;
        };
        let token = held.token.and_then(|native| FencingToken::based(self.plan.token_base(), native));
        if !planted(Mutant::SeenTokenForgotten) {
            self.memory.highest = self.memory.highest.max(token);
        }
    }

    fn hinted(&mut self, hint: Hint, now: Moment, random: u64) {
        if let Hint::Seen(sight) = &hint {
            self.remember(sight);
        }
        match hint {
            Hint::Armed if self.watch == WatchState::Arming => self.watch = WatchState::Armed,
            Hint::Lagged => self.watch = WatchState::Off,
            _ => {}
        }
        match self.phase {
            Phase::Seeking(_) => self.hinted_seeking(hint, now, random),
            Phase::Holding(_) => self.hinted_holding(&hint, now),
            _ => {}
        }
    }

    fn order(&mut self, kind: CallKind, tenure: TenureId, op: Op, now: Moment, no_later: Moment, out: &mut Actions) {
        self.calls += 1;
        let attempt = Attempt { id: AttemptId(self.calls), sent: now };
        let timeout = if planted(Mutant::NoSecondTry) { Duration::MAX } else { self.timing().call_timeout };
        let give_up_at = now.after(timeout).min(no_later);
        self.call = Some(Call { attempt, kind, give_up_at });
        out.push(Action::Call { attempt, tenure, op });
    }

    fn arm(&mut self, out: &mut Actions) {
        let phase = match &self.phase {
            Phase::Idle | Phase::Resting | Phase::Done => Moment::NEVER,
            Phase::Pausing { until } => *until,
            Phase::Seeking(_) if self.call.is_some() || self.wish != Wish::Run => Moment::NEVER,
            Phase::Seeking(seeking) => seeking.next_try,
            Phase::Clearing(_) if self.call.is_some() => Moment::NEVER,
            Phase::Clearing(clearing) => clearing.next_try.min(clearing.until),
            Phase::Holding(holding) => holding.next_wake(self.call.is_some()),
        };
        let call = self.call.map_or(Moment::NEVER, |call| call.give_up_at);
        let patience = if self.has_won() { Moment::NEVER } else { self.give_up_at };
        let at = phase.min(call).min(patience).min(self.kill_at);
        if at != self.armed && at != Moment::NEVER {
            let slack = match &self.phase {
                Phase::Holding(holding) if at == holding.renew_at => self.renew_slack(),
                _ => Duration::ZERO,
            };
            out.push(Action::WakeAt { at, slack });
        }
        self.armed = at;
    }

    fn watch_on(&mut self, out: &mut Actions) {
        if self.plan.traits().vacancies == Vacancies::Pushed && self.watch == WatchState::Off {
            self.watch = WatchState::Arming;
            out.push(Action::Watch(true));
        }
    }

    fn watch_off(&mut self, out: &mut Actions) {
        if self.watch != WatchState::Off {
            self.watch = WatchState::Off;
            out.push(Action::Watch(false));
        }
    }

    fn has_won(&self) -> bool {
        matches!(self.phase, Phase::Holding(Holding { stage: Stage::Leading | Stage::Winding | Stage::Lingering, .. }))
    }

    fn timing(&self) -> &crate::Timing {
        self.plan.timing()
    }
}
