//! One process that runs for an office.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::backend::{ForeignPeers, Promise, Traits};
use crate::campaign::Campaign;
use crate::clock::AnyClock;
use crate::driver::{Driver, Published, Start};
use crate::election::Election;
use crate::listener::Listener;
use crate::machine::{Finish, Goal, Input, Memory, Plan, Reclaim};
use crate::mutant::{Mutant, planted};
use crate::tenure::Tenure;
use crate::timing::{Interval, Settle};
use crate::{
    Backoff, CandidateName, Change, Clock, Error, ErrorKind, FencingToken, Limits, RateBound, Seat, Timing,
    TimingBuilder, Tolerance,
};

/// A candidate: a stable name, its timing, and what it does in office.
///
/// It runs for its office in one of two ways: [`campaign`](Candidate::campaign) returns when it is elected, and
/// [`start`](Candidate::start) campaigns for ever in the background. It runs once at a time; when a campaign is over it can run again,
/// as a new incarnation.
#[derive(Clone, Debug)]
pub struct Candidate {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    election: Election,
    plan: Plan,
    clock: AnyClock,
    driver: Arc<Driver>,
    healthy: AtomicBool,
    running: Mutex<Weak<Published>>,
    /// What its campaigns have seen of the store (SAFETY 18).
    memory: Arc<Mutex<Memory>>,
}

impl Candidate {
    /// The name it runs under.
    pub fn name(&self) -> &CandidateName {
        self.inner.plan.name()
    }

    /// The election it runs for.
    pub fn election(&self) -> &Seat {
        self.inner.plan.seat()
    }

    /// Its timing.
    pub fn timing(&self) -> &Timing {
        self.inner.plan.timing()
    }

    /// Campaigns until elected.
    ///
    /// A store that cannot be reached is tried until it can; one that refuses for good (credentials, rights, a corrupt record) is an error. Dropping
    /// the future gives the campaign up.
    pub async fn campaign(&self) -> Result<Tenure, Error> {
        self.elected(Goal::OneTenure, None).await
    }

    /// The same for at most `patience`; then [`ErrorKind::TimedOut`].
    pub async fn campaign_within(&self, patience: Duration) -> Result<Tenure, Error> {
        self.elected(Goal::OneTenure, Some(patience)).await
    }

