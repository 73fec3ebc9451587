//! What the tests of the adapters share: bids, faults at the store, and candidates that are real machines.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::{Claim, Claimant, Look, Register, RegisterRecord, TtlStore, Writing};
use crate::backend::{
    Attempt, AttemptId, Backend, Bid, Grant, Promise, Renewal, Sight, Standing, TenureId, Traits, Version,
};
use crate::machine::{Action, Ending, Failure, Goal, Input, Machine, Op, Outcome, Plan, Term};
use crate::{CandidateName, Clock, Error, ManualClock, Moment, Seat, Timing};

/// The lease of every candidate here.
pub(super) const LEASE: Duration = Timing::DEFAULT_LEASE;

pub(super) const ATTEMPT: Attempt = Attempt { id: AttemptId(1), sent: Moment::ZERO };

pub(super) fn seat() -> Seat {
    Seat::new("office").unwrap()
}

pub(super) fn bid(name: &str, nonce: u64, count: u64) -> Bid {
    bid_for(name, TenureId::new(nonce, count), None)
}

pub(super) fn displacing(name: &str, nonce: u64, count: u64, version: &Version) -> Bid {
    bid_for(name, TenureId::new(nonce, count), Some(version.clone()))
}

fn bid_for(name: &str, tenure: TenureId, displace: Option<Version>) -> Bid {
    let traits = Traits::new(Promise::Fenced);
    let name = CandidateName::new(name).unwrap();
    let plan = Plan::new(seat(), name, tenure.nonce(), Arc::new(Timing::default()), traits)
        .advertising(Arc::from(&b"10.0.0.1"[..]));
    Bid::new(Arc::new(plan), tenure, displace)
}

/// Stands and wins.
#[track_caller]
pub(super) fn elected(backend: &dyn Backend, bid: &Bid) -> Grant {
    match at_once(backend.stand(bid, ATTEMPT)).unwrap() {
        Standing::Elected(grant) => grant,
        other => panic!("not elected: {other:?}"),
    }
}

/// Stands and finds another.
#[track_caller]
pub(super) fn held(backend: &dyn Backend, bid: &Bid) -> Sight {
    match at_once(backend.stand(bid, ATTEMPT)).unwrap() {
        Standing::Held(sight) => sight,
        other => panic!("not held by another: {other:?}"),
    }
}

/// Renews and succeeds.
#[track_caller]
pub(super) fn extended(backend: &dyn Backend, bid: &Bid, version: &Version) -> Grant {
    match at_once(backend.renew(bid, version, ATTEMPT)).unwrap() {
        Renewal::Extended(grant) => grant,
        other => panic!("not extended: {other:?}"),
    }
}

/// Renews and finds another version.
#[track_caller]
pub(super) fn mismatched(backend: &dyn Backend, bid: &Bid, version: &Version) -> Sight {
    match at_once(backend.renew(bid, version, ATTEMPT)).unwrap() {
        Renewal::Mismatch(sight) => sight,
        other => panic!("not a mismatch: {other:?}"),
    }
}

/// The answer of a call that waits for nobody.
#[track_caller]
pub(super) fn at_once<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("it waits for something")
}

/// A call to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Insert,
    Swap,
    Delete,
    Look,
    Draw,
    Read,
    Write,
}

/// What befalls a call.
pub(super) enum Fault {
    /// The store refuses; nothing is written, and the error says so.
    Refused,
    /// The request is lost on the way; nothing is written, and nobody knows.
    RequestLost,
    /// The answer is lost on the way back; what was asked is done, and nobody knows.
    AnswerLost,
    /// The request is on its way until the other end says so.
    Delayed(oneshot::Receiver<()>),
    /// Something else happens just before it.
    Meanwhile(Box<dyn FnOnce() + Send>),
}

/// A store with faults to come, each for the next call of its kind.
pub(super) struct Faulty<S> {
    pub(super) inner: S,
    pub(super) blind: bool,
    pub(super) numbers: bool,
    yields: bool,
    faults: Mutex<Vec<(Call, Fault)>>,
    calls: Mutex<Vec<Call>>,
}

impl<S> fmt::Debug for Faulty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

