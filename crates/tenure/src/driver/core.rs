//! The driver without its runtime: a slab of machines, one timer heap, batches. No clock, no task, no I/O, so that a simulator can run
//! exactly what production runs.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use slab::Slab;

use super::heart::{Heart, Pulse};
use super::timers::Timers;
use crate::backend::{Attempt, AttemptId, Beat, Bid, Cover, Due, Hint, Renewal, SessionId, Sight, Standing, TenureId};
use crate::machine::{Action, Failure, Input, Machine, Op, Outcome, Plan};
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, Moment, Seat};

/// Names one campaign in a core; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    index: u32,
    generation: u32,
}

/// Names the backend of a campaign; whoever runs the core numbers them.
pub type BackendKey = u32;

/// What happened to a core.
#[derive(Debug)]
pub enum Happening {
    /// A campaign is told something by its user or by a watch.
    Tell(Key, Input),
    /// A call was answered.
    Answered(Called, Outcome),
    /// A heartbeat was answered; `None`: it failed, or the answer is not known.
    Beaten(BackendKey, SessionId, AttemptId, Option<Beat>),
    /// Time passed.
    Time,
}

/// A call that a core ordered: what its answer must name.
#[derive(Clone, Debug)]
pub struct Called {
    /// The campaign.
    pub key: Key,
    /// Its backend.
    pub backend: BackendKey,
    /// The call.
    pub attempt: Attempt,
    /// What the call is for.
    pub bid: Bid,
    /// Whether it tries to win.
    pub wins: bool,
}

/// What a core orders.
#[derive(Debug)]
pub enum Command {
    /// Call a backend.
    Call(Called, Op),
    /// Renew many elections of one backend with one call.
    RenewMany(BackendKey, Vec<Called>, Vec<Due>),
    /// Remove every trace of a bid; nobody waits for the answer.
    Withdraw(BackendKey, Bid),
    /// Extend a session.
    Beat(BackendKey, SessionId, Attempt),
    /// Watch the election of a campaign, or stop watching it.
    Watch(Key, Option<Bid>),
    /// Tell the campaign's user: any action but calls, watches and wakes.
    Report(Key, Action),
    /// The office was seen like this by the campaign.
    Seen(Key, Sight),
}

#[derive(Debug)]
struct Entry<T> {
    machine: Machine,
    tag: T,
    backend: BackendKey,
    generation: u32,
    wake: Moment,
    slack: u32,
    session: Option<SessionId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sleeper {
    Seat(Key),
    Heart(BackendKey, SessionId),
}

/// How much a backend has to do.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    campaigns: u32,
    /// Calls sent and not answered, those that everybody has given up on included.
    outstanding: u32,
}

/// All campaigns of a process. `T` is what the runner keeps with each.
#[derive(Debug)]
pub struct Core<T> {
    /// Boxed: a table that grows by moving all of them would stop every renewal meanwhile, and leave a hole of its old size.
    entries: Slab<Box<Entry<T>>>,
    timers: Timers<Sleeper>,
    hearts: BTreeMap<(BackendKey, SessionId), Heart>,
    /// Seats on backends that share sessions: none twice (SAFETY 21).
    taken: HashSet<(BackendKey, Seat)>,
    loads: BTreeMap<BackendKey, Load>,
    generations: u32,
    out: Vec<Command>,
    due: BTreeMap<BackendKey, (Vec<Called>, Vec<Due>)>,
}

impl<T> Default for Core<T> {
    fn default() -> Self {
        Core::new()
    }
}

impl<T> Core<T> {
    /// A call is never cancelled, so one that hangs stays; a campaign waits for one at most. So many more may hang on one backend before
    /// no further call is made there.
    pub const MOST_DETACHED: u32 = 256;

    /// So many are woken at once; whoever else is due follows in the next batch. What a batch needs in passing stays small, and so does
    /// the store's work for one call.
    pub const MOST_AT_ONCE: usize = 1_024;

    /// A core without campaigns.
    pub fn new() -> Self {
        Core {
            entries: Slab::new(),
            timers: Timers::new(),
            hearts: BTreeMap::new(),
            taken: HashSet::new(),
            loads: BTreeMap::new(),
            generations: 0,
            out: Vec::new(),
            due: BTreeMap::new(),
        }
    }

