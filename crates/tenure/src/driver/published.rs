//! What a campaign shows its user: one atomic deadline, and the rest behind a lock that nobody holds for long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::core::Key;
use super::shell::Driver;
use crate::backend::{Expiry, Held, Sight, TenureId};
use crate::clock::AnyClock;
use crate::event::{Event, Feed};
use crate::incumbent::Onlooker;
use crate::listener::{Change, Listener};
use crate::machine::{Finish, Input, Note, Plan, State, Term};
use crate::mutant::{Mutant, planted};
use crate::{Alarm, Ending, Error, ErrorKind, FencingToken, Incumbent, Moment};

/// A campaign as its handles see it.
#[derive(Debug)]
pub(crate) struct Published {
    line: Line,
    status: Mutex<Status>,
    changed: Notify,
}

/// A cache line of its own: `is_leader` reads it from any thread, and only a renewal writes to it. What never changes fills it up.
#[derive(Debug)]
#[repr(align(64))]
struct Line {
    /// Until when to believe; 0 is never.
    deadline: AtomicU64,
    /// By when work that is guarded must have stopped.
    expiry: AtomicU64,
    clock: AnyClock,
    driver: Arc<Driver>,
    plan: Arc<Plan>,
    key: OnceLock<Key>,
}

#[derive(Debug)]
struct Status {
    state: State,
    tenure: Option<Arc<TenureState>>,
    guards: u32,
    /// Guards were used in this tenure, so their count says whether work runs.
    guarded: bool,
    stopping: bool,
    finish: Option<Finish>,
    more: Option<Box<More>>,
}

/// What most campaigns never need.
#[derive(Debug, Default)]
struct More {
    feeds: Vec<Weak<Feed>>,
    listeners: Vec<Listener>,
    incumbent: Option<Incumbent>,
    onlooker: Onlooker,
    error: Option<Error>,
    unconfirmed: bool,
}

/// One tenure as its handles see it.
#[derive(Debug)]
pub(crate) struct TenureState {
    pub(crate) id: TenureId,
    pub(crate) token: Option<FencingToken>,
    ended: OnceLock<Ending>,
    cancellation: OnceLock<CancellationToken>,
}

impl TenureState {
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.ended.get().copied()
    }

    pub(crate) fn cancellation(&self) -> &CancellationToken {
        let token = self.cancellation.get_or_init(CancellationToken::new);
        // It may have ended before anybody asked.
        if self.ended.get().is_some() {
            token.cancel();
        }
        token
    }
}

impl Published {
    pub(crate) fn new(plan: Arc<Plan>, clock: AnyClock, driver: Arc<Driver>) -> Self {
        Published {
            line: Line {
                deadline: AtomicU64::new(0),
                expiry: AtomicU64::new(0),
                clock,
                driver,
                plan,
                key: OnceLock::new(),
            },
            status: Mutex::new(Status {
                state: State::Candidate,
                tenure: None,
                guards: 0,
                guarded: false,
                stopping: false,
                finish: None,
                more: None,
            }),
            changed: Notify::new(),
        }
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.line.plan
    }

    pub(crate) fn tell(self: &Arc<Self>, input: Input) {
        self.line.driver.tell(self, input);
    }

    pub(super) fn set_key(&self, key: Key) {
        // A campaign is started once.
        let _ = self.line.key.set(key);
    }

    pub(super) fn key(&self) -> Option<Key> {
        self.line.key.get().copied()
    }

    // ---- read by handles

    #[inline]
    pub(crate) fn is_leader(&self) -> bool {
        // The deadline first: a thread that is held up between the two reads finds a later clock, never a later deadline.
        let deadline = self.line.deadline.load(Ordering::Acquire);
        if planted(Mutant::CachedFlag) {
            return deadline != 0;
        }
        deadline != 0 && self.line.clock.now().as_nanos() < deadline
    }

    pub(crate) fn is_held(&self, tenure: &TenureState) -> bool {
        self.is_leader() && tenure.ended.get().is_none()
    }

    pub(crate) fn term(&self) -> Option<Term> {
        let deadline = self.line.deadline.load(Ordering::Acquire);
        let expiry = self.line.expiry.load(Ordering::Acquire);
        (deadline != 0).then_some(Term { deadline: Moment::from_nanos(deadline), expiry: Moment::from_nanos(expiry) })
    }

    pub(crate) fn state(&self) -> State {
        let status = self.status();
        match status.state {
            State::Leader if !self.is_leader() => State::SteppingDown,
            state => state,
        }
    }

    pub(crate) fn finish(&self) -> Option<Finish> {
        self.status().finish
    }