impl<S> Faulty<S> {
    pub(super) fn new(inner: S) -> Self {
        let (faults, calls) = Default::default();
        Faulty { inner, blind: false, numbers: true, yields: false, faults, calls }
    }

    /// It cannot be looked at, and draws no numbers.
    pub(super) fn blind(inner: S) -> Self {
        Faulty { blind: true, numbers: false, ..Faulty::new(inner) }
    }

    /// Every call is pending once before it is done, so that a test can order them as it likes.
    pub(super) fn yielding(inner: S) -> Self {
        Faulty { yields: true, ..Faulty::new(inner) }
    }

    pub(super) fn inflict(&self, call: Call, fault: Fault) {
        self.faults.lock().unwrap().push((call, fault));
    }

    pub(super) fn meanwhile(&self, call: Call, event: impl FnOnce() + Send + 'static) {
        self.inflict(call, Fault::Meanwhile(Box::new(event)));
    }

    /// No faults are to come any more.
    pub(super) fn calm(&self) {
        self.faults.lock().unwrap().clear();
    }

    /// The calls since the last time this was asked.
    pub(super) fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    async fn befall<T>(&self, call: Call, done: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.calls.lock().unwrap().push(call);
        let mut left = u32::from(self.yields);
        poll_fn(|_| match left {
            0 => Poll::Ready(()),
            _ => {
                left -= 1;
                Poll::Pending
            }
        })
        .await;
        let fault = {
            let mut faults = self.faults.lock().unwrap();
            faults.iter().position(|(kind, _)| *kind == call).map(|at| faults.remove(at).1)
        };
        match fault {
            None => done.await,
            Some(Fault::Refused) => Err(Error::unavailable("refused")),
            Some(Fault::RequestLost) => Err(Error::unknown_outcome("the request was lost")),
            Some(Fault::AnswerLost) => {
                done.await?;
                Err(Error::unknown_outcome("the answer was lost"))
            }
            Some(Fault::Delayed(arrival)) => {
                arrival.await.expect("the test lets it arrive");
                done.await
            }
            Some(Fault::Meanwhile(event)) => {
                event();
                done.await
            }
        }
    }
}

impl<S: TtlStore<Seat, Claim<Claimant>>> TtlStore<Seat, Claim<Claimant>> for Faulty<S> {
    async fn insert_if_absent(&self, key: &Seat, value: &Claim<Claimant>, ttl: Duration) -> Result<bool, Error> {
        self.befall(Call::Insert, self.inner.insert_if_absent(key, value, ttl)).await
    }

    async fn compare_and_swap(
        &self,
        key: &Seat,
        old: &Claim<Claimant>,
        new: &Claim<Claimant>,
        ttl: Duration,
    ) -> Result<bool, Error> {
        self.befall(Call::Swap, self.inner.compare_and_swap(key, old, new, ttl)).await
    }

    async fn compare_and_delete(&self, key: &Seat, value: &Claim<Claimant>) -> Result<bool, Error> {
        self.befall(Call::Delete, self.inner.compare_and_delete(key, value)).await
    }

    async fn look(&self, key: &Seat) -> Result<Look<Claim<Claimant>>, Error> {
        if self.blind {
            return Ok(Look::Blind);
        }
        self.befall(Call::Look, self.inner.look(key)).await
    }

    async fn next_token(&self, key: &Seat) -> Result<u64, Error> {
        self.befall(Call::Draw, self.inner.next_token(key)).await
    }

    fn traits(&self) -> Traits {
        // A store that claims more than it can keep: the adapter knows better.
        let mut traits = Traits::new(Promise::Fenced);
        traits.has_tokens = self.numbers;
        traits
    }
}

impl<R: Register> Register for Faulty<R> {
    async fn read(&self, seat: &Seat) -> Result<Option<(RegisterRecord, Version)>, Error> {
        self.befall(Call::Read, self.inner.read(seat)).await
    }

    async fn write(&self, seat: &Seat, expected: Option<&Version>, record: &RegisterRecord) -> Result<Writing, Error> {
        self.befall(Call::Write, self.inner.write(seat, expected, record)).await
    }
}

