//! What a machine owes, followed over a whole run: belief only for what was answered, withdrawal of whatever may be in the store, and a
//! wake for whatever waits.

use super::super::Phase;
use super::anything::{Move, Reply, Wait, What, millis, outcome};
use super::*;

/// A rig under random moves, and the accounts that are kept of it.
#[derive(Clone)]
pub(super) struct Audit {
    pub(super) rig: Rig,
    /// Bids and tenures of which something may be in the store, and for which no withdrawal was ordered.
    open: Vec<TenureId>,
    /// Those of them that wait in a queue.
    queued: Vec<TenureId>,
    /// The latest that may be believed, after the last answer that bought anything.
    bought: Option<Moment>,
    bought_from: Moment,
    /// Leadership ended, and work was not said to have stopped.
    pub(super) winding: bool,
    pub(super) finished: bool,
    serial: u64,
    old_calls: Vec<Ordered>,
}

impl Audit {
    pub(super) fn new(setup: &Setup) -> Self {
        Audit {
            rig: setup.rig(),
            open: Vec::new(),
            queued: Vec::new(),
            bought: None,
            bought_from: Moment::ZERO,
            winding: false,
            finished: true,
            serial: 1,
            old_calls: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, step: &Move) {
        let wake = self.rig.wake.map_or(self.rig.now, |(at, _)| at);
        let now = match step.wait {
            Wait::None => self.rig.now,
            Wait::ToTheWake => wake.max(self.rig.now),
            Wait::JustBeforeTheWake => wake.before(NANO).max(self.rig.now),
            Wait::Millis(span) => self.rig.now.after(millis(span)),
        };
        self.rig.random = step.random;
        self.serial += 1;
        match &step.what {
            What::Input(input) => self.input(now, input.clone()),
            What::Answer(reply) => self.answer(now, *reply),
            What::Late(reply) => {
                if let Some(call) = self.old_calls.last().filter(|call| !self.rig.machine.awaits(call.attempt.id)) {
                    let attempt = call.attempt.id;
                    let outcome = outcome(*reply, call, self.serial, now);
                    self.step(now, Input::Answer { attempt, outcome });
                }
            }
            What::Beat { ago, ttl } => {
                let from = now.before(millis(*ago));
                if self.rig.machine.session().is_some() && from > self.bought_from {
                    self.buy(from, millis(*ttl));
                }
                self.input(now, Input::CoverMoved { from, ttl: millis(*ttl) });
            }
        }
    }

    pub(super) fn input(&mut self, now: Moment, input: Input) {
        match input {
            Input::WorkStopped => self.winding = false,
            Input::CoverLost if self.rig.machine.session().is_some() => {
                if let Some(tenure) = self.rig.machine.tenure().filter(|_| self.rig.machine.state() != State::Candidate)
                {
                    self.close(tenure);
                }
            }
            _ => {}
        }
        self.step(now, input);
    }

    pub(super) fn answer(&mut self, now: Moment, reply: Reply) {
        if !self.rig.machine.is_calling() {
            return self.step(now, Input::Wake);
        }
        let call = self.rig.in_flight().clone();
        let outcome = outcome(reply, &call, self.serial, now);
        let heard = now < self.rig.machine.call.unwrap().give_up_at && self.still_held(now);
        if heard {
            self.heed(&call, &outcome);
        }
        self.step(now, Input::Answer { attempt: call.attempt.id, outcome });
    }

    /// An answer after the deadline is not heard either.
    fn still_held(&self, now: Moment) -> bool {
        match &self.rig.machine.phase {
            Phase::Holding(holding) => {
                !matches!(holding.stage.state(), State::Leader | State::Settling) || now < holding.next_wake(true)
            }
            _ => true,
        }
    }

    fn heed(&mut self, call: &Ordered, outcome: &Outcome) {
        match outcome {
            Outcome::Stood(Standing::Elected(grant)) | Outcome::Renewed(Renewal::Extended(grant)) => {
                match grant.cover {
                    Cover::Own { ttl } => self.buy(call.attempt.sent, ttl),
                    Cover::Shared { from, ttl, .. } => self.buy(from, ttl),
                }
            }
            Outcome::Stood(Standing::Queued(..)) => self.queued.push(call.tenure),
            Outcome::Stood(Standing::Held(_)) => self.close(call.tenure),
            // With an attempt of its own unresolved it reads back first.
            Outcome::Renewed(Renewal::Mismatch(_)) if matches!(&self.rig.machine.phase, Phase::Holding(holding) if holding.unresolved) =>
                {}
            Outcome::Renewed(Renewal::Mismatch(sight)) | Outcome::Inspected(sight) if !sight.is_of(call.tenure) => {
                self.close(call.tenure);
            }
            Outcome::Failed(failure)
                if !failure.indeterminate
                    && matches!(call.op, Op::Stand { .. })
                    && !self.queued.contains(&call.tenure) =>
            {
                self.close(call.tenure);
            }
            _ => {}
        }
    }

    /// SAFETY 1, 2: from before sending, L·(1−ρ)/(1+ρ) − G.
    fn buy(&mut self, from: Moment, ttl: Duration) {
        let timing = self.rig.machine.timing();
        self.bought = Some(from.after(timing.rate_bound().shrink(ttl)).before(timing.grace()));
        self.bought_from = from;
    }

    fn close(&mut self, tenure: TenureId) {
        self.open.retain(|open| *open != tenure);
        self.queued.retain(|open| *open != tenure);
    }

    fn step(&mut self, now: Moment, input: Input) {
        let seen = self.rig.step_at(now, input);
        for action in &seen.0 {
            match action {
                Action::SetDeadline(Some(term)) => {
                    let most = self.bought.expect("nothing was bought");
                    assert!(term.deadline <= most, "{term:?} is believed, and {most:?} was bought");
                }
                Action::Call { op, tenure, attempt } => {
                    match op {
                        Op::Withdraw => self.close(*tenure),
                        Op::Stand { .. } => {
                            let others: Vec<_> = self.open.iter().filter(|open| **open != *tenure).collect();
                            assert!(
                                others.is_empty(),
                                "SAFETY 9: {others:?} may be in the store, and {tenure} is bid for"
                            );
                            self.open.push(*tenure);
                        }
                        _ => assert!(self.open.contains(tenure), "{op:?} for a tenure that is not held"),
                    }
                    self.old_calls.push(Ordered { attempt: *attempt, tenure: *tenure, op: op.clone() });
                    if self.old_calls.len() > 8 {
                        self.old_calls.remove(0);
                    }
                }
                Action::Begin { .. } => {
                    self.finished = false;
                    assert!(!self.winding, "SAFETY 12: a tenure began before the work of the last had stopped");
                }
                Action::End(_) => self.winding = true,
                Action::Finish(_) => {
                    assert!(self.open.is_empty(), "SAFETY 9: {:?} may be in the store at the end", self.open);
                    assert!(!self.winding, "SAFETY 12: the campaign ended before its work had stopped");
                    self.finished = true;
                }
                _ => {}
            }
        }
        if self.rig.machine.state() != State::Idle {
            self.finished = false;
        }
        self.check_wake();
    }

    /// No lost wake-up: whatever waits for time is woken, and being woken leads somewhere.
    fn check_wake(&self) {
        let armed = self.rig.machine.armed;
        let waits = !matches!(self.rig.machine.state(), State::Idle | State::Resting) && !self.winding;
        assert!(!(waits || self.rig.machine.is_calling()) || armed != Moment::NEVER, "{:?}", self.rig.machine);
        if armed != Moment::NEVER {
            assert_eq!(self.rig.wakes_at(), armed, "the driver knows of another wake");
            let mut machine = self.rig.machine.clone();
            let now = self.rig.now.max(armed);
            for _ in 0..5 {
                machine.step(now, Input::Wake, self.rig.random);
                if machine.armed > now {
                    return;
                }
            }
            panic!("woken again and again at {now:?}: {machine:?}");
        }
    }

    /// Lets time pass with a store that answers at once as `reply` says, or hangs; work stops when told. Says what was ordered.
    pub(super) fn live(&mut self, span: Duration, mut reply: impl FnMut(&Ordered) -> Option<Reply>) -> usize {
        let until = self.rig.now.after(span);
        let mut calls = 0;
        let mut asked = None;
        for _ in 0..200_000 {
            if self.winding {
                self.input(self.rig.now, Input::WorkStopped);
            }
            if self.rig.machine.is_calling() {
                let call = self.rig.in_flight().clone();
                if asked != Some(call.attempt.id) {
                    asked = Some(call.attempt.id);
                    calls += 1;
                    if let Some(reply) = reply(&call) {
                        self.serial += 1;
                        self.answer(self.rig.now, reply);
                        continue;
                    }
                }
            }
            let armed = self.rig.machine.armed;
            if armed > until {
                self.rig.now = until;
                return calls;
            }
            self.step(self.rig.now.max(armed), Input::Wake);
        }
        panic!("it never comes to rest: {:?}", self.rig.machine);
    }
}
