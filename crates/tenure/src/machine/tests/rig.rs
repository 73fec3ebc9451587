//! A driver for one machine in a test.

use super::*;

/// How a machine of a test is made.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) timing: TimingBuilder,
    pub(super) traits: Traits,
    pub(super) name: &'static str,
    pub(super) nonce: u64,
    pub(super) base: u64,
    pub(super) reclaim: Reclaim,
}

impl Setup {
    /// Default timing on a store that expires records itself and pushes nothing.
    pub(super) fn new() -> Self {
        Setup {
            timing: TimingBuilder::default(),
            traits: Traits::new(Promise::Fenced),
            name: "me",
            nonce: 0xa,
            base: 0,
            reclaim: Reclaim::OnProof,
        }
    }

    pub(super) fn timing(mut self, change: impl FnOnce(&mut TimingBuilder)) -> Self {
        change(&mut self.timing);
        self
    }

    pub(super) fn traits(mut self, change: impl FnOnce(&mut Traits)) -> Self {
        change(&mut self.traits);
        self
    }

    /// A store that pushes.
    pub(super) fn pushed(self) -> Self {
        self.traits(|traits| traits.vacancies = Vacancies::Pushed)
    }

    pub(super) fn machine(&self) -> Machine {
        let plan = Plan::new(
            Seat::new("seat").unwrap(),
            CandidateName::new(self.name).unwrap(),
            self.nonce,
            Arc::new(self.timing.build().unwrap()),
            self.traits,
        );
        Machine::new(Arc::new(plan.with_token_base(self.base).reclaiming(self.reclaim)))
    }

    pub(super) fn rig(&self) -> Rig {
        Rig {
            machine: self.machine(),
            random: 0,
            now: Moment::ZERO,
            ordered: None,
            wake: None,
            watch: false,
            watchdog: Watchdog::default(),
        }
    }
}

/// A call as it was ordered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ordered {
    pub(super) attempt: Attempt,
    pub(super) tenure: TenureId,
    pub(super) op: Op,
}

/// One machine, and what a driver knows of it.
#[derive(Clone)]
pub(super) struct Rig {
    pub(super) machine: Machine,
    /// The word given to every step; 0 jitters to the shortest, and spreads renewals by nothing.
    pub(super) random: u64,
    pub(super) now: Moment,
    /// The last call that was ordered.
    pub(super) ordered: Option<Ordered>,
    /// When the machine is to be woken, and the slack.
    pub(super) wake: Option<(Moment, Duration)>,
    pub(super) watch: bool,
    watchdog: Watchdog,
}

impl Rig {
    pub(super) fn new() -> Self {
        Setup::new().rig()
    }

    /// A machine that leads since 0 s, elected by a stand sent and answered at 0 s, with version 1 and token 1.
    pub(super) fn leading(setup: &Setup) -> Self {
        let mut rig = setup.rig();
        rig.start(0.0);
        let seen = rig.elect(0.0, 1);
        assert!(seen.began(), "not elected: {seen:?}");
        rig
    }

    #[track_caller]
    pub(super) fn step(&mut self, seconds: f64, input: Input) -> Seen {
        self.step_at(at(seconds), input)
    }

    #[track_caller]
    pub(super) fn step_at(&mut self, now: Moment, input: Input) -> Seen {
        assert!(now >= self.now, "time goes on: {now:?} after {:?}", self.now);
        self.now = now;
        if input == Input::Wake {
            self.wake = None;
        }
        let starts = matches!(input, Input::Start { .. });
        let actions = self.machine.step(now, input, self.random);
        for action in &actions {
            match action {
                Action::Call { attempt, tenure, op } => {
                    self.ordered = Some(Ordered { attempt: *attempt, tenure: *tenure, op: op.clone() });
                }
                Action::WakeAt { at, slack } => self.wake = Some((*at, *slack)),
                Action::Watch(on) => self.watch = *on,
                _ => {}
            }
        }
        self.watchdog.check(&actions, &self.machine, now, starts);
        actions.into()
    }

