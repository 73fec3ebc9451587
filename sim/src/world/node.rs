//! One node: a process with the real driver core in it, its clock, its calls and its work.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tenure::backend::{AttemptId, Beat, SessionId, TenureId};
use tenure::driver::{Called, Core, Key, Onlooker};
use tenure::machine::{Outcome, Term};
use tenure::{Backend, FencingToken, Moment, Timing};

use super::Event;
use crate::client::Wire;
use crate::clock::DriftingClock;
use crate::invariants::Purpose;

/// How a call of the backend ended.
pub(super) enum Done {
    Answered(Outcome),
    Beaten(Option<Beat>),
    Withdrawn,
}

/// Who waits for a call.
#[derive(Clone, Debug)]
pub(super) enum Caller {
    Campaign(Box<Called>),
    Heart(SessionId, AttemptId),
    Nobody,
}

/// A call under way.
pub(super) struct Running {
    pub(super) future: Pin<Box<dyn Future<Output = Done>>>,
    pub(super) caller: Caller,
    pub(super) purpose: Purpose,
}

pub(super) struct Node {
    pub(super) clock: DriftingClock,
    pub(super) core: Core<()>,
    pub(super) key: Key,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) wire: Wire,
    pub(super) timing: Arc<Timing>,
    pub(super) calls: Vec<Option<Running>>,
    /// Which call waits for which answer.
    pub(super) asked: Vec<(u64, usize)>,
    /// This life of the process; what was meant for an earlier one is lost.
    pub(super) life: u32,
    pub(super) up: bool,
    /// Since when it is frozen, and whether its clock stands still meanwhile.
    pub(super) frozen: Option<(u64, bool)>,
    /// What came while it was frozen.
    pub(super) inbox: Vec<Event>,
    /// The longest ordinary way of its messages.
    pub(super) latency: u64,
    /// Until when nothing of it reaches a server, and nothing of a server reaches it.
    pub(super) cut: (u64, u64),
    /// When its timer is set for.
    pub(super) wake: u64,
    pub(super) watch: u32,
    pub(super) watching: bool,
    pub(super) term: Option<Term>,
    /// The last deadline that was published.
    pub(super) deadline: Moment,
    /// When its work was told to stop by; never, while it was not.
    pub(super) stop_by: Moment,
    /// When work that was told to stop will have.
    pub(super) stops: Moment,
    pub(super) working: bool,
    pub(super) token: Option<FencingToken>,
    pub(super) onlooker: Onlooker,
    /// It refused to lead, because the store lost its numbers.
    pub(super) refuses: bool,
    /// Until when work of a process that died lingers, in true time, and whose.
    pub(super) remains: (u64, Option<TenureId>),
}

impl Node {
    /// Whether its program would act as leader at this instant: by its own clock, before its deadline, or stopping its work in time; or
    /// whether work of its former life still does.
    pub(super) fn believes(&self, time: u64) -> bool {
        time < self.remains.0 || self.leads(time)
    }

    /// The same without what remains of a former life.
    pub(super) fn leads(&self, time: u64) -> bool {
        let now = self.clock.local(time);
        let leads = self.term.is_some_and(|term| now < term.deadline);
        let winds_down = self.working && self.stop_by != Moment::NEVER && now < self.stops;
        self.up && (leads || winds_down)
    }

    /// Whose tenure it believes in.
    pub(super) fn tenure(&self, time: u64) -> Option<TenureId> {
        if time < self.remains.0 { self.remains.1 } else { self.core.machine(self.key)?.tenure() }
    }

    /// Takes a call in; the number names it.
    pub(super) fn add(&mut self, running: Running) -> usize {
        match self.calls.iter().position(Option::is_none) {
            Some(free) => {
                self.calls[free] = Some(running);
                free
            }
            None => {
                self.calls.push(Some(running));
                self.calls.len() - 1
            }
        }
    }
}
