//! I11: the backend's history is linearizable: each call took effect at one instant between its start and its answer, in an order in which the one
//! record behaves as the contract says.
//!
//! Calls are replayed in the order of time. All states that the store may be in are kept; when a call is answered, those remain in which it took effect
//! with that very answer. If none remains, no order explains the answers. A call without an answer may take effect at any later
//! time, or never.

mod office;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tenure::Moment;
use tenure::backend::TenureId;

use self::office::{Office, Rules};
use super::Broken;
use crate::call::{Act, Call, Outcome};
use crate::record::Record;
use crate::subject::Breaks;

/// A call without an answer can take effect no later: no fault lasts as long, and nothing else holds a request up.
const LATEST: std::time::Duration = std::time::Duration::from_secs(30);

/// More states than this are a sign that the history cannot be judged, and that is a failure too.
const MOST: usize = 20_000;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let touched = || record.strikes.iter().filter(|strike| strike.breaks != Breaks::Nothing);
    let calls = record.lives.iter().flat_map(|life| &life.calls).chain(&record.looks);
    let calls = calls.filter(|call| call.outcome != Outcome::Failed);
    let (mut judged, mut events): (Vec<Call>, Vec<(Moment, u8, Event)>) = Default::default();
    for call in calls {
        let (number, end) = (judged.len(), call.end.filter(|_| is_answered(call)));
        let last = end.unwrap_or(call.start.after(LATEST));
        // What was asked while somebody changed the record may have met anything: it counts for what it may have written alone.
        let disturbed = touched().any(|strike| call.start <= strike.to && strike.from <= last);
        if disturbed && !matches!(call.act, Act::Stand { .. } | Act::Renew { .. } | Act::Withdraw { .. }) {
            continue;
        }
        events.push((call.start, 0, Event::Call(number)));
        let event = if disturbed || end.is_none() { Event::Forget(number) } else { Event::Answer(number) };
        events.push((last, 1, event));
        judged.push(if disturbed { Call { outcome: Outcome::Unknown, ..call.clone() } } else { call.clone() });
    }
    events.extend(touched().map(|strike| (strike.to, 2, Event::Touched)));
    // At one instant calls come before answers: the order that explains more.
    events.sort_by_key(|(at, order, _)| (*at, *order));
    let rules = Rules { lease: record.lease.as_nanos() as u64, contenders_judge: record.contenders_judge };
    let mut replay = Replay::new(rules, &judged);
    for (at, _, event) in events {
        replay.step(at, event).map_err(|what| (at, what))?;
    }
    Ok(())
}

fn is_answered(call: &Call) -> bool {
    call.end.is_some() && call.outcome != Outcome::Unknown
}

enum Event {
    Call(usize),
    Answer(usize),
    Forget(usize),
    /// Somebody changed the record behind the store's back, until now.
    Touched,
}

/// A state that the store may be in, and which of the calls under way have taken effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Possibility {
    office: Office,
    /// Of those that are answered later.
    done: BTreeSet<usize>,
    /// Of those that never are.
    used: BTreeSet<usize>,
}

/// Possibilities without those that are worse than another: the same office that lasts for longer at least, with more of the calls used up that are
/// never answered.
#[derive(Debug, Default)]
struct Seen(HashMap<(Office, BTreeSet<usize>), Vec<Rest>>);

/// How long the office lasts, and which calls were used up.
type Rest = (u64, BTreeSet<usize>);

impl Seen {
    /// Whether it is none of the worse ones.
    fn insert(&mut self, one: &Possibility) -> bool {
        let (office, until) = one.office.split();
        let better = self.0.entry((office, one.done.clone())).or_default();
        let worse = better.iter().any(|(other, used)| *other <= until && used.is_subset(&one.used));
        if !worse {
            better.push((until, one.used.clone()));
        }
        !worse
    }
}

struct Replay<'a> {
    rules: Rules,
    calls: &'a [Call],
    under_way: BTreeSet<usize>,
    /// Those of whose bids no answer is known.
    unanswered: BTreeSet<TenureId>,
    possible: HashSet<Possibility>,
}

impl<'a> Replay<'a> {
    fn new(rules: Rules, calls: &'a [Call]) -> Self {
        let possible =
            HashSet::from([Possibility { office: Office::default(), done: BTreeSet::new(), used: BTreeSet::new() }]);
        Replay { rules, calls, under_way: BTreeSet::new(), unanswered: BTreeSet::new(), possible }
    }

    fn step(&mut self, now: Moment, event: Event) -> Result<(), String> {
        match event {
            Event::Call(number) => {
                self.under_way.insert(number);
                let call = &self.calls[number];
                if let (Act::Stand { tenure, .. }, false) = (&call.act, is_answered(call)) {
                    self.unanswered.insert(*tenure);
                }
                Ok(())
            }
            Event::Touched => {
                self.touched();
                Ok(())
            }
            Event::Forget(number) => {
                self.forget(number);
                Ok(())
            }
            Event::Answer(number) => self.answer(now, number),
        }
    }