    /// Stands once. `None` when another holds the office; a store that does not answer is an error, never "held".
    ///
    /// Where contenders judge expiry, one try never displaces a silent holder: that takes watching it for its whole lease.
    pub async fn try_campaign(&self) -> Result<Option<Tenure>, Error> {
        match self.elected(Goal::TryOnce, None).await {
            Ok(tenure) => Ok(Some(tenure)),
            Err(error) if error.kind() == ErrorKind::Held => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Campaigns in the background until stopped, again after every tenure. An error only if this candidate runs already.
    pub fn start(&self) -> Result<Campaign, Error> {
        Ok(Campaign::new(self.run(Goal::Forever, None, Vec::new())?))
    }

    /// The same, with callbacks that hear every change of leadership from the first on.
    pub fn start_with(&self, listener: impl FnMut(Change) + Send + 'static) -> Result<Campaign, Error> {
        Ok(Campaign::new(self.run(Goal::Forever, None, vec![Listener::new(listener)])?))
    }

    /// Says whether this candidate is fit to lead. One that is not gives up the office, after its work has stopped, and does not run for it
    /// until it is again. It applies to the campaign that runs and to later ones.
    pub fn set_healthy(&self, healthy: bool) {
        self.inner.healthy.store(healthy, Ordering::Release);
        if let Some(published) = self.running() {
            published.tell(Input::Health(healthy));
        }
    }

    /// Whether a campaign of this candidate is under way.
    pub fn is_running(&self) -> bool {
        self.running().is_some()
    }

    async fn elected(&self, goal: Goal, patience: Option<Duration>) -> Result<Tenure, Error> {
        if goal == Goal::TryOnce && !self.inner.healthy.load(Ordering::Acquire) {
            let message = "this candidate was set unhealthy, so it does not stand; set it healthy first";
            return Err(Error::new(ErrorKind::Closed, message).of_election(self.election()));
        }
        let over = patience.map(|patience| self.out_of(patience));
        let abandoned = Abandoned(Some(self.run(goal, patience, Vec::new())?));
        let published = abandoned.0.as_ref().expect("it was just put there");
        let tenure = published.until(|published| match published.leading() {
            Some(tenure) => Some(Ok(tenure)),
            None => published.finish().map(|finish| Err(refusal(published, finish))),
        });
        let tenure = match over {
            None => tenure.await?,
            // SEEDS 25: at its deadline, also when a call hangs and the campaign still has to clear up behind it.
            Some(over) => tokio::select! {
                biased;
                tenure = tenure => tenure?,
                () = over => return Err(refusal(published, Finish::TimedOut)),
            },
        };
        Ok(Tenure::new(abandoned.keep(), tenure))
    }

    /// Resolves a moment after so much patience on this candidate's clock: the campaign itself ends at it, and needs the help of this timer only
    /// where a call hangs.
    pub(crate) fn out_of(&self, patience: Duration) -> impl Future<Output = ()> + use<> {
        self.inner.driver.timer(self.inner.clock.now().after(patience + self.timing().call_timeout() / 10))
    }

    pub(crate) fn run(
        &self,
        goal: Goal,
        patience: Option<Duration>,
        listeners: Vec<Listener>,
    ) -> Result<Arc<Published>, Error> {
        let inner = &self.inner;
        let mut running = inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.upgrade().is_some_and(|published| published.finish().is_none()) {
            let message = "this candidate runs already; stop that campaign first, or build a second candidate";
            return Err(Error::new(ErrorKind::AlreadyRunning, message).of_election(inner.plan.seat()));
        }
        let memory = *inner.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = Arc::new(inner.plan.reincarnated(nonce()?, memory));
        let published = Arc::new(Published::new(plan.clone(), inner.clock.clone(), inner.driver.clone()));
        for listener in listeners {
            published.listen(listener);
        }
        *running = Arc::downgrade(&published);
        inner.driver.start(Start {
            published: published.clone(),
            plan,
            memory: inner.memory.clone(),
            backend: inner.election.backend().clone(),
            goal,
            patience,
            healthy: inner.healthy.load(Ordering::Acquire),
        });
        Ok(published)
    }

    fn running(&self) -> Option<Arc<Published>> {
        let running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().filter(|published| published.finish().is_none())
    }
}

/// A campaign whose caller may go away before it is elected.
struct Abandoned(Option<Arc<Published>>);

impl Abandoned {
    fn keep(mut self) -> Arc<Published> {
        self.0.take().expect("it is kept once")
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some(published) = self.0.take() {
            published.tell(Input::Stop);
        }
    }
}

/// Why a campaign that is over did not lead, as an error.
pub(crate) fn refusal(published: &Published, finish: Finish) -> Error {
    let plan = published.plan();
    let error = match finish {
        Finish::TimedOut => Error::new(
            ErrorKind::TimedOut,
            "not elected in the time given; another holds the office, or the store is away",
        ),
        Finish::NotElected => Error::new(ErrorKind::Held, "another holds the office"),
        Finish::TenureEnded => Error::new(ErrorKind::LeadershipLost, "leadership has ended"),
        Finish::Stopped => Error::new(ErrorKind::Closed, "the campaign was stopped"),
        Finish::Refused | Finish::Barred => match published.last_error() {
            Some(error) => return error,
            None => Error::unavailable("the store refused"),
        },
    };
    error.of_election(plan.seat())
}

/// A candidate to be; [`build`](CandidateBuilder::build) refuses whatever is unsafe.
#[derive(Clone, Debug)]
pub struct CandidateBuilder {
    election: Election,
    name: String,
    timing: TimingBuilder,
    advertise: Vec<u8>,
    reclaim: Reclaim,
    work_ends_with_process: bool,
    clock: AnyClock,
    require: Option<Promise>,
    above: Option<FencingToken>,
}

impl CandidateBuilder {
    /// The most that can be advertised.
    pub const MOST_ADVERTISED: usize = 1024;

    pub(crate) fn new(election: Election, name: &str) -> Self {
        CandidateBuilder {
            election,
            name: name.into(),
            timing: TimingBuilder::default(),
            advertise: Vec::new(),
            reclaim: Reclaim::OnProof,
            work_ends_with_process: false,
            clock: AnyClock::Boot,
            require: None,
            above: None,
        }
    }

    /// For how long the store keeps the office for a holder that is not heard of; 15 s unless set. Everything else follows it.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.timing.lease = Some(lease);
        self
    }

    /// How often to renew; a third of the lease unless set.
    #[must_use]
    pub fn renew_every(mut self, interval: Duration) -> Self {
        self.timing.renew = Some(Interval::Every(interval));
        self
    }

    /// How often to renew, as a part of the lease.
    #[must_use]
    pub fn renew_at_percent(mut self, percent: u32) -> Self {
        self.timing.renew = Some(Interval::Percent(percent));
        self
    }

    /// How often to try where the store pushes nothing, and how long to sit out after resigning; 2/15 of the lease unless set.
    #[must_use]
    pub fn retry_every(mut self, interval: Duration) -> Self {
        self.timing.retry = Some(interval);
        self
    }

    /// The time to stop guarded work in; 2/15 of the lease unless set. It lies inside the lease.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.timing.grace = Some(grace);
        self
    }