/// A candidate: a real machine whose calls are made at once.
#[derive(Debug)]
pub(super) struct Candidate {
    machine: Machine,
    backend: Arc<dyn Backend>,
    clock: ManualClock,
    wake: Moment,
    term: Option<Term>,
    pub(super) heard: Vec<Action>,
}

impl Candidate {
    pub(super) fn new(name: &str, nonce: u64, backend: Arc<dyn Backend>, clock: &ManualClock) -> Self {
        Self::with_timing(name, nonce, backend, clock, Timing::default())
    }

    pub(super) fn with_timing(
        name: &str,
        nonce: u64,
        backend: Arc<dyn Backend>,
        clock: &ManualClock,
        timing: Timing,
    ) -> Self {
        let name = CandidateName::new(name).unwrap();
        let plan = Plan::new(seat(), name, nonce, Arc::new(timing), backend.traits());
        Candidate {
            machine: Machine::new(Arc::new(plan)),
            backend,
            clock: clock.clone(),
            wake: Moment::NEVER,
            term: None,
            heard: Vec::new(),
        }
    }

    pub(super) async fn start(&mut self) {
        self.hear(Input::Start { goal: Goal::Forever, patience: None }).await;
    }

    pub(super) fn is_leader(&self) -> bool {
        self.term.is_some_and(|term| self.clock.now() < term.deadline)
    }

    pub(super) fn term(&self) -> Option<Term> {
        self.term
    }

    /// The numbers of its tenures, in order.
    pub(super) fn tokens(&self) -> Vec<Option<u64>> {
        let begun = self.heard.iter().filter_map(|action| match action {
            Action::Begin { token, .. } => Some(token.map(|token| token.get())),
            _ => None,
        });
        begun.collect()
    }

    /// How its tenures ended, in order.
    pub(super) fn endings(&self) -> Vec<Ending> {
        let ended = self.heard.iter().filter_map(|action| match action {
            Action::End(ending) => Some(*ending),
            _ => None,
        });
        ended.collect()
    }

    /// Takes one input and does what follows from it, until nothing follows.
    pub(super) async fn hear(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for action in self.machine.step(self.clock.now(), input, 0) {
                match &action {
                    Action::Call { attempt, tenure, op } => {
                        let outcome = self.call(*attempt, *tenure, op).await;
                        inputs.push_back(Input::Answer { attempt: attempt.id, outcome });
                    }
                    Action::SetDeadline(term) => self.term = *term,
                    Action::WakeAt { at, .. } => self.wake = *at,
                    Action::StopWork { .. } => inputs.push_back(Input::WorkStopped),
                    _ => {}
                }
                self.heard.push(action);
            }
        }
    }

    async fn call(&self, attempt: Attempt, tenure: TenureId, op: &Op) -> Outcome {
        let displace = match op {
            Op::Stand { displace } => displace.clone(),
            _ => None,
        };
        let bid = Bid::new(self.machine.plan().clone(), tenure, displace);
        let outcome = match op {
            Op::Stand { .. } => self.backend.stand(&bid, attempt).await.map(Outcome::Stood),
            Op::Renew { version } => self.backend.renew(&bid, version, attempt).await.map(Outcome::Renewed),
            Op::Withdraw => self.backend.withdraw(&bid).await.map(|()| Outcome::Withdrew),
            Op::Inspect => self.backend.inspect(bid.seat()).await.map(Outcome::Inspected),
        };
        outcome.unwrap_or_else(|error| Outcome::Failed(Failure::from(&error)))
    }
}

/// Lets `span` pass for all of them; whoever is due first acts first, and two never lead at once (I1).
pub(super) async fn pass(clock: &ManualClock, span: Duration, candidates: &mut [&mut Candidate]) {
    let end = clock.now().after(span);
    while let Some(next) = candidates.iter_mut().min_by_key(|candidate| candidate.wake).filter(|next| next.wake <= end)
    {
        clock.jump(next.wake.until_from(clock.now()));
        next.wake = Moment::NEVER;
        next.hear(Input::Wake).await;
        let leaders = candidates.iter().filter(|candidate| candidate.is_leader()).count();
        assert!(leaders <= 1, "two lead: {candidates:#?}");
    }
    clock.jump(end.until_from(clock.now()));
}