    pub(crate) fn incumbent(&self) -> Option<Incumbent> {
        if let Some(tenure) = self.leading() {
            return Some(Incumbent::own(&self.line.plan, tenure.id, tenure.token));
        }
        self.status().more.as_ref().and_then(|more| more.incumbent.clone())
    }

    pub(crate) fn last_error(&self) -> Option<Error> {
        self.status().more.as_ref().and_then(|more| more.error.as_ref().map(Error::again))
    }

    pub(crate) fn release_unconfirmed(&self) -> bool {
        self.status().more.as_ref().is_some_and(|more| more.unconfirmed)
    }

    /// The present tenure, if this candidate leads at this instant.
    pub(crate) fn leading(&self) -> Option<Arc<TenureState>> {
        let status = self.status();
        status.tenure.clone().filter(|tenure| self.is_held(tenure))
    }

    /// Waits until `ready` gives something; it is asked at once and after every change.
    pub(crate) async fn until<R>(&self, mut ready: impl FnMut(&Self) -> Option<R>) -> R {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(result) = ready(self) {
                return result;
            }
            changed.await;
        }
    }

    pub(crate) fn subscribe(&self) -> Arc<Feed> {
        let feed = Arc::new(Feed::default());
        let mut status = self.status();
        let token = status.tenure.as_ref().filter(|tenure| self.is_held(tenure)).and_then(|tenure| tenure.token);
        feed.push(Event::Currently { state: status.state, token });
        if status.finish.is_some() {
            feed.close();
        } else {
            let feeds = &mut status.more().feeds;
            feeds.retain(|feed| feed.strong_count() > 0);
            feeds.push(Arc::downgrade(&feed));
        }
        feed
    }

    pub(crate) fn listen(&self, listener: Listener) {
        let mut status = self.status();
        // SEEDS 31: a late listener is given the current state, in the same breath in which it begins to hear changes.
        if status.state == State::Leader
            && let Some(tenure) = &status.tenure
        {
            listener.tell(Change::Gained { token: tenure.token });
        }
        status.more().listeners.push(listener);
    }

    /// Waits until the listeners have heard everything, but no longer than the grace: a listener may itself wait for whoever waits here.
    pub(crate) async fn told(&self) {
        let listeners: Vec<_> = self.status().more.iter().flat_map(|more| more.listeners.clone()).collect();
        if listeners.is_empty() || Listener::is_here() {
            return;
        }
        let patience = self.line.driver.timer(self.line.clock.now().after(self.plan().timing().grace()));
        tokio::select! {
            _ = join_all(listeners.iter().map(Listener::idle)) => {}
            () = patience => {}
        }
    }

    /// Counts guarded work in, if this tenure still holds.
    pub(crate) fn enter(&self, tenure: &TenureState) -> bool {
        let mut status = self.status();
        let current = status.tenure.as_ref().is_some_and(|current| current.id == tenure.id);
        if !current || status.stopping || !self.is_held(tenure) {
            return false;
        }
        status.guards += 1;
        status.guarded = true;
        true
    }

    pub(crate) fn leave(self: &Arc<Self>) {
        let last = {
            let mut status = self.status();
            status.guards -= 1;
            status.guards == 0 && status.stopping
        };
        if last {
            self.tell(Input::WorkStopped);
        }
    }

    // ---- written by the driver

    pub(super) fn set_deadline(&self, term: Option<Term>) {
        if let Some(term) = term {
            self.line.expiry.store(term.expiry.as_nanos(), Ordering::Release);
        }
        self.line.deadline.store(term.map_or(0, |term| term.deadline.as_nanos()), Ordering::Release);
        if let Some(Term { deadline, expiry }) = term {
            self.status().publish(Event::Extended { deadline, expiry });
        }
    }

    pub(super) fn begin(&self, id: TenureId, token: Option<FencingToken>) {
        let tenure = TenureState { id, token, ended: OnceLock::new(), cancellation: OnceLock::new() };
        let mut status = self.status();
        status.state = State::Leader;
        status.tenure = Some(Arc::new(tenure));
        (status.guards, status.guarded, status.stopping) = (0, false, false);
        if let Some(more) = &mut status.more {
            more.unconfirmed = false;
        }
        status.publish(Event::Elected { tenure: id, token });
        status.tell(Change::Gained { token });
        drop(status);
        self.changed.notify_waiters();
    }

    pub(super) fn stop_work(&self, by: Moment) {
        self.line.expiry.store(by.as_nanos(), Ordering::Release);
    }

    /// Ends the tenure for its handles; the answer is whether guarded work still runs, as far as can be known.
    pub(super) fn end(&self, ending: Ending) -> Work {
        let mut status = self.status();
        status.state = State::SteppingDown;
        status.stopping = true;
        if let Some(tenure) = &status.tenure {
            let _ = tenure.ended.set(ending);
            if let Some(token) = tenure.cancellation.get() {
                token.cancel();
            }
        }
        status.publish(Event::Lost { ending });
        status.tell(Change::Lost { ending });
        // Work that only watches a cancellation token has the grace, whatever guards say of other work.
        let cancelled = status.tenure.as_ref().is_some_and(|tenure| tenure.cancellation.get().is_some());
        let work = match (status.guards, status.guarded) {
            (0, true) if !cancelled => Work::Stopped,
            (0, _) => Work::Unwatched { by: Moment::from_nanos(self.line.expiry.load(Ordering::Acquire)) },
            _ => Work::Running,
        };
        drop(status);
        self.changed.notify_waiters();
        work
    }

    pub(super) fn note(&self, note: Note, state: State) {
        let mut status = self.status();
        let before = status.state;
        match note {
            Note::Attempting(was) => {
                status.state = State::Candidate;
                status.publish(Event::Attempted { was });
            }
            Note::Settling => {
                status.state = State::Settling;
                status.publish(Event::Settled);
            }
            Note::Resting => status.state = State::Resting,
            Note::Released | Note::ReleaseUnconfirmed => {
                status.state = state;
                status.released(note == Note::Released);
            }
            // A call that was given up brings no error with it.
            Note::AttemptFailed | Note::RenewalFailed
                if status.more.as_ref().is_none_or(|more| more.error.is_none()) =>
            {
                drop(status);
                return self
                    .failed(Error::unavailable("the store did not answer in time").of_election(self.plan().seat()));
            }
            _ => return,
        }
        let changed = status.state != before;
        drop(status);
        // Waking another thread costs more than all the rest of a bid, and nobody waits for a bid as such.
        if changed {
            self.changed.notify_waiters();
        }
    }

    pub(super) fn failed(&self, error: Error) {
        let mut status = self.status();
        status.publish(Event::Failed { message: error.to_string().into() });
        status.more().error = Some(error);
        drop(status);
        self.changed.notify_waiters();
    }

    pub(super) fn alarm(&self, alarm: Alarm) {
        let mut status = self.status();
        status.publish(Event::Alarmed(alarm));
        if let Alarm::TokenWentBack { .. } | Alarm::StoreReplaced { .. } = alarm {
            let error = Error::new(ErrorKind::TokenWentBack, alarm.to_string());
            status.more().error = Some(error.of_election(self.line.plan.seat()));
        }
    }

    pub(super) fn seen(&self, sight: &Sight) {
        let mut status = self.status();
        let incumbent = sight.held().and_then(|_| status.more().onlooker.see(sight, self.line.plan.token_base()));
        let known = status.more.as_ref().and_then(|more| more.incumbent.as_ref());
        if known == incumbent.as_ref() {
            return;
        }
        if let Some(Held { expiry: Expiry::Observe { recorded }, holder, .. }) = sight.held()
            && *recorded != self.plan().timing().lease()
        {
            tracing::warn!(%holder, lease = ?recorded, own = ?self.plan().timing().lease(), "the holder has another lease; that is safe, but waiting follows its lease");
        }
        status.more().incumbent = incumbent.clone();
        status.publish(Event::IncumbentChanged(incumbent));
        drop(status);
        self.changed.notify_waiters();
    }

    pub(super) fn finished(&self, finish: Finish) {
        let mut status = self.status();
        status.state = State::Idle;
        status.finish = Some(finish);
        status.publish(Event::Finished(finish));
        for feed in status.feeds() {
            feed.close();
        }
        drop(status);
        self.changed.notify_waiters();
    }

    /// The driver is gone, and with it everybody who could renew.
    pub(super) fn driver_failed(&self) {
        self.set_deadline(None);
        let leading = self.status().state == State::Leader;
        if leading {
            self.end(Ending::DriverFailed);
        }
        self.finished(Finish::Stopped);
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether guarded work runs when a tenure ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Guards say that it does.
    Running,
    /// Guards say that it does not.
    Stopped,
    /// No guard was used: nobody can tell.
    Unwatched {
        /// By when it must have stopped.
        by: Moment,
    },
}

impl Status {
    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    fn feeds(&self) -> impl Iterator<Item = Arc<Feed>> {
        self.more.iter().flat_map(|more| more.feeds.iter().filter_map(Weak::upgrade))
    }

    fn publish(&mut self, event: Event) {
        for feed in self.feeds() {
            feed.push(event.clone());
        }
    }

    fn tell(&mut self, change: Change) {
        for listener in self.more.iter().flat_map(|more| &more.listeners) {
            listener.tell(change);
        }
    }

    fn released(&mut self, confirmed: bool) {
        if !confirmed || self.more.is_some() {
            self.more().unconfirmed = !confirmed;
        }
        self.publish(Event::Released { confirmed });
    }
}
