//! What a guardian decides: when the tree is asked to stop, and when it is killed. Pure: it is told the time.

use std::time::Duration;

use tenure::Moment;
use tenure::mutant::{Mutant, planted};

use super::message::Term;

/// After how long the tree is killed again: what was forked meanwhile was not there to be killed.
const KILL_AGAIN: Duration = Duration::from_millis(5);
/// It doubles up to this: a process in uninterruptible sleep is not worth a busy loop.
const SELDOM: Duration = Duration::from_secs(1);

/// One child's time, from its start to the kill.
#[derive(Clone, Debug)]
pub(crate) struct Vigil {
    /// κ: how long before expiry the tree is killed (SAFETY 2c).
    margin: Duration,
    /// How long the tree has between being asked and being killed, where time alone does not decide it.
    grace: Duration,
    phase: Phase,
    overdue: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing runs.
    Idle,
    Running(Term),
    /// Asked to stop, and killed then.
    Stopping {
        kill_at: Moment,
    },
    Killing {
        again_at: Moment,
        then_after: Duration,
    },
}

/// What has to be done to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Ask all of it to stop.
    Ask,
    /// Kill all of it.
    Kill,
}

impl Vigil {
    pub(crate) fn new(margin: Duration, grace: Duration) -> Self {
        Vigil { margin, grace, phase: Phase::Idle, overdue: false }
    }

    /// A child may start within this term; `false` when its deadline has passed (I5).
    #[must_use]
    pub(crate) fn begin(&mut self, term: Term, now: Moment) -> bool {
        let in_time = now < term.deadline;
        if in_time {
            self.phase = Phase::Running(term);
        }
        in_time
    }

    /// A renewal bought another term. It revives nothing that was asked to stop already.
    pub(crate) fn extend(&mut self, term: Term) {
        if let Phase::Running(_) = self.phase {
            self.phase = Phase::Running(term);
        } else if planted(Mutant::LateExtensionRevives) && self.phase != Phase::Idle {
            self.phase = Phase::Running(term);
        }
    }

    /// The tree is to end now: its supervisor said so, or died, or the command itself ended and left others behind.
    #[must_use]
    pub(crate) fn end(&mut self, now: Moment, grace: Option<Duration>) -> Option<Act> {
        match self.phase {
            Phase::Idle | Phase::Killing { .. } => None,
            Phase::Running(term) => {
                let kill_at = now.after(grace.unwrap_or(self.grace)).min(self.last_call(term));
                self.phase = Phase::Stopping { kill_at };
                Some(Act::Ask)
            }
            Phase::Stopping { kill_at } => {
                // Asked already; it can only become shorter.
                let sooner = now.after(grace.unwrap_or(self.grace)).min(kill_at);
                self.phase = Phase::Stopping { kill_at: sooner };
                None
            }
        }
    }

    /// Time passed; what it decides.
    #[must_use]
    pub(crate) fn elapse(&mut self, now: Moment) -> Option<Act> {
        match self.phase {
            Phase::Running(term) if now >= term.deadline && !planted(Mutant::GuardianDeafToTime) => {
                self.overdue = true;
                let kill_at = self.last_call(term);
                if now >= kill_at {
                    return Some(self.kill(now));
                }
                self.phase = Phase::Stopping { kill_at };
                Some(Act::Ask)
            }
            Phase::Stopping { kill_at } if now >= kill_at => Some(self.kill(now)),
            Phase::Killing { again_at, .. } if now >= again_at => Some(self.kill(now)),
            _ => None,
        }
    }

    /// Nothing of the tree is left.
    pub(crate) fn over(&mut self) {
        self.phase = Phase::Idle;
    }

    /// Whether the deadline passed without word from the supervisor: it is frozen, or cannot reach the store.
    pub(crate) fn is_overdue(&self) -> bool {
        self.overdue
    }

    /// When to look at the clock again.
    pub(crate) fn wake_at(&self) -> Moment {
        match self.phase {
            Phase::Idle => Moment::NEVER,
            Phase::Running(term) => term.deadline,
            Phase::Stopping { kill_at } => kill_at,
            Phase::Killing { again_at, .. } => again_at,
        }
    }