    /// Takes a campaign in; it waits for [`Input::Start`]. Refuses the same election twice on one backend that shares sessions.
    pub fn insert(&mut self, plan: Arc<Plan>, backend: BackendKey, tag: T) -> Result<Key, Error> {
        let fresh = !plan.traits().shares_sessions || self.taken.insert((backend, plan.seat().clone()));
        if !fresh && !planted(Mutant::TwoSeatsOnOneSession) {
            let message = "this election already has a candidate on the same session, and to the store the two would be one; give the \
                           second a backend value of its own";
            return Err(Error::new(ErrorKind::AlreadyRunning, message).of_election(plan.seat()));
        }
        self.generations = self.generations.wrapping_add(1);
        self.loads.entry(backend).or_default().campaigns += 1;
        let generation = self.generations;
        let machine = Machine::new(plan);
        let entry = Entry { machine, tag, backend, generation, wake: Moment::NEVER, slack: 0, session: None };
        Ok(Key { index: self.entries.insert(Box::new(entry)) as u32, generation })
    }

    /// Takes out a campaign that has finished.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.attach(key, None);
        self.entry(key)?;
        let entry = self.entries.remove(key.index as usize);
        if entry.machine.plan().traits().shares_sessions {
            self.taken.remove(&(entry.backend, entry.machine.plan().seat().clone()));
        }
        let load = self.loads.entry(entry.backend).or_default();
        load.campaigns -= 1;
        if load.campaigns == 0 && load.outstanding == 0 {
            self.loads.remove(&entry.backend);
        }
        Some(entry.tag)
    }

    /// What the runner keeps with a campaign.
    pub fn tag(&self, key: Key) -> Option<&T> {
        self.entry(key).map(|entry| &entry.tag)
    }

    /// The machine of a campaign.
    pub fn machine(&self, key: Key) -> Option<&Machine> {
        self.entry(key).map(|entry| &entry.machine)
    }

    /// The backend of a campaign.
    pub fn backend(&self, key: Key) -> Option<BackendKey> {
        self.entry(key).map(|entry| entry.backend)
    }

    /// All tags.
    pub fn tags(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| &entry.tag)
    }

    /// Whether this backend is still in use: it has campaigns, or calls that were never answered.
    pub fn uses(&self, backend: BackendKey) -> bool {
        self.loads.contains_key(&backend)
    }

    /// Whether this backend has campaigns.
    pub fn has_campaigns(&self, backend: BackendKey) -> bool {
        self.loads.get(&backend).is_some_and(|load| load.campaigns > 0)
    }

    /// When time must pass next; a moment in the past after more was due than is done at once.
    pub fn next_wake(&self) -> Moment {
        self.timers.next()
    }

    /// Takes one happening in at `now`, which was read after it existed. `random` gives fresh random words.
    pub fn poll(&mut self, now: Moment, happening: Happening, random: &mut dyn FnMut() -> u64) {
        match happening {
            Happening::Tell(key, input) => self.tell(key, input, now, random),
            Happening::Answered(called, outcome) => self.answered(called, outcome, now, random),
            Happening::Beaten(backend, session, attempt, beat) => {
                if let Some(heart) = self.hearts.get_mut(&(backend, session)) {
                    let pulse = heart.answered(attempt, beat, now);
                    self.pulse(backend, session, pulse, now, random);
                }
            }
            Happening::Time => self.time(now, random),
        }
        self.forget_stale_timers();
    }

    /// What is to be done, in order; renewals of one backend come together.
    pub fn commands(&mut self) -> Vec<Command> {
        while let Some((backend, (called, due))) = self.due.pop_first() {
            self.out.push(Command::RenewMany(backend, called, due));
        }
        std::mem::take(&mut self.out)
    }

    fn time(&mut self, now: Moment, random: &mut dyn FnMut() -> u64) {
        let (mut woken, mut early) = (0, Vec::new());
        while woken < Self::MOST_AT_ONCE
            && let Some((at, sleeper)) = self.timers.pop_near(now)
        {
            match sleeper {
                Sleeper::Seat(key) => {
                    // Whoever asked for another wake since is in the heap a second time.
                    let Some(entry) = self.entry(key).filter(|entry| entry.wake == at) else { continue };
                    if at.before(Duration::from_nanos(entry.slack.into())) <= now {
                        woken += 1;
                        self.tell(key, Input::Wake, now, random);
                    } else {
                        early.push((at, sleeper));
                    }
                }
                Sleeper::Heart(..) if at > now => early.push((at, sleeper)),
                Sleeper::Heart(backend, session) => {
                    let Some(heart) = self.hearts.get_mut(&(backend, session)) else { continue };
                    let pulse = heart.tick(now);
                    self.pulse(backend, session, pulse, now, random);
                }
            }
        }
        for (at, sleeper) in early {
            self.timers.set(at, sleeper);
        }
    }

    /// Nobody is to be woken for a timer that its campaign has replaced since, as every answered call leaves one behind.
    fn forget_stale_timers(&mut self) {
        while let Some((at, Sleeper::Seat(key))) = self.timers.first()
            && self.entry(key).is_none_or(|entry| entry.wake != at)
        {
            self.timers.pop();
        }
    }

    fn tell(&mut self, key: Key, input: Input, now: Moment, random: &mut dyn FnMut() -> u64) {
        if let Input::Hint(Hint::Seen(sight)) = &input {
            self.out.push(Command::Seen(key, sight.clone()));
        }
        let Some(entry) = self.entry_mut(key) else { return };
        let actions = entry.machine.step(now, input, random());
        let (backend, plan) = (entry.backend, entry.machine.plan().clone());
        let mut refused = None;
        for action in actions {
            match action {
                Action::Call { attempt, tenure, op } => {
                    if !self.call(key, backend, &plan, attempt, tenure, op) {
                        refused = Some(attempt.id);
                    }
                }
                Action::WakeAt { at, slack } => {
                    if let Some(entry) = self.entry_mut(key) {
                        entry.wake = at;
                        entry.slack = slack.as_nanos().min(Timers::<Sleeper>::LONGEST_SLACK.as_nanos()) as u32;
                    }
                    self.timers.set(at, Sleeper::Seat(key));
                }
                Action::Watch(on) => {
                    let tenure = self.machine(key).and_then(Machine::tenure);
                    let bid = tenure.filter(|_| on).map(|tenure| Bid::new(plan.clone(), tenure, None));
                    self.out.push(Command::Watch(key, bid));
                }
                report => self.out.push(Command::Report(key, report)),
            }
        }
        self.attach(key, self.machine(key).and_then(Machine::session));
        if let Some(attempt) = refused {
            // Nothing was sent, so nothing can have landed; the machine paces its next try itself.
            let outcome = Outcome::Failed(Failure { transient: true, indeterminate: false });
            self.tell(key, Input::Answer { attempt, outcome }, now, random);
        }
    }

    /// Orders a call, unless too many hang on this backend already.
    fn call(
        &mut self,
        key: Key,
        backend: BackendKey,
        plan: &Arc<Plan>,
        attempt: Attempt,
        tenure: TenureId,
        op: Op,
    ) -> bool {
        let load = self.loads.entry(backend).or_default();
        if load.outstanding >= load.campaigns.saturating_add(Self::MOST_DETACHED) {
            return false;
        }
        load.outstanding += 1;
        let wins = matches!(op, Op::Stand { .. });
        match op {
            Op::Renew { version } => {
                let bid = Bid::new(plan.clone(), tenure, None);
                let (called, due) = self.due.entry(backend).or_default();
                called.push(Called { key, backend, attempt, bid: bid.clone(), wins });
                due.push(Due { bid, version, attempt });
            }
            Op::Stand { displace } => {
                let bid = Bid::new(plan.clone(), tenure, displace.clone());
                self.out.push(Command::Call(Called { key, backend, attempt, bid, wins }, Op::Stand { displace }));
            }
            op => {
                let bid = Bid::new(plan.clone(), tenure, None);
                self.out.push(Command::Call(Called { key, backend, attempt, bid, wins }, op));
            }
        }
        true
    }

    fn answered(&mut self, called: Called, outcome: Outcome, now: Moment, random: &mut dyn FnMut() -> u64) {
        let Called { key, backend, attempt, bid, wins } = called;
        if let Some(load) = self.loads.get_mut(&backend) {
            load.outstanding = load.outstanding.saturating_sub(1);
            if load.campaigns == 0 && load.outstanding == 0 {
                self.loads.remove(&backend);
            }
        }
        if !self.machine(key).is_some_and(|machine| machine.awaits(attempt.id)) {
            // SAFETY 9: nobody waits for it any more, and what it may have won must not stay. An answer that comes a second time is no other
            // win: the tenure it names is the one that holds.
            let claimed = self.machine(key).is_some_and(|machine| machine.claims(bid.tenure()))
                && !planted(Mutant::EchoWithdrawn);
            if wins && may_have_won(&outcome) && !claimed && !planted(Mutant::LateWinKept) {
                self.out.push(Command::Withdraw(backend, bid));
            }
            return;
        }
        if let Some(sight) = seen(&outcome) {
            self.out.push(Command::Seen(key, sight.clone()));
        }
        if let Some(Cover::Shared { session, from, ttl }) = cover(&outcome) {
            self.adopt(backend, session, from, ttl);
        }
        let session = match cover(&outcome) {
            Some(Cover::Shared { session, .. }) => Some(session),
            _ => None,
        };
        self.tell(key, Input::Answer { attempt: attempt.id, outcome }, now, random);
        self.catch_up(key, now, random);
        // A win that was refused needs no session; one that nobody depends on would be kept alive, and its record with it, for ever.
        if let Some(session) = session.filter(|_| !planted(Mutant::OrphanHeart))
            && self.hearts.get(&(backend, session)).is_some_and(|heart| heart.seats.is_empty())
        {
            self.hearts.remove(&(backend, session));
        }
    }

    /// Keeps a session alive from now on.
    fn adopt(&mut self, backend: BackendKey, session: SessionId, from: Moment, ttl: Duration) {
        let heart = self.hearts.entry((backend, session)).or_insert_with(|| Heart::new(from, ttl));
        if heart.seats.is_empty() {
            self.timers.set(heart.wake_at(), Sleeper::Heart(backend, session));
        }
    }

    /// Counts a campaign to the session it now depends on. A session on which nobody depends is left to expire.
    fn attach(&mut self, key: Key, session: Option<SessionId>) {
        let Some(entry) = self.entry_mut(key) else { return };
        let (backend, old) = (entry.backend, entry.session);
        if old == session {
            return;
        }
        entry.session = session;
        if let Some(old) = old
            && let Some(heart) = self.hearts.get_mut(&(backend, old))
        {
            heart.seats.retain(|seat| *seat != key);
            if heart.seats.is_empty() {
                self.hearts.remove(&(backend, old));
            }
        }
        if let Some(heart) = session.and_then(|new| self.hearts.get_mut(&(backend, new))) {
            heart.seats.push(key);
        }
    }

    /// A campaign that joined a session late has what its heartbeats bought since.
    fn catch_up(&mut self, key: Key, now: Moment, random: &mut dyn FnMut() -> u64) {
        let Some(entry) = self.entry(key) else { return };
        let Some(heart) = entry.session.and_then(|session| self.hearts.get(&(entry.backend, session))) else { return };
        let (from, ttl) = (heart.from, heart.ttl);
        self.tell(key, Input::CoverMoved { from, ttl }, now, random);
    }

    fn pulse(
        &mut self,
        backend: BackendKey,
        session: SessionId,
        pulse: Pulse,
        now: Moment,
        random: &mut dyn FnMut() -> u64,
    ) {
        match pulse {
            Pulse::Rest => {}
            Pulse::Send(attempt) => self.out.push(Command::Beat(backend, session, attempt)),
            Pulse::Moved => {
                let Some(heart) = self.hearts.get(&(backend, session)) else { return };
                let (from, ttl, seats) = (heart.from, heart.ttl, heart.seats.clone());
                for key in seats {
                    self.tell(key, Input::CoverMoved { from, ttl }, now, random);
                }
            }
            Pulse::Lost => {
                let Some(heart) = self.hearts.remove(&(backend, session)) else { return };
                // SAFETY 21: a session ends all that it carries.
                for key in heart.seats {
                    if let Some(entry) = self.entry_mut(key) {
                        entry.session = None;
                    }
                    self.tell(key, Input::CoverLost, now, random);
                }
            }
        }
        if let Some(heart) = self.hearts.get(&(backend, session)) {
            self.timers.set(heart.wake_at(), Sleeper::Heart(backend, session));
        }
    }

    fn entry(&self, key: Key) -> Option<&Entry<T>> {
        self.entries.get(key.index as usize).map(Box::as_ref).filter(|entry| entry.generation == key.generation)
    }

    fn entry_mut(&mut self, key: Key) -> Option<&mut Entry<T>> {
        self.entries.get_mut(key.index as usize).map(Box::as_mut).filter(|entry| entry.generation == key.generation)
    }
}

fn may_have_won(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Stood(Standing::Elected(_) | Standing::Queued(..)) => true,
        Outcome::Failed(failure) => failure.indeterminate,
        _ => false,
    }
}

fn seen(outcome: &Outcome) -> Option<&Sight> {
    match outcome {
        Outcome::Stood(Standing::Held(sight) | Standing::Queued(sight, _)) => Some(sight),
        Outcome::Renewed(Renewal::Mismatch(sight)) | Outcome::Inspected(sight) => Some(sight),
        _ => None,
    }
}

fn cover(outcome: &Outcome) -> Option<Cover> {
    match outcome {
        Outcome::Stood(Standing::Elected(grant)) | Outcome::Renewed(Renewal::Extended(grant)) => Some(grant.cover),
        Outcome::Stood(Standing::Queued(_, cover)) => *cover,
        _ => None,
    }
}