    pub(super) fn start(&mut self, seconds: f64) -> Seen {
        self.start_for(seconds, Goal::Forever, None)
    }

    pub(super) fn start_for(&mut self, seconds: f64, goal: Goal, patience: Option<Duration>) -> Seen {
        self.step(seconds, Input::Start { goal, patience })
    }

    pub(super) fn wake(&mut self, seconds: f64) -> Seen {
        self.step(seconds, Input::Wake)
    }

    pub(super) fn hint(&mut self, seconds: f64, hint: Hint) -> Seen {
        self.step(seconds, Input::Hint(hint))
    }

    /// Answers the call in flight.
    #[track_caller]
    pub(super) fn answer(&mut self, seconds: f64, outcome: Outcome) -> Seen {
        let attempt = self.in_flight().attempt.id;
        self.step(seconds, Input::Answer { attempt, outcome })
    }

    /// Answers the stand in flight by a win with this version, and the same number as token.
    #[track_caller]
    pub(super) fn elect(&mut self, seconds: f64, version: u64) -> Seen {
        let won = grant(self.standing(), version);
        self.answer(seconds, elected(won))
    }

    /// Answers the renewal in flight by an extension.
    #[track_caller]
    pub(super) fn extend(&mut self, seconds: f64, version: u64) -> Seen {
        let (tenure, _) = self.renewing();
        self.answer(seconds, extended(grant(tenure, version)))
    }

    /// The call in flight.
    #[track_caller]
    pub(super) fn in_flight(&self) -> &Ordered {
        let ordered = self.ordered.as_ref().expect("no call was ordered");
        assert!(self.machine.awaits(ordered.attempt.id), "{ordered:?} is not awaited any more");
        ordered
    }

    #[track_caller]
    pub(super) fn idle(&self) {
        assert!(!self.machine.is_calling(), "a call is in flight: {:?}", self.ordered);
    }

    /// The tenure of the stand in flight.
    #[track_caller]
    pub(super) fn standing(&self) -> TenureId {
        let Ordered { op: Op::Stand { .. }, tenure, .. } = self.in_flight() else {
            panic!("no stand is in flight: {:?}", self.in_flight());
        };
        *tenure
    }

    /// What the stand in flight may displace.
    #[track_caller]
    pub(super) fn displacing(&self) -> Option<u64> {
        match &self.in_flight().op {
            Op::Stand { displace } => displace.as_ref().and_then(Version::as_number),
            other => panic!("no stand is in flight: {other:?}"),
        }
    }

    /// The tenure and version of the renewal in flight.
    #[track_caller]
    pub(super) fn renewing(&self) -> (TenureId, u64) {
        let Ordered { op: Op::Renew { version }, tenure, .. } = self.in_flight() else {
            panic!("no renewal is in flight: {:?}", self.in_flight());
        };
        (*tenure, version.as_number().unwrap())
    }

    #[track_caller]
    pub(super) fn inspecting(&self) {
        assert_eq!(self.in_flight().op, Op::Inspect);
    }

    /// The tenure of the withdrawal in flight.
    #[track_caller]
    pub(super) fn withdrawing(&self) -> TenureId {
        assert_eq!(self.in_flight().op, Op::Withdraw);
        self.in_flight().tenure
    }

    /// When the machine is to be woken next.
    #[track_caller]
    pub(super) fn wakes_at(&self) -> Moment {
        self.wake.expect("no wake is armed").0
    }

    /// Lets time pass without any answer until then; every armed wake up to it is kept. The answer is all that was ordered on the way.
    #[track_caller]
    pub(super) fn hang_until(&mut self, seconds: f64) -> Seen {
        self.live_until(seconds, |_| None)
    }

