//! The thin asynchronous loop around the core: it makes the calls, keeps the watches and reads the clock.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::FutureExt;
use futures_util::stream::{AbortHandle, Abortable, FuturesUnordered, SelectAll, StreamExt, once};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::Instrument;

use super::core::{BackendKey, Called, Command, Core, Happening, Key};
use super::published::{Published, Work};
use crate::backend::{AttemptId, Backend, Beat, Bid, Hint, Renewal, SessionId, Watch};
use crate::clock::AnyClock;
use crate::machine::{Action, Ending, Failure, Finish, Goal, Input, Memory, Op, Outcome, Plan};
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, Moment};

/// The process's driver, or the one of a clock of the user's own.
pub(crate) struct Driver {
    requests: UnboundedSender<Request>,
    clock: AnyClock,
}

/// What the driver's thread is asked to do. Small, for very many can wait at once when a process starts its campaigns.
enum Request {
    Start(Box<Start>),
    Tell(Arc<Published>, Box<Input>),
    Run(Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// A campaign to begin.
pub(crate) struct Start {
    pub(crate) published: Arc<Published>,
    pub(crate) plan: Arc<Plan>,
    /// Where its candidate keeps what it saw of the store.
    pub(crate) memory: Arc<Mutex<Memory>>,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) goal: Goal,
    pub(crate) patience: Option<Duration>,
    pub(crate) healthy: bool,
}

impl Driver {
    /// The driver that serves this clock; its thread is started when it is first needed.
    pub(crate) fn of(clock: &AnyClock) -> Result<Arc<Driver>, Error> {
        static MAIN: Mutex<Option<Arc<Driver>>> = Mutex::new(None);
        static OTHERS: Mutex<Vec<(usize, Weak<Driver>)>> = Mutex::new(Vec::new());
        match clock {
            AnyClock::Boot => {
                let mut main = MAIN.lock().unwrap_or_else(PoisonError::into_inner);
                match main.as_ref().filter(|driver| !driver.requests.is_closed()) {
                    Some(driver) => Ok(driver.clone()),
                    None => Ok(main.insert(Driver::spawn(clock.clone())?).clone()),
                }
            }
            AnyClock::Custom(custom) => {
                let address = custom.identity().unwrap_or(Arc::as_ptr(custom) as *const () as usize);
                let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
                others.retain(|(_, driver)| driver.upgrade().is_some_and(|driver| !driver.requests.is_closed()));
                let known = others.iter().find(|(at, _)| *at == address).and_then(|(_, driver)| driver.upgrade());
                if let Some(driver) = known {
                    return Ok(driver);
                }
                let driver = Driver::spawn(clock.clone())?;
                others.push((address, Arc::downgrade(&driver)));
                Ok(driver)
            }
        }
    }

    pub(crate) fn start(&self, start: Start) {
        let published = start.published.clone();
        if !self.send(Request::Start(Box::new(start))) {
            published.driver_failed();
        }
    }

    pub(crate) fn tell(&self, published: &Arc<Published>, input: Input) {
        self.send(Request::Tell(published.clone(), Box::new(input)));
    }

    /// Runs something beside the campaigns: an observer, an administrator's call.
    pub(crate) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.send(Request::Run(Box::pin(task)));
    }

    /// Resolves at a moment of the driver's clock, or when the driver is no more; for callers without a runtime of their own.
    pub(crate) fn timer(&self, moment: Moment) -> impl Future<Output = ()> + use<> {
        let (done, over) = tokio::sync::oneshot::channel::<()>();
        let clock = self.clock.clone();
        self.run(async move {
            clock.wait_until(moment).await;
            drop(done);
        });
        over.map(drop)
    }

    /// Hands a request to the driver's thread; `false` when it is no more.
    fn send(&self, request: Request) -> bool {
        self.clock.handed_over();
        self.requests.send(request).is_ok()
    }