    /// The last instant at which what is killed is gone before expiry.
    fn last_call(&self, term: Term) -> Moment {
        if planted(Mutant::KillMarginForgotten) { term.expiry } else { term.expiry.before(self.margin) }
    }

    fn kill(&mut self, now: Moment) -> Act {
        let wait = match self.phase {
            Phase::Killing { then_after, .. } => then_after,
            _ => KILL_AGAIN,
        };
        self.phase = Phase::Killing { again_at: now.after(wait), then_after: (wait * 2).min(SELDOM) };
        Act::Kill
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// Deadline 10, killed at 13, expiry 14; a grace of 3 s.
    fn running() -> Vigil {
        let mut vigil = Vigil::new(SECOND, SECOND * 3);
        assert!(vigil.begin(Term { deadline: at(10), expiry: at(14) }, at(0)));
        vigil
    }

    #[test]
    fn the_tree_is_asked_at_the_deadline_and_killed_before_expiry() {
        let mut vigil = running();
        assert_eq!((vigil.elapse(at(9)), vigil.wake_at()), (None, at(10)));
        assert!(!vigil.is_overdue());
        assert_eq!((vigil.elapse(at(10)), vigil.wake_at()), (Some(Act::Ask), at(13)));
        assert!(vigil.is_overdue());
        assert_eq!(vigil.elapse(at(12)), None);
        assert_eq!(vigil.elapse(at(13)), Some(Act::Kill));
        assert_eq!(vigil.elapse(at(14)), Some(Act::Kill), "until nothing is left");
        vigil.over();
        assert_eq!((vigil.elapse(at(15)), vigil.wake_at()), (None, Moment::NEVER));
    }

    #[test]
    fn a_guardian_that_wakes_late_kills_at_once() {
        assert_eq!(running().elapse(at(60)), Some(Act::Kill));
    }

    #[test]
    fn nothing_starts_after_the_deadline() {
        let mut vigil = Vigil::new(SECOND, SECOND);
        assert!(!vigil.begin(Term { deadline: at(10), expiry: at(14) }, at(10)));
        assert_eq!((vigil.elapse(at(20)), vigil.wake_at()), (None, Moment::NEVER));
    }

    #[test]
    fn an_extension_moves_the_deadline() {
        let mut vigil = running();
        vigil.extend(Term { deadline: at(20), expiry: at(24) });
        assert_eq!((vigil.elapse(at(19)), vigil.wake_at()), (None, at(20)));
        // SAFETY 2b: what the store grants now counts, also if it is less.
        vigil.extend(Term { deadline: at(15), expiry: at(19) });
        assert_eq!(vigil.elapse(at(19)), Some(Act::Kill));
    }

    #[test]
    fn an_extension_that_comes_late_revives_nothing() {
        let mut vigil = running();
        assert_eq!(vigil.elapse(at(10)), Some(Act::Ask));
        vigil.extend(Term { deadline: at(20), expiry: at(24) });
        assert_eq!(vigil.elapse(at(13)), Some(Act::Kill));
    }

    #[test]
    fn a_tree_that_is_told_to_end_has_the_grace_and_never_longer_than_expiry_leaves() {
        let mut vigil = running();
        assert_eq!((vigil.end(at(2), None), vigil.wake_at()), (Some(Act::Ask), at(5)));
        assert_eq!((vigil.end(at(3), None), vigil.wake_at()), (None, at(5)), "asking again gains nothing");
        assert_eq!((vigil.end(at(3), Some(SECOND)), vigil.wake_at()), (None, at(4)), "but it can be hurried");
        assert_eq!(vigil.elapse(at(4)), Some(Act::Kill));
        assert!(!vigil.is_overdue(), "it was told to");
        let mut vigil = running();
        assert_eq!((vigil.end(at(9), Some(SECOND * 60)), vigil.wake_at()), (Some(Act::Ask), at(13)));
        assert_eq!(Vigil::new(SECOND, SECOND).end(at(0), None), None, "nothing runs");
    }
}
