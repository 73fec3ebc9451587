//! The world: nodes, messages, a store and a resource, driven by one queue of events. No thread, no sleep, no clock but its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::{Bid, Hint, Traits};
use tenure::driver::{Called, Command, Core, Happening, Key};
use tenure::machine::{Action, Ending, Goal, Input, Op, Outcome, Plan, Term};
use tenure::{CandidateName, FencingToken, Moment, Seat, Timing};

use crate::clock::DriftingClock;
use crate::faults::Faults;
use crate::history::{Fact, History};
use crate::resource::Resource;
use crate::rng::Rng;
use crate::store::{Reply, Request, Store};

/// How long a world lasts: faults happen in the first part, and then all is well again.
const FAULTS_END: u64 = 90_000_000_000;
/// Its end.
pub const END: u64 = 180_000_000_000;
/// There is one backend in a node.
const BACKEND: u32 = 0;

/// A message or a deed, due at a true time.
#[derive(Debug)]
enum Event {
    /// A request reaches the store.
    Arrives(usize, u32, Moment, Request, Option<Called>),
    /// An answer reaches a node.
    Answers(usize, u32, Called, Outcome),
    Beaten(usize, u32, tenure::backend::SessionId, tenure::backend::AttemptId, tenure::backend::Beat),
    Hinted(usize, u32, u32, Hint),
    /// A node's timer.
    Wakes(usize, u32),
    WorkStops(usize, u32),
    /// A leader begins its next guarded write, or its write reaches the resource.
    Writes(usize, u32, FencingToken),
    Written(usize, FencingToken, u64),
    StoreExpires,
    Faults,
    Removal,
    Thaws(usize),
    Restarts(usize),
    /// Every fault is over.
    Calm,
}

struct Node {
    clock: DriftingClock,
    core: Core<()>,
    key: Key,
    /// This life of the process; what was meant for an earlier one is lost.
    life: u32,
    up: bool,
    frozen: bool,
    /// What came while it was frozen.
    inbox: Vec<Event>,
    /// When its timer is set for.
    wake: u64,
    watch: u32,
    watching: bool,
    term: Option<Term>,
    stop_by: Moment,
    working: bool,
    token: Option<FencingToken>,
}

/// One seed's world.
pub struct World {
    time: u64,
    order: u64,
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    events: Vec<Option<Event>>,
    free: Vec<usize>,
    rng: Rng,
    faults: Faults,
    calm: bool,
    nodes: Vec<Node>,
    store: Box<dyn Store>,
    store_clock: DriftingClock,
    resource: Resource,
    timing: Arc<Timing>,
    history: History,
}

impl World {
    /// A world of `candidates` for one office in `store`, all of it decided by the seed.
    pub fn new(seed: u64, candidates: usize, store: Box<dyn Store>, faults: Faults) -> Self {
        let mut rng = Rng::new(seed);
        let store_clock = drifting(&mut rng, faults);
        let mut world = World {
            time: 0,
            order: 0,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            faults,
            calm: false,
            nodes: Vec::new(),
            store,
            store_clock,
            resource: Resource::default(),
            timing: Arc::new(Timing::default()),
            history: History::new(faults.is_beyond()),
            rng,
        };
        for node in 0..candidates {
            let clock = drifting(&mut world.rng, faults);
            let (core, key) = world.process(node);
            world.nodes.push(Node {
                clock,
                core,
                key,
                life: 0,
                up: true,
                frozen: false,
                inbox: Vec::new(),
                wake: 0,
                watch: 0,
                watching: false,
                term: None,
                stop_by: Moment::NEVER,
                working: false,
                token: None,
            });
        }
        world
    }

    /// Runs it to its end, and gives what happened.
    pub fn run(mut self) -> History {
        for node in 0..self.nodes.len() {
            self.tell(node, Input::Start { goal: Goal::Forever, patience: None });
        }
        if self.faults.between_faults > 0 {
            self.schedule(self.faults.between_faults / 2, Event::Faults);
        }
        if self.faults.between_removals > 0 {
            self.schedule(self.faults.between_removals / 2, Event::Removal);
        }
        self.schedule(FAULTS_END, Event::Calm);
        while let Some(Reverse((time, _, slot))) = self.queue.pop() {
            if time > END || self.history.is_violated() {
                break;
            }
            self.time = time;
            let event = self.events[slot].take().expect("an event is due once");
            self.free.push(slot);
            self.happen(event);
        }
        let leads = self.nodes.iter().any(|node| believes(node, self.time));
        self.history.close(self.time, leads, &self.resource);
        self.history
    }

