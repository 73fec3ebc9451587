//! One candidate's process: the production machine, the heart of its session, and what its program has been told.

use std::sync::Arc;

use tenure::Moment;
use tenure::backend::{AttemptId, Beat, SessionId, TenureId};
use tenure::driver::{Heart, Pulse};
use tenure::machine::{Machine, Plan, State, Term};

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The production machine.
    pub machine: Machine,
    /// Which of its lives it is in.
    pub life: u8,
    /// The process is stopped: it takes nothing in, and its clock goes on.
    pub paused: bool,
    /// When it asked to be woken.
    pub(super) wake: Moment,
    /// What it may count on, as published to the program.
    pub term: Option<Term>,
    /// The tenure that has begun and not ended.
    pub(super) reign: Option<TenureId>,
    /// Guarded work was told to have stopped by then, and has not yet.
    pub stop_by: Option<Moment>,
    /// The session that it keeps alive.
    pub(super) heart: Option<(u64, Heart)>,
}

impl Node {
    pub(super) fn new(plan: Arc<Plan>, life: u8) -> Self {
        Node {
            machine: Machine::new(plan),
            life,
            paused: false,
            wake: Moment::NEVER,
            term: None,
            reign: None,
            stop_by: None,
            heart: None,
        }
    }

    /// Whether its program may act as leader: until the deadline that was published and for the grace after it, or, once its work was told to stop,
    /// until it has (I1). A process that is stopped is asked the same: it may go on at any instant.
    pub fn believes(&self, now: Moment) -> bool {
        let grace = self.machine.plan().timing().grace();
        self.term.is_some_and(|term| now < term.deadline.after(grace)) || self.stop_by.is_some_and(|by| now < by)
    }

    /// Whether it leads and was not told otherwise.
    pub(super) fn leads(&self) -> bool {
        self.machine.state() == State::Leader
    }

    /// When it must run next.
    pub(super) fn due(&self) -> Moment {
        let beat = self.heart.as_ref().map_or(Moment::NEVER, |(_, heart)| heart.wake_at());
        self.wake.min(beat).min(self.stop_by.unwrap_or(Moment::NEVER))
    }

    /// A session that no machine depends on is left to expire, as the driver does (SAFETY 21).
    pub(super) fn attach(&mut self) {
        let session = self.machine.session();
        self.heart = self.heart.take().filter(|(id, _)| session == Some(SessionId(*id)));
    }

    /// Lets the heart beat, if there is one and it is due.
    pub(super) fn pulse(&mut self, now: Moment) -> Option<(u64, Pulse)> {
        let (session, heart) = self.heart.as_mut()?;
        Some((*session, heart.tick(now))).filter(|(_, pulse)| *pulse != Pulse::Rest)
    }

    /// Hears the answer to a heartbeat.
    pub(super) fn beaten(&mut self, session: u64, attempt: AttemptId, beat: Beat, now: Moment) -> Pulse {
        match &mut self.heart {
            Some((kept, heart)) if *kept == session => heart.answered(attempt, Some(beat), now),
            _ => Pulse::Rest,
        }
    }
}