    fn spawn(clock: AnyClock) -> Result<Arc<Driver>, Error> {
        let (requests, receiver) = unbounded_channel();
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Internal, "the thread that renews leases cannot be started").because(error)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let driver = Arc::new(Driver { requests, clock: clock.clone() });
        std::thread::Builder::new()
            .name("tenure".into())
            .spawn(move || {
                let mut shell = Shell::new(clock, receiver);
                let ran = catch_unwind(AssertUnwindSafe(|| runtime.block_on(shell.run())));
                if ran.is_err() {
                    tracing::error!("tenure's driver panicked: every tenure of this process ends now");
                }
                shell.fail_all();
                shell.clock.at_rest();
                // Calls that still hang are nobody's any more.
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        Ok(driver)
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

/// Something a future of the shell brought back.
enum Done {
    Answered(Called, Result<Outcome, Error>),
    Renewed(Vec<Called>, Vec<Result<Renewal, Error>>),
    Beaten(BackendKey, SessionId, AttemptId, Result<Beat, Error>),
    Tell(Key, Input),
    Nothing,
}

type Doing = Pin<Box<dyn Future<Output = Done> + Send>>;
type Hints = Pin<Box<dyn futures_core::Stream<Item = (Key, Hint)> + Send>>;

/// What is kept with a campaign.
struct Tag {
    published: Arc<Published>,
    memory: Arc<Mutex<Memory>>,
}

struct Shell {
    clock: AnyClock,
    core: Core<Tag>,
    requests: UnboundedReceiver<Request>,
    doing: FuturesUnordered<Doing>,
    hints: SelectAll<Abortable<Hints>>,
    watches: HashMap<Key, AbortHandle>,
    backends: HashMap<BackendKey, Arc<dyn Backend>>,
    addresses: HashMap<usize, BackendKey>,
    /// Those of which a campaign has finished: perhaps nobody uses them any more.
    perhaps_idle: HashSet<BackendKey>,
    next_backend: BackendKey,
    pending: VecDeque<Happening>,
}

impl Shell {
    /// So many ready things of one kind are taken in before the calls they lead to are made.
    const BATCH: usize = 1_024;

    fn new(clock: AnyClock, requests: UnboundedReceiver<Request>) -> Self {
        Shell {
            clock,
            core: Core::new(),
            requests,
            doing: FuturesUnordered::new(),
            hints: SelectAll::new(),
            watches: HashMap::new(),
            backends: HashMap::new(),
            addresses: HashMap::new(),
            perhaps_idle: HashSet::new(),
            next_backend: 0,
            pending: VecDeque::new(),
        }
    }

    async fn run(&mut self) {
        loop {
            let wake = self.core.next_wake();
            tokio::select! {
                biased;
                request = self.requests.recv() => match request {
                    Some(request) => self.requested(request),
                    // Nobody can ask for anything any more, and no campaign runs: campaigns hold on to the driver.
                    None => return,
                },
                Some(done) = self.doing.next(), if !self.doing.is_empty() => self.done(done),
                Some((key, hint)) = self.hints.next(), if !self.hints.is_empty() => self.hinted(key, hint),
                () = rest_until(&self.clock, wake) => {}
            }
            self.take_what_is_ready();
            if self.core.next_wake() <= self.clock.now() {
                self.pending.push_back(Happening::Time);
            }
            self.settle();
        }
    }

    /// Takes in whatever else is there already, so that it is answered in one batch.
    fn take_what_is_ready(&mut self) {
        for _ in 0..Self::BATCH {
            match self.requests.try_recv() {
                Ok(request) => self.requested(request),
                Err(_) => break,
            }
        }
        for _ in 0..Self::BATCH {
            match self.doing.next().now_or_never() {
                Some(Some(done)) => self.done(done),
                _ => break,
            }
        }
        for _ in 0..Self::BATCH {
            match self.hints.next().now_or_never() {
                Some(Some((key, hint))) => self.hinted(key, hint),
                _ => break,
            }
        }
    }

    /// Lets the core work off what is pending, and carries out what it orders.
    fn settle(&mut self) {
        loop {
            while let Some(happening) = self.pending.pop_front() {
                // The clock is read after the happening exists.
                let now = self.clock.now();
                self.core.poll(now, happening, &mut || fastrand::u64(..));
            }
            let commands = self.core.commands();
            for command in commands {
                self.obey(command);
            }
            if self.pending.is_empty() {
                return;
            }
        }
    }

    fn requested(&mut self, request: Request) {
        self.clock.taken_over();
        match request {
            Request::Tell(published, input) => {
                if let Some(key) = published.key() {
                    self.pending.push_back(Happening::Tell(key, *input));
                }
            }
            Request::Run(task) => {
                self.doing.push(Box::pin(async move {
                    if AssertUnwindSafe(task).catch_unwind().await.is_err() {
                        tracing::error!("a task beside the campaigns panicked");
                    }
                    Done::Nothing
                }));
            }
            Request::Start(start) => self.start(*start),
        }
    }

    fn start(&mut self, start: Start) {
        let Start { published, plan, memory, backend, goal, patience, healthy } = start;
        let backend_key = self.backend_key(&backend);
        match self.core.insert(plan, backend_key, Tag { published: published.clone(), memory }) {
            Ok(key) => {
                published.set_key(key);
                self.backends.entry(backend_key).or_insert(backend);
                self.pending.push_back(Happening::Tell(key, Input::Health(healthy)));
                self.pending.push_back(Happening::Tell(key, Input::Start { goal, patience }));
            }
            Err(error) => {
                published.failed(error);
                published.finished(Finish::Refused);
            }
        }
    }

    fn backend_key(&mut self, backend: &Arc<dyn Backend>) -> BackendKey {
        // Not all are looked at: each of very many elections may have a backend of its own.
        self.perhaps_idle.retain(|key| {
            let used = self.core.uses(*key);
            if !used && let Some(idle) = self.backends.remove(key) {
                self.addresses.remove(&address(&idle));
            }
            // One with calls that were never answered is looked at again; one with campaigns, when the next of them finishes.
            used && !self.core.has_campaigns(*key)
        });
        *self.addresses.entry(address(backend)).or_insert_with(|| {
            self.next_backend += 1;
            self.next_backend
        })
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Nothing => {}
            Done::Tell(key, input) => self.pending.push_back(Happening::Tell(key, input)),
            Done::Answered(called, outcome) => {
                let outcome = outcome.unwrap_or_else(|error| self.call_failed(&called, error));
                self.pending.push_back(Happening::Answered(called, outcome));
            }
            Done::Renewed(called, mut answers) => {
                let missing = called.len().saturating_sub(answers.len());
                let unanswered =
                    || Err(Error::unknown_outcome("the backend answered fewer renewals than it was asked for"));
                answers.extend(std::iter::repeat_with(unanswered).take(missing));
                for (called, answer) in called.into_iter().zip(answers) {
                    let outcome = match answer {
                        Ok(renewal) => Outcome::Renewed(renewal),
                        Err(error) => self.call_failed(&called, error),
                    };
                    self.pending.push_back(Happening::Answered(called, outcome));
                }
            }
            Done::Beaten(backend, session, attempt, beat) => {
                if let Err(error) = &beat {
                    tracing::warn!(%error, "a heartbeat failed");
                }
                self.pending.push_back(Happening::Beaten(backend, session, attempt, beat.ok()));
            }
        }
    }

    fn call_failed(&self, called: &Called, error: Error) -> Outcome {
        let failure = Failure::from(&error);
        let error = error.of_election(called.bid.seat());
        tracing::warn!(election = %called.bid.seat(), candidate = called.bid.name(), %error, "a call to the store failed");
        if let Some(Tag { published, .. }) = self.core.tag(called.key) {
            published.failed(error);
        }
        Outcome::Failed(failure)
    }

    fn hinted(&mut self, key: Key, hint: Hint) {
        self.pending.push_back(Happening::Tell(key, Input::Hint(hint)));
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Call(called, op) => {
                let Some(backend) = self.backends.get(&called.backend).cloned() else { return };
                self.doing.push(Box::pin(async move {
                    let span = tracing::debug_span!("call", election = %called.bid.seat(), ?op);
                    let answer = unpanicked(call(&*backend, &called, op)).instrument(span).await;
                    Done::Answered(called, answer)
                }));
            }
            Command::RenewMany(key, called, due) => {
                let Some(backend) = self.backends.get(&key).cloned() else { return };
                self.doing.push(Box::pin(async move {
                    let answers = match due.as_slice() {
                        [one] => {
                            vec![unpanicked(async { backend.renew(&one.bid, &one.version, one.attempt).await }).await]
                        }
                        many => {
                            let answers = unpanicked(async { Ok(backend.renew_many(many).await) }).await;
                            answers.unwrap_or_else(|error| due.iter().map(|_| Err(error.again())).collect())
                        }
                    };
                    Done::Renewed(called, answers)
                }));
            }
            Command::Withdraw(key, bid) => {
                let Some(backend) = self.backends.get(&key).cloned() else { return };
                self.doing.push(Box::pin(async move {
                    if let Err(error) = unpanicked(async { backend.withdraw(&bid).await }).await {
                        tracing::warn!(election = %bid.seat(), tenure = %bid.tenure(), %error, "a late win could not be withdrawn");
                    }
                    Done::Nothing
                }));
            }
            Command::Beat(key, session, attempt) => {
                let Some(backend) = self.backends.get(&key).cloned() else { return };
                self.doing.push(Box::pin(async move {
                    let beat = unpanicked(async { backend.heartbeat(session, attempt).await }).await;
                    Done::Beaten(key, session, attempt.id, beat)
                }));
            }
            Command::Watch(key, bid) => self.watch(key, bid),
            Command::Seen(key, sight) => {
                if let Some(Tag { published, .. }) = self.core.tag(key) {
                    published.seen(&sight);
                }
            }
            Command::Report(key, action) => self.report(key, action),
        }
    }

    fn watch(&mut self, key: Key, bid: Option<Bid>) {
        if let Some(old) = self.watches.remove(&key) {
            old.abort();
        }
        let backend = self.core.backend(key).and_then(|backend| self.backends.get(&backend)).cloned();
        let (Some(bid), Some(backend)) = (bid, backend) else { return };
        let hints = async move {
            match unpanicked(async { backend.watch(bid.seat(), Some(&bid)).await }).await {
                Ok(watch) => {
                    Box::pin(AssertUnwindSafe(watch).catch_unwind().map(|hint| hint.unwrap_or(Hint::Lagged))) as Watch
                }
                Err(error) => {
                    tracing::warn!(election = %bid.seat(), %error, "the election cannot be watched; polling instead");
                    Box::pin(futures_util::stream::empty()) as Watch
                }
            }
        };
        // However it ends, the campaign hears that it can no longer be relied on.
        let hints = once(hints).flatten().chain(once(async { Hint::Lagged })).map(move |hint| (key, hint));
        let (handle, registration) = AbortHandle::new_pair();
        self.watches.insert(key, handle);
        self.hints.push(Abortable::new(Box::pin(hints), registration));
    }

    fn report(&mut self, key: Key, action: Action) {
        let (Some(Tag { published, memory }), Some(machine)) = (self.core.tag(key), self.core.machine(key)) else {
            return;
        };
        // The two that come with every renewal, without a span.
        let action = match action {
            Action::SetDeadline(term) => return published.set_deadline(term),
            Action::Emit(note) => return published.note(note, machine.state()),
            action => action,
        };
        let (seat, name) = (published.plan().seat(), published.plan().name());
        let _campaign = tracing::info_span!("campaign", election = %seat, candidate = %name).entered();
        match action {
            Action::Begin { tenure, token } => {
                tracing::info!(%tenure, ?token, "elected");
                published.begin(tenure, token);
            }
            Action::StopWork { by } => published.stop_work(by),
            Action::End(ending) => {
                if ending.is_voluntary() {
                    tracing::info!(%ending, "leadership ended");
                } else {
                    tracing::warn!(%ending, "leadership lost");
                }
                let work = published.end(ending);
                self.ended(key, ending, work);
            }
            Action::Alarm(alarm) => {
                tracing::error!("{alarm}");
                published.alarm(alarm);
            }
            Action::Kill => {
                tracing::error!("work did not stop after leadership was lost: the process ends");
                std::process::exit(crate::KILLED_EXIT_STATUS);
            }
            Action::Finish(finish) => {
                // Before it is over: whoever waits for that may run again at once.
                if !planted(Mutant::CampaignForgets) {
                    *memory.lock().unwrap_or_else(PoisonError::into_inner) = machine.memory();
                }
                published.finished(finish);
                self.watch(key, None);
                self.perhaps_idle.extend(self.core.backend(key));
                self.core.remove(key);
            }
            Action::Call { .. }
            | Action::WakeAt { .. }
            | Action::Watch(_)
            | Action::SetDeadline(_)
            | Action::Emit(_) => {
                unreachable!("the core keeps the first three, and the last two are done")
            }
        }
    }

    /// Says when guarded work has stopped, where no guard will: those who ended the tenure by their own word have stopped it, and whoever
    /// lost it has the whole grace.
    fn ended(&mut self, key: Key, ending: Ending, work: Work) {
        match work {
            Work::Running => {}
            Work::Unwatched { by } if !matches!(ending, Ending::Resigned | Ending::Stopped) => {
                let clock = self.clock.clone();
                self.doing.push(Box::pin(async move {
                    clock.wait_until(by).await;
                    Done::Tell(key, Input::WorkStopped)
                }));
            }
            Work::Stopped | Work::Unwatched { .. } => self.pending.push_back(Happening::Tell(key, Input::WorkStopped)),
        }
    }

    /// The driver is over: nobody renews any more, so nobody leads any more.
    fn fail_all(&mut self) {
        self.requests.close();
        for Tag { published, .. } in self.core.tags() {
            published.driver_failed();
        }
        while let Ok(request) = self.requests.try_recv() {
            if let Request::Start(start) = request {
                start.published.driver_failed();
            }
        }
    }
}

/// What tells one backend from another while it is kept.
fn address(backend: &Arc<dyn Backend>) -> usize {
    backend.identity().unwrap_or(Arc::as_ptr(backend) as *const () as usize)
}

/// Waits for the next timer. It is polled last, so whenever it has to wait there is nothing else to do.
async fn rest_until(clock: &AnyClock, moment: Moment) {
    let mut wait = std::pin::pin!(clock.wait_until(moment));
    std::future::poll_fn(|context| {
        let waited = wait.as_mut().poll(context);
        if waited.is_pending() {
            clock.at_rest();
        }
        waited
    })
    .await;
}

async fn call(backend: &dyn Backend, called: &Called, op: Op) -> Result<Outcome, Error> {
    let (bid, attempt) = (&called.bid, called.attempt);
    match op {
        Op::Stand { .. } => backend.stand(bid, attempt).await.map(Outcome::Stood),
        Op::Renew { version } => backend.renew(bid, &version, attempt).await.map(Outcome::Renewed),
        Op::Withdraw => backend.withdraw(bid).await.map(|()| Outcome::Withdrew),
        Op::Inspect => backend.inspect(bid.seat()).await.map(Outcome::Inspected),
    }
}

/// A backend that panics has an unknown outcome, and harms nobody else.
async fn unpanicked<T>(call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match AssertUnwindSafe(call).catch_unwind().await {
        Ok(answer) => answer,
        Err(_) => Err(Error::new(ErrorKind::Internal, "the backend panicked").indeterminate().transient(true)),
    }
}
