//! What happened in one world: the invariants that were checked, the facts that were met, and, where it is wanted, the tale.

use tenure::FencingToken;
use tenure::backend::TenureId;
use tenure::machine::{Alarm, Ending, Note};

use crate::invariants::{self, Assumptions, Invariant, Occurrence};
use crate::tale::Tale;

macro_rules! facts {
    ($($(#[$doc:meta])* $fact:ident,)*) => {
        /// Something that must happen in *some* worlds, or they prove nothing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fact {
            $($(#[$doc])* $fact,)*
        }

        impl Fact {
            /// All of them.
            pub const ALL: &[Fact] = &[$(Fact::$fact,)*];
        }
    };
}

facts! {
    /// Leadership moved from one node to another.
    LeaderChanged,
    /// A tenure ended because its renewals did not get through.
    Expired,
    /// A tenure ended because its session was gone.
    SessionLost,
    /// A tenure ended because its record was not its own any more.
    Deposed,
    /// A tenure ended because its holder wanted it so.
    Resigned,
    /// A renewal failed or was not answered.
    RenewalFailed,
    /// A silent holder was displaced.
    Displaced,
    /// A dead holder was displaced before its lease was over.
    DeadDisplaced,
    /// A message was lost.
    MessageLost,
    /// A renewal was written, and its answer was lost.
    RenewalLostAfterCommit,
    /// A bid won, and the answer was lost.
    WinLostAfterCommit,
    /// A message came twice.
    MessageDoubled,
    /// A node was stopped for a while.
    Paused,
    /// A node and the servers could not reach each other, or one could not reach the other.
    Partitioned,
    /// A node died.
    Crashed,
    /// A campaign was ended and begun again in the same process.
    Restarted,
    /// A node was unfit for a while.
    Unfit,
    /// A server started again.
    ServerRestarted,
    /// The record was removed by hand.
    Removed,
    /// All data was lost.
    Wiped,
    /// An older state was restored.
    Restored,
    /// A server's clock was set.
    ClockStepped,
    /// A node's clock stood still while it was paused.
    ClockStoodStill,
    /// A candidate refused to lead because tokens would go back, or the store was another.
    TokenRefused,
    /// A write of a former leader reached the resource.
    LateWrite,
    /// The fence refused a former leader.
    LateWriterRefused,
    /// The counter without a fence lost an update.
    UnfencedUpdateLost,
    /// An office was given up, and the store confirmed it.
    Withdrawn,
    /// A win was not announced before a delay was over.
    Settled,
    /// That delay was skipped after a release in due form.
    SettleSkipped,
    /// A foreign program led.
    ForeignLed,
    /// A foreign program believed longer than it may, next to a candidate that did nothing wrong.
    ForeignLingered,
    /// Others ran scripts between the two halves of a bid that won.
    BidInterleaved,
    /// A bid drew a number, and another drew before it could stand with it.
    BidOvertaken,
    /// A bid drew a number, and the connection broke before it could stand with it.
    BidCutShort,
    /// The same, and it was the server that died.
    ServerDiedInBid,
    /// A server died and lost what it had written and not answered yet.
    WritesLost,
    /// An office was won or given up, and nobody was told, because the connection broke or the server died.
    LandedUntold,
    /// A server did not know a script by its digest.
    ScriptUnknown,
    /// A server refused a script, and nothing was written before.
    ScriptRefused,
    /// A server refused a script of a call that had written already.
    RefusedAfterLanding,
    /// Two believed, or the store gave an office away too early, in a world in which nothing better can be had.
    Overlapped,
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
    invariants: Vec<Box<dyn Invariant>>,
    assumptions: Assumptions,
    violation: Option<Violation>,
    facts: [u32; Fact::ALL.len()],
    last_leader: Option<usize>,
    /// When records were last changed behind the store's back.
    tampered_at: Option<u64>,
    /// Words to the facts and figures, where somebody wants to read them.
    pub tale: Option<Tale>,
}

impl History {
    /// A story that has not begun.
    pub fn new(assumptions: Assumptions, tale: Option<Tale>) -> Self {
        History {
            invariants: invariants::all(),
            assumptions,
            violation: None,
            facts: [0; Fact::ALL.len()],
            last_leader: None,
            tampered_at: None,
            tale,
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

    pub(crate) fn note(&mut self, fact: Fact) {
        self.facts[fact as usize] += 1;
    }

    pub(crate) fn noted(&mut self, note: Note) {
        match note {
            Note::RenewalFailed => self.note(Fact::RenewalFailed),
            Note::Displacing => self.note(Fact::Displaced),
            Note::Released => self.note(Fact::Withdrawn),
            Note::Settling => self.note(Fact::Settled),
            Note::SettleSkipped => self.note(Fact::SettleSkipped),
            _ => {}
        }
    }

    pub(crate) fn alarmed(&mut self, alarm: Alarm) {
        if let Alarm::TokenWentBack { .. } | Alarm::StoreReplaced { .. } = alarm {
            self.note(Fact::TokenRefused);
        }
    }

    pub(crate) fn began(
        &mut self,
        time: u64,
        process: usize,
        tenure: TenureId,
        token: Option<FencingToken>,
        late: bool,
    ) {
        if self.last_leader.is_some_and(|last| last != process) {
            self.note(Fact::LeaderChanged);
        }
        self.last_leader = Some(process);
        let ordered = self.assumptions.clocks && self.assumptions.records;
        self.check(time, &Occurrence::Began { process, tenure, token, late, ordered });
    }

    pub(crate) fn ended(&mut self, time: u64, process: usize, ending: Ending) {
        match ending {
            Ending::Expired => self.note(Fact::Expired),
            Ending::SessionLost => self.note(Fact::SessionLost),
            Ending::Deposed => self.note(Fact::Deposed),
            ending if ending.is_voluntary() => self.note(Fact::Resigned),
            _ => {}
        }
        self.check(time, &Occurrence::Ended { process });
    }

    pub(crate) fn check(&mut self, time: u64, occurrence: &Occurrence<'_>) {
        let is_tampered = self.is_tampered(time);
        for invariant in &mut self.invariants {
            let Err(what) = invariant.check(occurrence) else { continue };
            if self.assumptions.excuse(invariant.name(), is_tampered) {
                let overlap = ["I1 ", "I4 "].iter().any(|number| invariant.name().starts_with(number));
                self.facts[Fact::Overlapped as usize] += u32::from(overlap);
            } else if self.violation.is_none() {
                self.violation = Some(Violation { invariant: invariant.name(), time, what });
            }
        }
    }

    /// Somebody asks the store again and again without a pause.
    pub(crate) fn flooded(&mut self, time: u64) {
        let what = "candidates ask the store without a pause".to_owned();
        self.violation.get_or_insert(Violation { invariant: "cost: no flood", time, what });
    }

    /// Records were changed behind the store's back; where it lost numbers that it had given, what its tokens are compared with begins again.
    pub(crate) fn tampered(&mut self, time: u64, numbers_lost: bool) {
        self.tampered_at = Some(time);
        self.check(time, &Occurrence::Tampered { numbers_lost });
    }

    /// Whether records were changed behind the store's back so lately that a belief of then may last.
    pub(crate) fn is_tampered(&self, time: u64) -> bool {
        self.tampered_at.is_some_and(|at| time < at + invariants::LONGEST_BELIEF)
    }

    /// Nothing tells the store's numbers from those that it lost: its data is gone, and the clock that they follow was set back.
    pub(crate) fn numbers_are_void(&mut self) {
        self.assumptions.numbers = false;
    }

    /// A line of the tale, if it is told.
    pub(crate) fn say(&mut self, time: u64, lane: usize, line: impl FnOnce() -> String) {
        if let Some(tale) = &mut self.tale {
            tale.say(time, lane, line());
        }
    }
}