    /// After how long a call to the store counts as unanswered; a fifth of the lease unless set.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.timing.call_timeout = Some(timeout);
        self
    }

    /// How far clock rates may lie apart; 10 % unless set.
    #[must_use]
    pub fn clock_rate_bound(mut self, bound: RateBound) -> Self {
        self.timing.rate = Some(bound);
        self
    }

    /// How many failed renewals end a tenure before its deadline does.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Tolerance) -> Self {
        self.timing.tolerance = tolerance;
        self
    }

    /// How long to wait between attempts; the retry interval, jittered, unless set.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.timing.backoff = Some(backoff);
        self
    }

    /// Waits a random part of this before the first attempt, so that a fleet that starts together does not stand together.
    #[must_use]
    pub fn splay(mut self, most: Duration) -> Self {
        self.timing.splay = most;
        self
    }

    /// Waits this long between winning and leading, unless the last holder gave the office up in due form: for resources that cannot
    /// check tokens, and offices shared with programs that do not step down in time (SAFETY 14).
    #[must_use]
    pub fn settle(mut self, span: Duration) -> Self {
        self.timing.settle = Settle::For(span);
        self
    }

    /// The same for one renew interval: leadership is announced after one further good renewal (SEEDS 35).
    #[must_use]
    pub fn announce_late(mut self) -> Self {
        self.timing.settle = Settle::OneInterval;
        self
    }

    /// Keeps the office for at least this long, also when resigned or stopped earlier: a job that takes a second must not be run again by the
    /// next host a second later.
    #[must_use]
    pub fn at_least(mut self, span: Duration) -> Self {
        self.timing.at_least = span;
        self
    }

    /// Ends the *process* (exit status [`KILLED_EXIT_STATUS`](crate::KILLED_EXIT_STATUS)) this long after leadership was lost, unless its guarded
    /// work has stopped by then.
    #[must_use]
    pub fn kill_after(mut self, span: Duration) -> Self {
        self.timing.kill_after = Some(span);
        self
    }

    /// Narrower limits than safety asks for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.timing.limits = Some(limits);
        self
    }

    /// What others shall know of this candidate when it leads, such as its address; at most 1 KiB. It is public to all who can read the store.
    #[must_use]
    pub fn advertise(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.advertise = bytes.into();
        self
    }

    /// Takes back a record under this candidate's own name at once, **trusting that no two processes ever run under one name**. If they do, two
    /// lead. Without it, a restarted process waits like any other unless its former life is proved dead.
    #[must_use]
    pub fn reclaim_trusting_unique_name(mut self) -> Self {
        self.reclaim = Reclaim::TrustingUniqueName;
        self
    }

    /// Declares that guarded work ends with this process, so that a backend that can prove its death hands the office on at once.
    #[must_use]
    pub fn work_ends_with_process(mut self) -> Self {
        self.work_ends_with_process = true;
        self
    }

    /// Refuses to start on a backend that promises less.
    #[must_use]
    pub fn require(mut self, promise: Promise) -> Self {
        self.require = Some(promise);
        self
    }

    /// Leads only with tokens above this one: the highest that whatever is guarded has been shown. Candidates refuse a store whose numbers went
    /// back, and a process that has just started remembers none: this is how it is told. Lower tokens are an [`Alarm::TokenWentBack`](crate::Alarm).
    #[must_use]
    pub fn above(mut self, token: FencingToken) -> Self {
        self.above = Some(token);
        self
    }

    /// Another clock than the machine's own: for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = AnyClock::Custom(Arc::new(clock));
        self
    }

    /// Checks everything and gives the candidate, or says what to change.
    pub fn build(&self) -> Result<Candidate, Error> {
        let election = &self.election;
        let named = |error: Error| error.of_election(election.name());
        let name = CandidateName::new(&self.name).map_err(named)?;
        let traits = election.traits();
        let timing = self.timing(&traits).build().map_err(named)?;
        traits.admit(self.require, &timing, &election.backend().place()).map_err(named)?;
        if self.advertise.len() > Self::MOST_ADVERTISED {
            let message = format!(
                "{} bytes are to be advertised, and {} are allowed",
                self.advertise.len(),
                Self::MOST_ADVERTISED
            );
            return Err(named(Error::new(ErrorKind::InvalidConfig, message)));
        }
        if election.token_base() > i64::MAX as u64 {
            let message = format!("a token base of {} leaves no room below {}", election.token_base(), i64::MAX);
            return Err(named(Error::new(ErrorKind::InvalidConfig, message)));
        }
        let (name, timing) = shared(name, timing);
        let memory = Memory { highest: self.above, incarnation: None };
        let plan = Plan::new(election.name().clone(), name, 0, timing, traits)
            .advertising(advertised(&self.advertise))
            .with_token_base(election.token_base())
            .remembering(memory)
            .reclaiming(self.reclaim)
            .ending_work_with_process(self.work_ends_with_process);
        Ok(Candidate {
            inner: Arc::new(Inner {
                election: election.clone(),
                plan,
                driver: Driver::of(&self.clock)?,
                clock: self.clock.clone(),
                healthy: AtomicBool::new(true),
                running: Mutex::default(),
                memory: Arc::new(Mutex::new(memory)),
            }),
        })
    }
}

