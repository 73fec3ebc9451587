//! What the loop decides, as a pure state machine: no clock, no I/O, no allocation.

use std::time::Duration;

use super::{Failure, Outcome, Policy};

/// One of the three states of `elector`: of the election, as a [`Source`](super::Source) tells
/// it, and of this process, as a [`Reconciler`] keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// The office is ours; the leader's work has begun.
    Leader,
    /// The office is not ours; there is no leader's work.
    NotLeader,
    /// Something went wrong: the office is to be given up, or has been.
    Error,
}

/// One of the methods of a [`Handler`](super::Handler).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hook {
    /// [`Handler::begin`](super::Handler::begin)
    Begin,
    /// [`Handler::end`](super::Handler::end)
    End,
    /// [`Handler::error`](super::Handler::error)
    Error,
}

/// What a [`Reconciler`] is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// The source said this.
    Told(State),
    /// The handler that was run succeeded.
    Succeeded(Hook),
    /// The handler that was run failed.
    Failed(Hook),
    /// The office has been given up.
    Relinquished,
    /// The office was to be given up, but it was not done within
    /// [`Policy::release_timeout`]; it is no longer renewed.
    ReleaseTimedOut,
    /// The run is to stop.
    Shutdown,
    /// The source ended or failed: the run is to stop.
    SourceClosed,
    /// [`Reconciler::wake_at`] has come. Too early does no harm.
    Wake,
}

/// What a [`Reconciler`] wants done. A handler that still runs is to be dropped first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Run this handler, and tell how it went.
    Run(Hook),
    /// Give the office up and stop running for it, and tell when that is done.
    Relinquish,
    /// Run for the office again.
    Resume,
    /// The run is over.
    Exit(Result<Outcome, Failure>),
}

/// The reconciliation loop without its surroundings.
///
/// After every input the caller carries out the action, if there is one, and sees to it that
/// [`Input::Wake`] is given at [`wake_at`](Self::wake_at). Time is nanoseconds since any origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reconciler {
    policy: Policy,
    state: State,
    target: Target,
    phase: Phase,
    stop: Option<Stop>,
}

impl Reconciler {
    /// In the first state: not leader, nothing heard yet.
    pub fn new(policy: Policy) -> Self {
        Self { policy, state: State::NotLeader, target: Target::NotLeader, phase: Phase::Settled, stop: None }
    }

    /// Takes one input and says what is to be done about it.
    pub fn step(&mut self, now_nanos: u64, input: Input) -> Option<Action> {
        match (input, self.phase) {
            (_, Phase::Exited) => None,
            (Input::Told(told), _) => self.told(now_nanos, told),
            (Input::Shutdown, _) => self.stop(now_nanos, Outcome::ShutDown),
            (Input::SourceClosed, _) => self.stop(now_nanos, Outcome::SourceEnded),
            (Input::Wake, _) => self.wake(now_nanos),
            (Input::Succeeded(Hook::Begin), Phase::Beginning) => {
                self.state = State::Leader;
                self.reconcile(now_nanos)
            }
            (Input::Failed(Hook::Begin), Phase::Beginning) => self.report(now_nanos),
            (Input::Succeeded(Hook::End), Phase::Ending { .. }) => {
                self.state = State::NotLeader;
                self.reconcile(now_nanos)
            }
            (Input::Failed(Hook::End), Phase::Ending { attempt }) => self.end_failed(now_nanos, attempt),
            // How it went changes nothing: the office is given up all the same.
            (Input::Succeeded(Hook::Error) | Input::Failed(Hook::Error), Phase::Reporting { .. }) => self.relinquish(),
            (Input::Relinquished, Phase::Relinquishing) => match self.stop {
                Some(stop) => self.exit(Ok(stop.outcome)),
                None => self.sit_out(now_nanos),
            },
            (Input::ReleaseTimedOut, Phase::Relinquishing) => match self.stop {
                Some(_) => self.exit(Err(Failure::ReleaseTimedOut)),
                None => self.sit_out(now_nanos),
            },
            _ => None,
        }
    }

    /// What this process is. It changes only after a handler succeeded or an error happened.
    pub fn state(&self) -> State {
        self.state
    }

    /// When [`Input::Wake`] is to be given, if at all.
    pub fn wake_at(&self) -> Option<u64> {
        let stop_by = self.stop.map(|stop| stop.by);
        match self.phase {
            Phase::PausedBeforeEnd { until, .. } | Phase::SittingOut { until } => Some(until),
            Phase::Reporting { until } => Some(stop_by.map_or(until, |by| by.min(until))),
            Phase::Beginning | Phase::Ending { .. } => stop_by,
            Phase::Settled | Phase::Relinquishing | Phase::Exited => None,
        }
    }