    /// Lets time pass until then; calls are answered at once as `reply` says, or hang.
    #[track_caller]
    pub(super) fn live_until(&mut self, seconds: f64, mut reply: impl FnMut(&Ordered) -> Option<Outcome>) -> Seen {
        let mut all = Seen::default();
        let mut asked = None;
        for _ in 0..50_000 {
            if self.machine.is_calling() {
                let call = self.in_flight().clone();
                if asked != Some(call.attempt.id) {
                    asked = Some(call.attempt.id);
                    if let Some(outcome) = reply(&call) {
                        let input = Input::Answer { attempt: call.attempt.id, outcome };
                        all.extend(self.step_at(self.now, input));
                        continue;
                    }
                }
            }
            match self.wake {
                Some((wake, _)) if wake <= at(seconds) => {
                    let now = self.now.max(wake);
                    all.extend(self.step_at(now, Input::Wake));
                }
                _ => {
                    self.now = self.now.max(at(seconds));
                    return all;
                }
            }
        }
        panic!("it never comes to rest: {:?}", self.machine);
    }

    /// The same, with a store that extends every renewal.
    #[track_caller]
    pub(super) fn renew_until(&mut self, seconds: f64) -> Seen {
        self.live_until(seconds, |call| match &call.op {
            Op::Renew { version } => Some(extended(grant(call.tenure, version.as_number().unwrap() + 1))),
            _ => None,
        })
    }
}

/// What one or several steps ordered.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(pub(super) Vec<Action>);

impl Seen {
    fn extend(&mut self, other: Seen) {
        self.0.extend(other.0);
    }

    /// Everything but wakes and notes, which are checked where they matter.
    pub(super) fn orders(&self) -> Vec<Action> {
        let plain = |action: &&Action| !matches!(action, Action::WakeAt { .. } | Action::Emit(_));
        self.0.iter().filter(plain).cloned().collect()
    }

    #[track_caller]
    pub(super) fn is_exactly(&self, orders: &[Action]) {
        assert_eq!(self.orders(), orders, "all of it: {:?}", self.0);
    }

    /// Nothing was ordered or told; a wake may have been moved.
    #[track_caller]
    pub(super) fn is_nothing(&self) {
        assert!(self.0.iter().all(|action| matches!(action, Action::WakeAt { .. })), "{:?}", self.0);
    }

    pub(super) fn began(&self) -> bool {
        self.0.iter().any(|action| matches!(action, Action::Begin { .. }))
    }

    pub(super) fn token(&self) -> Option<u64> {
        self.0.iter().find_map(|action| match action {
            Action::Begin { token, .. } => token.map(FencingToken::get),
            _ => None,
        })
    }

    pub(super) fn ended(&self) -> Option<Ending> {
        let mut endings = self.0.iter().filter_map(|action| match action {
            Action::End(ending) => Some(*ending),
            _ => None,
        });
        let first = endings.next();
        assert_eq!(endings.next(), None, "two endings: {:?}", self.0);
        first
    }

    pub(super) fn finished(&self) -> Option<Finish> {
        self.0.iter().find_map(|action| match action {
            Action::Finish(finish) => Some(*finish),
            _ => None,
        })
    }

    pub(super) fn killed(&self) -> bool {
        self.0.contains(&Action::Kill)
    }

    pub(super) fn noted(&self, note: Note) -> bool {
        self.0.contains(&Action::Emit(note))
    }

    pub(super) fn alarms(&self) -> Vec<Alarm> {
        self.0.iter().filter_map(|action| if let Action::Alarm(alarm) = action { Some(*alarm) } else { None }).collect()
    }

    /// The term that was published last.
    pub(super) fn term(&self) -> Option<Term> {
        self.0.iter().rev().find_map(|action| match action {
            Action::SetDeadline(term) => Some(*term),
            _ => None,
        })?
    }

    pub(super) fn stop_work_by(&self) -> Option<Moment> {
        self.0.iter().rev().find_map(|action| if let Action::StopWork { by } = action { Some(*by) } else { None })
    }

    pub(super) fn calls(&self) -> Vec<&Op> {
        self.0.iter().filter_map(|action| if let Action::Call { op, .. } = action { Some(op) } else { None }).collect()
    }
}

impl From<Actions> for Seen {
    fn from(actions: Actions) -> Self {
        Seen(actions.into_iter().collect())
    }
}