    fn forget(&mut self, number: usize) {
        self.under_way.remove(&number);
        self.possible = self
            .possible
            .drain()
            .map(|mut one| {
                one.done.remove(&number);
                one.used.remove(&number);
                one
            })
            .collect();
    }

    /// The record may be anything, and whoever bade unanswered may wait. Nothing allows more.
    fn touched(&mut self) {
        let touch = |one: Possibility| Possibility { office: one.office.touched(&self.unanswered), ..one };
        self.possible = self.possible.drain().map(touch).collect();
    }

    /// Lets everything take effect at once that changes nothing and could change nothing later: whatever is possible without it is possible with it.
    /// Otherwise each order of looks would be a possibility of its own.
    fn settle(&self, now: Moment, one: &mut Possibility) {
        for &number in &self.under_way {
            let call = &self.calls[number];
            let idle = match (&call.act, &call.outcome) {
                (_, Outcome::Saw(_) | Outcome::Beaten { .. }) => true,
                // It could remove only what somebody may yet write.
                (Act::Withdraw { tenure }, Outcome::Done) => !self.may_stand(*tenure, one),
                _ => false,
            };
            if idle && !one.done.contains(&number) && one.office.after(call, now, self.rules) == [one.office.clone()] {
                one.done.insert(number);
            }
        }
    }

    /// Whether a bid for this tenure is under way and may still take effect.
    fn may_stand(&self, tenure: TenureId, one: &Possibility) -> bool {
        let open = self.under_way.iter().filter(|call| !one.done.contains(call) && !one.used.contains(call));
        open.into_iter()
            .any(|call| matches!(&self.calls[*call].act, Act::Stand { tenure: other, .. } if *other == tenure))
    }

    /// The calls that may take effect next. Of equal ones that are never answered the first is as good as any.
    fn next(&self, one: &Possibility) -> Vec<usize> {
        let mut next: Vec<usize> = Vec::new();
        for &number in self.under_way.iter().filter(|call| !one.done.contains(call) && !one.used.contains(call)) {
            let call = &self.calls[number];
            let again = |other: &usize| !is_answered(&self.calls[*other]) && self.calls[*other].act == call.act;
            if is_answered(call) || !next.iter().any(again) {
                next.push(number);
            }
        }
        next
    }

    /// Keeps what explains this answer. All that takes effect before it does so by now.
    fn answer(&mut self, now: Moment, number: usize) -> Result<(), String> {
        let (mut found, mut seen, mut steps) = (HashSet::new(), Seen::default(), 0);
        // What uses up least comes first, so that what is worse is known as such.
        let mut open: BTreeMap<usize, Vec<Possibility>> = BTreeMap::new();
        for one in &self.possible {
            open.entry(one.used.len()).or_default().push(one.clone());
        }
        while let Some(mut next) = open.first_entry() {
            let Some(mut one) = next.get_mut().pop() else {
                next.remove();
                continue;
            };
            self.settle(now, &mut one);
            if !seen.insert(&one) {
                continue;
            }
            steps += 1;
            if steps > MOST {
                return Err(format!("more than {MOST} states are possible: this history cannot be judged"));
            }
            if one.done.contains(&number) {
                found.insert(one);
                continue;
            }
            for call in self.next(&one) {
                for office in one.office.after(&self.calls[call], now, self.rules) {
                    let mut next = Possibility { office, ..one.clone() };
                    match (is_answered(&self.calls[call]), &self.calls[call].act) {
                        (true, _) => next.done.insert(call),
                        // It takes away what it finds, now or later: whether it has done so already need not be told apart.
                        (false, Act::Withdraw { .. }) => false,
                        (false, _) => next.used.insert(call),
                    };
                    open.entry(next.used.len()).or_default().push(next);
                }
            }
        }
        if found.is_empty() {
            return Err(self.explain(number));
        }
        self.possible = found;
        self.forget(number);
        Ok(())
    }