    /// Whether the run has been told to stop.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_some()
    }

    fn told(&mut self, now: u64, told: State) -> Option<Action> {
        match self.phase {
            Phase::Settled => {
                self.target = self.target.after(told);
                self.reconcile(now)
            }
            Phase::Beginning | Phase::Ending { .. } | Phase::PausedBeforeEnd { .. } => {
                self.target = self.target.after(told);
                None
            }
            // The office is being given up or has been: what is still said of it is stale, and a
            // late `Leader` believed after the pause would begin without the office.
            Phase::Reporting { .. } | Phase::Relinquishing | Phase::SittingOut { .. } | Phase::Exited => None,
        }
    }

    fn stop(&mut self, now: u64, outcome: Outcome) -> Option<Action> {
        if self.stop.is_some() {
            return None;
        }
        let by = after(now, self.policy.shutdown_timeout());
        self.stop = Some(Stop { outcome, by });
        match self.phase {
            Phase::Settled => self.reconcile(now),
            Phase::PausedBeforeEnd { attempt, .. } => self.end(attempt),
            Phase::SittingOut { .. } => self.exit(Ok(outcome)),
            Phase::Beginning
            | Phase::Ending { .. }
            | Phase::Reporting { .. }
            | Phase::Relinquishing
            | Phase::Exited => None,
        }
    }

    fn wake(&mut self, now: u64) -> Option<Action> {
        if self.wake_at().is_none_or(|at| now < at) {
            return None;
        }
        match self.phase {
            Phase::PausedBeforeEnd { attempt, .. } => self.end(attempt),
            Phase::Reporting { .. } => self.relinquish(),
            Phase::SittingOut { .. } => {
                self.state = State::NotLeader;
                self.target = Target::NotLeader;
                self.phase = Phase::Settled;
                Some(Action::Resume)
            }
            Phase::Beginning | Phase::Ending { .. } => self.exit(Err(Failure::StopTimedOut)),
            Phase::Settled | Phase::Relinquishing | Phase::Exited => None,
        }
    }

    /// Takes the next step from what this process is to what it shall be. No handler runs.
    fn reconcile(&mut self, now: u64) -> Option<Action> {
        match (self.state, self.target) {
            (State::Leader, Target::Error) => self.end(1),
            (State::Leader, _) if self.stop.is_some() => self.end(0),
            (State::Leader, Target::NotLeader | Target::LeaderAnew) => self.end(0),
            (State::NotLeader, Target::Error) => self.report(now),
            (State::NotLeader, _) if self.stop.is_some() => self.relinquish(),
            (State::NotLeader, Target::LeaderAnew) => self.begin(),
            _ => {
                self.phase = Phase::Settled;
                None
            }
        }
    }

    fn begin(&mut self) -> Option<Action> {
        self.target = Target::Leader;
        self.phase = Phase::Beginning;
        Some(Action::Run(Hook::Begin))
    }

    fn end(&mut self, attempt: u32) -> Option<Action> {
        self.phase = Phase::Ending { attempt };
        Some(Action::Run(Hook::End))
    }

    fn end_failed(&mut self, now: u64, attempt: u32) -> Option<Action> {
        if self.stop.is_some() {
            return self.exit(Err(Failure::EndFailed));
        }
        if attempt >= self.policy.end_attempts() {
            return self.exit(Err(Failure::EndKeptFailing));
        }
        // The office is not given up here: nobody else may lead while the work may still run.
        self.target = Target::Error;
        self.phase =
            Phase::PausedBeforeEnd { attempt: attempt + 1, until: after(now, self.policy.end_retry_interval()) };
        None
    }

    fn report(&mut self, now: u64) -> Option<Action> {
        self.state = State::Error;
        let until = after(now, self.policy.error_timeout());
        self.phase = Phase::Reporting { until };
        Some(Action::Run(Hook::Error))
    }

    fn relinquish(&mut self) -> Option<Action> {
        self.phase = Phase::Relinquishing;
        Some(Action::Relinquish)
    }

    fn sit_out(&mut self, now: u64) -> Option<Action> {
        let until = after(now, self.policy.error_timeout());
        self.phase = Phase::SittingOut { until };
        None
    }

    fn exit(&mut self, how: Result<Outcome, Failure>) -> Option<Action> {
        self.phase = Phase::Exited;
        Some(Action::Exit(how))
    }
}

/// What this process shall become. Messages are folded into it, so that any number of them can come
/// while a handler runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    NotLeader,
    /// In the leadership that `begin` was run for.
    Leader,
    /// In a leadership that `begin` has not been run for.
    LeaderAnew,
    /// Stays until the error has been dealt with: a `Leader` after it does not undo it.
    Error,
}

impl Target {
    fn after(self, told: State) -> Self {
        match (self, told) {
            (Self::Error, _) | (_, State::Error) => Self::Error,
            (_, State::NotLeader) => Self::NotLeader,
            (Self::NotLeader, State::Leader) => Self::LeaderAnew,
            (same, State::Leader) => same,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    /// Nothing runs and nothing is waited for but the source.
    Settled,
    Beginning,
    /// Attempts are counted from 1 once there is an error; 0 is the `end` of a plain loss.
    Ending {
        attempt: u32,
    },
    PausedBeforeEnd {
        attempt: u32,
        until: u64,
    },
    /// The error handler runs.
    Reporting {
        until: u64,
    },
    Relinquishing,
    SittingOut {
        until: u64,
    },
    Exited,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Stop {
    outcome: Outcome,
    /// When handlers have had their time.
    by: u64,
}

/// A time too long to be counted never comes.
fn after(now: u64, time: Duration) -> u64 {
    now.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