impl CandidateBuilder {
    /// SAFETY 14: beside peers that may linger, settling is on unless it was set otherwise.
    fn timing(&self, traits: &Traits) -> TimingBuilder {
        let mut timing = self.timing.clone();
        let may_linger = traits.peers == Some(ForeignPeers::MayLinger) && !planted(Mutant::LingeringPeersIgnored);
        if let (true, Settle::Default) = (may_linger, timing.settle) {
            timing.settle = Settle::For(timing.lease.unwrap_or(Timing::DEFAULT_LEASE));
        }
        timing
    }
}

/// The random number of a new incarnation, from the operating system: a generator that is seeded by time could give two hosts that start together,
/// or a process and its fork, the same (SAFETY 11). Never 0, which adapters keep for nobody.
fn nonce() -> Result<u64, Error> {
    let random = getrandom::u64().map_err(|error| {
        Error::new(ErrorKind::Internal, "the operating system gives no random numbers").because(error.to_string())
    })?;
    Ok(random.max(1))
}

/// A process with many elections mostly runs for all of them under one name and with one timing; they share both.
fn shared(name: CandidateName, timing: Timing) -> (CandidateName, Arc<Timing>) {
    static LAST: Mutex<Option<(CandidateName, Arc<Timing>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match last.as_ref().filter(|(last_name, last_timing)| *last_name == name && **last_timing == timing) {
        Some(same) => same.clone(),
        None => last.insert((name, Arc::new(timing))).clone(),
    }
}

/// Most candidates advertise nothing, and nothing takes no room.
fn advertised(bytes: &[u8]) -> Arc<[u8]> {
    if bytes.is_empty() { Arc::default() } else { bytes.into() }
}