    fn explain(&self, number: usize) -> String {
        let call = &self.calls[number];
        let states: Vec<_> = self.possible.iter().take(4).map(|one| format!("{:?}", one.office)).collect();
        let others =
            self.under_way.iter().filter(|other| **other != number).map(|other| self.calls[*other].act.to_string());
        format!(
            "no order of calls explains `{}` -> `{}`; the office may have been {}; under way were [{}]",
            call.act,
            call.outcome,
            states.join(" or "),
            others.collect::<Vec<_>>().join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::invariants::tests::{id, record, strike};
    use crate::subject::Breaks;

    fn explains(first: &str, second: &str) -> bool {
        check(&record(&[(0, first), (1, second)], "")).is_ok()
    }

    fn won(number: u64, tenure: u64, start: u64, end: u64) -> String {
        format!("call {number} {start} stand {} -\nanswer {number} {end} granted v{start} {start} 1000\n", id(tenure))
    }

    #[test]
    fn two_wins_within_one_lease_are_explained_by_nothing() {
        assert!(!explains(&won(0, 1, 100, 110), &won(0, 2, 500, 510)));
        assert!(explains(&won(0, 1, 100, 110), &won(0, 2, 1100, 1110)), "the first may have run out");
        let given_up = won(0, 1, 100, 110) + &format!("call 1 200 withdraw {}\nanswer 1 210 done\n", id(1));
        assert!(explains(&given_up, &won(0, 2, 500, 510)));
        let unanswered = won(0, 1, 100, 110) + &format!("call 1 200 withdraw {}\n", id(1));
        assert!(explains(&unanswered, &won(0, 2, 500, 510)), "it may have taken effect");
        let too_late = won(0, 1, 100, 110) + &format!("call 1 600 withdraw {}\nanswer 1 610 done\n", id(1));
        assert!(!explains(&too_late, &won(0, 2, 500, 510)));
    }

    #[test]
    fn a_renewal_without_its_condition_is_found() {
        let renewed = |start: u64, version: &str| {
            won(0, 1, 100, 110)
                + &format!("call 1 {start} renew {} {version}\nanswer 1 {} granted v9 100 1000\n", id(1), start + 10)
        };
        assert!(explains(&renewed(200, "v100"), ""));
        assert!(!explains(&renewed(200, "v7"), ""), "another version");
        assert!(!explains(&renewed(1500, "v100"), &won(0, 2, 1200, 1210)), "another holds it");
    }

    #[test]
    fn a_stale_read_is_found() {
        let look = |start: u64, saw: &str| format!("call 0 {start} inspect\nanswer 0 {} saw {saw}\n", start + 10);
        let held = format!("{} v100 100", id(1));
        assert!(explains(&won(0, 1, 100, 110), &look(200, &held)));
        assert!(!explains(&won(0, 1, 100, 110), &look(200, "vacant")));
        assert!(explains(&won(0, 1, 100, 300), &look(200, "vacant")), "it was under way");
        assert!(explains(&won(0, 1, 100, 110), &look(1200, "vacant")), "it may have run out");
        assert!(!explains(&won(0, 1, 100, 110), &look(50, &held)), "nobody had won yet");
    }

    #[test]
    fn a_renewal_whose_answer_was_lost_may_have_landed_or_not() {
        let lost = won(0, 1, 100, 110) + &format!("call 1 200 renew {} v100\nanswer 1 250 unknown\n", id(1));
        let look = |start: u64, saw: String| format!("call 0 {start} inspect\nanswer 0 {} saw {saw}\n", start + 10);
        assert!(explains(&lost, &look(300, format!("{} v100 100", id(1)))));
        assert!(explains(&lost, &look(300, format!("{} v5 100", id(1)))));
        assert!(!explains(&lost, &look(300, format!("{} v5 101", id(1)))), "the token of a tenure stays");
        assert!(!explains(&lost, &look(150, format!("{} v5 100", id(1)))), "before it was sent");
    }

    #[test]
    fn a_bid_that_was_never_answered_displaces_nobody() {
        let lost =
            format!("call 0 50 stand {0} -\nanswer 0 60 unknown\ncall 1 70 withdraw {0}\nanswer 1 80 unknown\n", id(3));
        let mut run = record(&[(0, &won(0, 1, 100, 110)), (1, &won(0, 2, 500, 510)), (2, &lost)], "");
        assert!(check(&run).is_err(), "it may take effect late, and not over a record that lives");
        run.lives.remove(1);
        assert!(check(&run).is_ok());
    }

    #[test]
    fn a_record_that_was_touched_may_be_anything() {
        let mut run = record(&[(0, &won(0, 1, 100, 110)), (1, &won(0, 2, 500, 510))], "");
        assert!(check(&run).is_err());
        run.strikes.push(strike("key deleted", None, 300, 310, Breaks::Record));
        assert!(check(&run).is_ok());
        run.strikes[0] = strike("key deleted", None, 600, 610, Breaks::Record);
        assert!(check(&run).is_err(), "that was later");
    }

    #[test]
    fn who_waits_in_a_queue_comes_into_office_by_itself() {
        let queued = format!("call 0 200 stand {} -\nanswer 0 210 queued {} v100 100\n", id(2), id(1));
        let after = format!("call 1 600 inspect\nanswer 1 610 saw {} v200 200\n", id(2));
        let given_up = won(0, 1, 100, 110) + &format!("call 1 500 withdraw {}\nanswer 1 510 done\n", id(1));
        assert!(explains(&given_up, &(queued.clone() + &after)));
        assert!(
            !explains(&given_up, &after.replace("call 1", "call 0").replace("answer 1", "answer 0")),
            "nobody waited"
        );
    }
}