    fn process(&mut self, node: usize) -> (Core<()>, Key) {
        let seat = Seat::new("office").expect("a good name");
        let name = CandidateName::new(&format!("node-{node}")).expect("a good name");
        let traits: Traits = self.store.traits();
        let nonce = self.rng.word() | 1;
        let plan = Plan::new(seat, name, nonce, self.timing.clone(), traits);
        let mut core = Core::new();
        let key = core.insert(Arc::new(plan), BACKEND, ()).expect("it is the only one");
        (core, key)
    }

    fn schedule(&mut self, after: u64, event: Event) {
        self.schedule_at(self.time.saturating_add(after), event);
    }

    fn schedule_at(&mut self, time: u64, event: Event) {
        if time > END {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[slot] = Some(event);
        self.order += 1;
        self.queue.push(Reverse((time, self.order, slot)));
    }

    /// The ways a message takes: none if it is lost, two if it is doubled.
    fn ways(&mut self) -> Vec<u64> {
        if self.calm {
            return vec![self.rng.between(200_000, 2_000_000)];
        }
        if self.rng.chance(self.faults.loss) {
            self.history.note(Fact::MessageLost);
            return Vec::new();
        }
        let copies = if self.rng.chance(self.faults.duplication) { 2 } else { 1 };
        let faults = self.faults;
        (0..copies)
            .map(|_| {
                let most = if self.rng.chance(faults.late) { faults.lateness } else { faults.delay };
                self.rng.between(200_000, most.max(200_001))
            })
            .collect()
    }

    fn happen(&mut self, event: Event) {
        // A frozen process takes nothing in; what comes waits for it.
        if let Some(node) = addressee(&event) {
            let (life, frozen, up) = (self.nodes[node.0].life, self.nodes[node.0].frozen, self.nodes[node.0].up);
            if life != node.1 || !up {
                return;
            }
            if frozen {
                self.nodes[node.0].inbox.push(event);
                return;
            }
        }
        match event {
            Event::Arrives(node, life, sent, request, called) => self.arrives(node, life, sent, request, called),
            Event::Answers(node, _, called, outcome) => self.poll(node, Happening::Answered(called, outcome)),
            Event::Beaten(node, _, session, attempt, beat) => {
                self.poll(node, Happening::Beaten(BACKEND, session, attempt, Some(beat)));
            }
            Event::Hinted(node, _, watch, hint) => {
                if self.nodes[node].watch == watch && self.nodes[node].watching {
                    self.tell(node, Input::Hint(hint));
                }
            }
            Event::Wakes(node, _) => {
                self.nodes[node].wake = 0;
                self.poll(node, Happening::Time);
            }
            Event::WorkStops(node, _) => {
                self.nodes[node].working = false;
                self.tell(node, Input::WorkStopped);
            }
            Event::Writes(node, life, token) => self.writes(node, life, token),
            Event::Written(node, token, read) => {
                let stale = !believes(&self.nodes[node], self.time);
                if let Some(lost) = self.resource.write(token, read) {
                    self.history.note(lost);
                }
                if stale {
                    self.history.note(Fact::LateWrite);
                }
            }
            Event::StoreExpires => self.store_changed(),
            Event::Faults => self.fault(),
            Event::Removal => self.removal(),
            Event::Thaws(node) => self.thaws(node),
            Event::Restarts(node) => self.restarts(node),
            Event::Calm => self.calms(),
        }
    }

    fn tell(&mut self, node: usize, input: Input) {
        let key = self.nodes[node].key;
        self.poll(node, Happening::Tell(key, input));
    }

    fn poll(&mut self, node: usize, happening: Happening) {
        let now = self.nodes[node].clock.local(self.time);
        let World { nodes, rng, .. } = self;
        nodes[node].core.poll(now, happening, &mut || rng.word());
        let commands = self.nodes[node].core.commands();
        for command in commands {
            self.obey(node, command);
        }
        let wake = self.nodes[node].core.next_wake();
        let (clock, life) = (self.nodes[node].clock, self.nodes[node].life);
        let at = clock.time_of(wake).max(self.time + 1);
        if at != self.nodes[node].wake {
            self.nodes[node].wake = at;
            self.schedule_at(at, Event::Wakes(node, life));
        }
    }

    fn obey(&mut self, node: usize, command: Command) {
        match command {
            Command::Call(called, op) => self.call(node, called, op),
            Command::RenewMany(_, called, due) => {
                for (called, due) in called.into_iter().zip(due) {
                    let request = Request::Renew(due.bid, due.version);
                    self.send(node, called.attempt.sent, request, Some(called));
                }
            }
            Command::Withdraw(_, bid) => {
                let now = self.nodes[node].clock.local(self.time);
                self.send(node, now, Request::Withdraw(bid), None);
            }
            Command::Beat(_, session, attempt) => {
                self.send(node, attempt.sent, Request::Beat(session, attempt.id), None)
            }
            Command::Watch(_, bid) => self.watches(node, bid),
            Command::Report(_, action) => self.report(node, action),
            Command::Seen(..) => {}
        }
    }

    fn call(&mut self, node: usize, called: Called, op: Op) {
        let request = match op {
            Op::Stand { .. } => Request::Stand(called.bid.clone()),
            Op::Renew { version } => Request::Renew(called.bid.clone(), version),
            Op::Withdraw => Request::Withdraw(called.bid.clone()),
            Op::Inspect => Request::Inspect,
        };
        self.send(node, called.attempt.sent, request, Some(called));
    }

    fn send(&mut self, node: usize, sent: Moment, request: Request, called: Option<Called>) {
        let life = self.nodes[node].life;
        for way in self.ways() {
            self.schedule(way, Event::Arrives(node, life, sent, request.clone(), called.clone()));
        }
    }

    fn watches(&mut self, node: usize, bid: Option<Bid>) {
        self.nodes[node].watch += 1;
        self.nodes[node].watching = bid.is_some();
        if bid.is_some() {
            let (life, watch) = (self.nodes[node].life, self.nodes[node].watch);
            // A subscription is a connection: it stands after a while, or breaks and says so.
            let hint = if self.rng.chance(self.faults.loss) && !self.calm { Hint::Lagged } else { Hint::Armed };
            let way = self.rng.between(200_000, self.faults.delay.max(200_001));
            self.schedule(way, Event::Hinted(node, life, watch, hint));
        }
    }

    fn arrives(&mut self, node: usize, life: u32, sent: Moment, request: Request, called: Option<Called>) {
        let now = self.store_clock.local(self.time);
        let before = self.store.truth(now);
        let client = node * 1_000 + life as usize;
        let reply = self.store.apply(now, client, sent, &request);
        let after = self.store.truth(now);
        self.history.applied(self.time, &request, before, after);
        self.store_changed();
        for way in self.ways() {
            let event = match (&reply, &called, &request) {
                (Reply::Outcome(outcome), Some(called), _) => {
                    Event::Answers(node, life, called.clone(), outcome.clone())
                }
                (Reply::Beat(beat), _, Request::Beat(session, attempt)) => {
                    Event::Beaten(node, life, *session, *attempt, *beat)
                }
                _ => continue,
            };
            self.schedule(way, event);
        }
    }

    /// Something may have changed in the store: who holds the office is checked against who believes, and watchers are told.
    fn store_changed(&mut self) {
        let now = self.store_clock.local(self.time);
        let truth = self.store.truth(now);
        let believers: Vec<_> = self
            .nodes
            .iter()
            .filter(|node| believes(node, self.time))
            .filter_map(|node| node.core.machine(node.key)?.tenure())
            .collect();
        self.history.holds(self.time, truth, &believers);
        for (whom, hint) in self.store.pushes() {
            for node in 0..self.nodes.len() {
                let watches = self.nodes[node].watching && whom.is_none_or(|client| client / 1_000 == node);
                if !watches {
                    continue;
                }
                let (life, watch) = (self.nodes[node].life, self.nodes[node].watch);
                // A push is never lost in silence: where it does not come, the stream breaks.
                let hint = if !self.calm && self.rng.chance(self.faults.loss) { Hint::Lagged } else { hint.clone() };
                let way = self.rng.between(200_000, if self.calm { 2_000_000 } else { self.faults.delay.max(200_001) });
                self.schedule(way, Event::Hinted(node, life, watch, hint));
            }
        }
        let next = self.store_clock.time_of(self.store.next_expiry());
        if next > self.time {
            self.schedule_at(next, Event::StoreExpires);
        }
    }

    fn report(&mut self, node: usize, action: Action) {
        match action {
            Action::SetDeadline(term) => self.nodes[node].term = term,
            Action::Begin { tenure, token } => {
                let others =
                    (0..self.nodes.len()).filter(|other| *other != node && believes(&self.nodes[*other], self.time));
                let rival = others.clone().next();
                let late = !believes(&self.nodes[node], self.time);
                self.history.began(self.time, node, tenure, token, rival, late);
                self.nodes[node].token = token;
                self.nodes[node].working = true;
                self.nodes[node].stop_by = Moment::NEVER;
                if let Some(token) = token {
                    // Raising the fence is a new leader's first act.
                    self.resource.raise(token);
                    let life = self.nodes[node].life;
                    self.schedule(1_000_000, Event::Writes(node, life, token));
                }
            }
            Action::StopWork { by } => {
                let now = self.nodes[node].clock.local(self.time);
                self.nodes[node].stop_by = by;
                // Work takes its time to stop, but no longer than it has.
                let left = by.since(now).as_nanos() as u64;
                let stops = now.after(Duration::from_nanos(self.rng.below(left.max(1))));
                let (clock, life) = (self.nodes[node].clock, self.nodes[node].life);
                self.schedule_at(clock.time_of(stops).max(self.time + 1), Event::WorkStops(node, life));
            }
            Action::End(ending) => self.history.ended(self.time, node, ending),
            Action::Emit(note) => self.history.noted(note),
            Action::Alarm(alarm) => self.history.alarmed(alarm),
            Action::Kill | Action::Finish(_) => {}
            Action::Call { .. } | Action::WakeAt { .. } | Action::Watch(_) => unreachable!("the core keeps these"),
        }
    }

    /// A leader reads the counter and writes it back, one higher; between the two anything can happen to it.
    fn writes(&mut self, node: usize, life: u32, token: FencingToken) {
        let leads = believes(&self.nodes[node], self.time) && self.nodes[node].stop_by == Moment::NEVER;
        if !leads || self.nodes[node].token != Some(token) {
            return;
        }
        let read = self.resource.read();
        let late = self.rng.chance(self.faults.late);
        let way = self.rng.below(if late { self.faults.lateness.max(1) } else { 5_000_000 });
        self.schedule(way, Event::Written(node, token, read));
        let pause = self.rng.between(100_000_000, 900_000_000);
        self.schedule(way + pause, Event::Writes(node, life, token));
    }

    fn fault(&mut self) {
        if self.calm {
            return;
        }
        let node = self.rng.below(self.nodes.len() as u64) as usize;
        if self.nodes[node].up && !self.nodes[node].frozen {
            if self.rng.chance(600_000) {
                self.nodes[node].frozen = true;
                let span = self.rng.between(10_000_000, 40_000_000_000);
                self.history.note(Fact::Paused);
                self.schedule(span, Event::Thaws(node));
            } else {
                self.history.note(Fact::Crashed);
                self.crashes(node);
                let span = self.rng.between(10_000_000, 20_000_000_000);
                self.schedule(span, Event::Restarts(node));
            }
        }
        let next = self.rng.between(self.faults.between_faults / 2, self.faults.between_faults * 3 / 2);
        self.schedule(next, Event::Faults);
    }

    fn crashes(&mut self, node: usize) {
        if self.nodes[node].working {
            self.history.ended(self.time, node, Ending::DriverFailed);
        }
        let crashed = &mut self.nodes[node];
        crashed.up = false;
        crashed.life += 1;
        crashed.term = None;
        crashed.wake = 0;
        crashed.working = false;
        crashed.watching = false;
        crashed.inbox.clear();
    }

    fn restarts(&mut self, node: usize) {
        if self.nodes[node].up {
            return;
        }
        let (core, key) = self.process(node);
        let restarted = &mut self.nodes[node];
        (restarted.core, restarted.key, restarted.up, restarted.frozen) = (core, key, true, false);
        self.tell(node, Input::Start { goal: Goal::Forever, patience: None });
    }

    fn thaws(&mut self, node: usize) {
        if !self.nodes[node].frozen {
            return;
        }
        self.nodes[node].frozen = false;
        for event in std::mem::take(&mut self.nodes[node].inbox) {
            self.happen(event);
        }
    }

    fn removal(&mut self) {
        if self.calm {
            return;
        }
        self.history.note(Fact::Removed);
        self.store.remove();
        self.store_changed();
        let next = self.rng.between(self.faults.between_removals / 2, self.faults.between_removals * 3 / 2);
        self.schedule(next, Event::Removal);
    }

    fn calms(&mut self) {
        self.calm = true;
        for node in 0..self.nodes.len() {
            self.thaws(node);
            if !self.nodes[node].up {
                self.restarts(node);
            }
        }
    }
}

/// A clock within the drift, with an origin of its own.
fn drifting(rng: &mut Rng, faults: Faults) -> DriftingClock {
    // Extremes break more than middles do.
    let rate = match rng.below(4) {
        0 => 1_000_000 - faults.drift,
        1 => 1_000_000 + faults.drift,
        _ => rng.between(1_000_000 - faults.drift, 1_000_001 + faults.drift),
    };
    DriftingClock::new(rate, rng.below(1 << 50))
}

/// Whether a node's program would act as leader at this instant: by its own clock, before its deadline, or stopping its work in time.
fn believes(node: &Node, time: u64) -> bool {
    let now = node.clock.local(time);
    let leads = node.term.is_some_and(|term| now < term.deadline);
    let winds_down = node.working && node.stop_by != Moment::NEVER && now < node.stop_by;
    node.up && (leads || winds_down)
}

/// Whom an event is for, and which life of it.
fn addressee(event: &Event) -> Option<(usize, u32)> {
    match event {
        Event::Answers(node, life, ..)
        | Event::Beaten(node, life, ..)
        | Event::Hinted(node, life, ..)
        | Event::Wakes(node, life)
        | Event::WorkStops(node, life)
        | Event::Writes(node, life, _) => Some((*node, *life)),
        _ => None,
    }
}
