//! What holds for every step of every machine, whatever it hears.

use super::*;

/// Follows the actions of one machine and panics on the first that breaks the contract of a machine with its driver.
#[derive(Clone, Debug, Default)]
pub(super) struct Watchdog {
    published: Option<Term>,
    leads: Option<TenureId>,
    finished: bool,
    tenures: Vec<TenureId>,
}

impl Watchdog {
    pub(super) fn check(&mut self, actions: &[Action], machine: &Machine, now: Moment, starts: bool) {
        self.finished &= !starts;
        assert!(!self.finished || actions.is_empty(), "after its end a campaign ordered {actions:?}");
        let mut calls = 0;
        for action in actions {
            match action {
                Action::SetDeadline(term) => {
                    if let Some(term) = term {
                        assert!(term.deadline <= term.expiry);
                    }
                    self.published = *term;
                }
                Action::Begin { tenure, .. } => {
                    // SEEDS 30, 32: gained and lost alternate; the deadline is published before and retracted after.
                    assert_eq!(self.leads, None, "two beginnings without an end: {actions:?}");
                    let term = self.published.expect("a deadline is published before a tenure begins");
                    assert!(now < term.deadline, "a tenure began at {now:?}, after its deadline {:?}", term.deadline);
                    assert!(!self.tenures.contains(tenure), "a tenure id was used twice");
                    self.tenures.push(*tenure);
                    self.leads = Some(*tenure);
                }
                Action::End(ending) => {
                    assert!(self.leads.is_some(), "an end without a beginning: {ending}");
                    assert_eq!(self.published, None, "the deadline is retracted before the end is told");
                    self.leads = None;
                }
                Action::Call { attempt, .. } => {
                    calls += 1;
                    assert_eq!(attempt.sent, now, "SAFETY 1: a call counts from the step that orders it");
                    assert!(machine.awaits(attempt.id), "a call was ordered and is not awaited: {actions:?}");
                }
                Action::Finish(_) => {
                    assert_eq!(self.leads, None, "SAFETY 12: the end of the campaign comes last");
                    self.finished = true;
                }
                _ => {}
            }
        }
        self.finished &= machine.state() == State::Idle;
        assert!(calls <= 1, "two calls in one step: {actions:?}");
        let finish_is_last = actions.iter().rev().skip(1).all(|action| !matches!(action, Action::Finish(_)));
        assert!(finish_is_last || starts, "something follows the end of a campaign: {actions:?}");
        match machine.state() {
            // SAFETY 7: belief never outlasts the deadline once the machine has been asked.
            State::Leader => assert!(self.leads.is_some() && self.published.is_some_and(|term| now < term.deadline)),
            _ => assert!(self.leads.is_none() && self.published.is_none(), "{:?} but believed", machine.state()),
        }
    }
}
