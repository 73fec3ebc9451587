//! What happened in one world: the invariants that were checked, the facts that were met, and the lines of its story.

use tenure::FencingToken;
use tenure::backend::TenureId;
use tenure::machine::{Alarm, Ending, Note};

use crate::invariants::{self, Invariant, Occurrence};
use crate::resource::Resource;
use crate::store::{Request, Truth};

/// Something that must happen in *some* worlds, or they prove nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// Leadership moved from one node to another.
    LeaderChanged,
    /// A tenure ended because its renewals did not get through.
    Expired,
    /// A tenure ended because its session was gone.
    SessionLost,
    /// A tenure ended because its record was not its own any more.
    Deposed,
    /// A renewal failed or was not answered.
    RenewalFailed,
    /// A silent holder was displaced.
    Displaced,
    /// A message was lost.
    MessageLost,
    /// A node was stopped for a while.
    Paused,
    /// A node died.
    Crashed,
    /// The record was removed by hand.
    Removed,
    /// A write of a former leader reached the resource.
    LateWrite,
    /// The fence refused a former leader.
    LateWriterRefused,
    /// The counter without a fence lost an update.
    UnfencedUpdateLost,
    /// A withdrawal found nothing to remove, or removed its own.
    Withdrawn,
    /// Two believed, or the store gave an office away too early, in a world in which nothing better can be had.
    Overlapped,
}

impl Fact {
    /// All of them.
    pub const ALL: [Fact; 15] = [
        Fact::LeaderChanged,
        Fact::Expired,
        Fact::SessionLost,
        Fact::Deposed,
        Fact::RenewalFailed,
        Fact::Displaced,
        Fact::MessageLost,
        Fact::Paused,
        Fact::Crashed,
        Fact::Removed,
        Fact::LateWrite,
        Fact::LateWriterRefused,
        Fact::UnfencedUpdateLost,
        Fact::Withdrawn,
        Fact::Overlapped,
    ];
}

/// What broke, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant.
    pub invariant: &'static str,
    /// True time in nanoseconds.
    pub time: u64,
    /// What was seen.
    pub what: String,
}

/// The story of one world.
pub struct History {
    /// The world lies beyond the assumptions: I1 and I4 may break, and nothing else.
    beyond: bool,
    invariants: Vec<Box<dyn Invariant>>,
    violation: Option<Violation>,
    facts: [u32; Fact::ALL.len()],
    last_leader: Option<usize>,
    lines: Vec<(u64, String)>,
}

impl History {
    /// A story that has not begun.
    pub fn new(beyond: bool) -> Self {
        History {
            beyond,
            invariants: invariants::all(),
            violation: None,
            facts: [0; Fact::ALL.len()],
            last_leader: None,
            lines: Vec::new(),
        }
    }

    /// Whether an invariant broke; the world ends there.
    pub fn is_violated(&self) -> bool {
        self.violation.is_some()
    }

    /// What broke.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// How often something happened.
    pub fn count(&self, fact: Fact) -> u32 {
        self.facts[fact as usize]
    }

    /// What happened, line by line, with true times in nanoseconds.
    pub fn lines(&self) -> &[(u64, String)] {
        &self.lines
    }

    pub(crate) fn note(&mut self, fact: Fact) {
        self.facts[fact as usize] += 1;
    }

    pub(crate) fn noted(&mut self, note: Note) {
        match note {
            Note::RenewalFailed => self.note(Fact::RenewalFailed),
            Note::Displacing => self.note(Fact::Displaced),
            Note::Released => self.note(Fact::Withdrawn),
            _ => {}
        }
    }

    pub(crate) fn alarmed(&mut self, _: Alarm) {}

    pub(crate) fn began(
        &mut self,
        time: u64,
        node: usize,
        tenure: TenureId,
        token: Option<FencingToken>,
        rival: Option<usize>,
        late: bool,
    ) {
        if self.last_leader.is_some_and(|last| last != node) {
            self.note(Fact::LeaderChanged);
        }
        self.last_leader = Some(node);
        self.lines.push((time, format!("node-{node} leads: tenure {tenure}, token {token:?}")));
        self.check(time, &Occurrence::Began { node, tenure, token, rival, late });
    }

    pub(crate) fn ended(&mut self, time: u64, node: usize, ending: Ending) {
        match ending {
            Ending::Expired => self.note(Fact::Expired),
            Ending::SessionLost => self.note(Fact::SessionLost),
            Ending::Deposed => self.note(Fact::Deposed),
            _ => {}
        }
        self.lines.push((time, format!("node-{node} leads no more: {ending}")));
        self.check(time, &Occurrence::Ended { node });
    }

    pub(crate) fn applied(&mut self, time: u64, request: &Request, before: Option<Truth>, after: Option<Truth>) {
        self.check(time, &Occurrence::Applied { request, before, after });
    }

    pub(crate) fn holds(&mut self, time: u64, truth: Option<Truth>, believers: &[TenureId]) {
        self.check(time, &Occurrence::Holds { truth, believers });
    }

    pub(crate) fn close(&mut self, time: u64, leads: bool, resource: &Resource) {
        self.check(time, &Occurrence::Closed { leads, lost: resource.lost });
    }

    fn check(&mut self, time: u64, occurrence: &Occurrence<'_>) {
        for invariant in &mut self.invariants {
            if let Err(what) = invariant.check(occurrence)
                && self.violation.is_none()
            {
                if self.beyond && ["I1 ", "I4 "].iter().any(|number| invariant.name().starts_with(number)) {
                    self.facts[Fact::Overlapped as usize] += 1;
                    continue;
                }
                self.violation = Some(Violation { invariant: invariant.name(), time, what });
            }
        }
    }
}
