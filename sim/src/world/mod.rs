//! The world: nodes, messages, a store and a resource, driven by one queue of events. No thread, no sleep, no clock but its own.

mod calls;
mod mishaps;
mod network;
mod node;
mod office;
mod packets;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::{Hint, TenureId};
use tenure::driver::{Called, Command, Core, Happening, Key, Onlooker};
use tenure::machine::{Goal, Input, Machine, Op, Outcome, Plan};
use tenure::{CandidateName, FencingToken, Moment, Seat, Settle, Timing, TimingBuilder, Tolerance};

use crate::client::Wire;
use crate::clock::DriftingClock;
use crate::family::{Family, Peers};
use crate::faults::Faults;
use crate::foreign::Foreign;
use crate::history::{Fact, History};
use crate::invariants::{Assumptions, Occurrence, Purpose};
use crate::resource::Resource;
use crate::rng::Rng;
use crate::store::{Present, Reply, Request, Store};
use crate::tale::Tale;
use mishaps::Mishap;
use node::{Caller, Node};

/// How long a world lasts: faults happen in the first part, and then all is well again.
const FAULTS_END: u64 = 70_000_000_000;
/// No message is later than this.
const LATEST: u64 = FAULTS_END + 5_000_000_000;
/// Its end.
pub const END: u64 = 120_000_000_000;
/// So many events has no world in which everybody keeps a sensible pace; an ordinary one has a few thousand.
const FLOOD: u64 = 60_000;
/// How many candidates there are.
pub const CANDIDATES: usize = 5;
/// There is one backend in a node.
const BACKEND: u32 = 0;
/// So many lives has no node.
const LIVES: usize = 1_000;

/// A message or a deed, due at a true time.
#[derive(Debug)]
enum Event {
    /// A request reaches a server.
    Arrives(Box<Message>),
    /// An answer reaches a node; `None`: its client gives up waiting.
    Replies(usize, u32, u64, Option<Box<Reply>>),
    /// The answer to a call is told once more.
    Echo(usize, u32, Box<(Called, Outcome)>),
    Hinted(usize, u32, u32, Box<Hint>),
    /// A node's timer.
    Wakes(usize, u32, u64),
    WorkStops(usize, u32),
    /// A user begins the campaign again, or is fit again.
    Starts(usize, u32),
    Recovers(usize, u32),
    /// A leader begins its next guarded write, or its write reaches the resource.
    Writes(usize, u32, FencingToken),
    Written(usize, FencingToken, u64),
    ForeignTicks(usize),
    ForeignHears(usize, u64, Box<Reply>),
    StoreExpires(u64),
    Mishap(Mishap),
    Thaws(usize),
    Revives(usize),
    ServerBack(usize),
    /// Every fault is over.
    Calm,
}

/// A request on its way.
#[derive(Clone, Debug)]
struct Message {
    from: Sender,
    server: usize,
    request: Request,
    purpose: Purpose,
}

#[derive(Clone, Copy, Debug)]
enum Sender {
    Node { node: usize, life: u32, id: u64 },
    Foreign { peer: usize, call: u64 },
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
    family: Family,
    nodes: Vec<Node>,
    foreign: Vec<Foreign>,
    store: Box<dyn Store>,
    clocks: Vec<DriftingClock>,
    /// Until when each server does not answer.
    down: Vec<bool>,
    store_wake: u64,
    backup: Option<Box<dyn Store>>,
    /// A server's clock was set back: numbers that follow it may not survive a wipe.
    set_back: bool,
    wiped: bool,
    /// How far the clock of the replica that judges is ahead.
    ahead: i64,
    restores: u64,
    /// Every candidate waits for longer than any lease before it leads.
    settled: bool,
    /// When a foreign program was last seen to lead.
    foreign_led: u64,
    /// When somebody led first after all faults had ended.
    led_again: Option<u64>,
    resource: Resource,
    history: History,
}

impl World {
    /// The world of a seed; with a tale, where somebody wants to read it.
    pub fn new(seed: u64, family: Family, faults: Faults, told: bool) -> Self {
        // The adapters number their writes by chance.
        fastrand::seed(seed);
        let mut rng = Rng::new(seed ^ (family as u64) << 56);
        let settled = rng.below(3) == 0;
        let clocks: Vec<_> = (0..family.servers()).map(|_| drifting(&mut rng, faults)).collect();
        let lanes = (0..CANDIDATES).map(|node| format!("node-{node}"));
        let lanes = lanes.chain((0..PEERS).filter(|_| family.peers() != Peers::None).map(foreign_name));
        let lanes = lanes.chain((0..family.servers()).map(|server| format!("server-{server}")));
        let tale = told.then(|| Tale::new(lanes.collect()));
        let assumptions = Assumptions {
            clocks: !faults.break_clocks(),
            records: !faults.break_records(),
            numbers: family != Family::Redlock || faults.between_wipes + faults.between_restores == 0,
            no_restores: faults.between_restores == 0,
            settled,
        };
        let mut world = World {
            time: 0,
            order: 0,
            queue: BinaryHeap::with_capacity(64),
            events: Vec::with_capacity(64),
            free: Vec::new(),
            faults,
            calm: false,
            family,
            nodes: Vec::new(),
            foreign: Vec::new(),
            store: family.store(),
            down: vec![false; clocks.len()],
            clocks,
            store_wake: u64::MAX,
            backup: None,
            set_back: false,
            wiped: false,
            ahead: 0,
            restores: 0,
            settled,
            foreign_led: 0,
            led_again: None,
            resource: Resource::default(),
            history: History::new(assumptions, tale),
            rng,
        };
        let mixed = world.rng.below(2) == 0;
        for node in 0..CANDIDATES {
            let clock = if family.is_one_host() { world.clocks[0] } else { drifting(&mut world.rng, faults) };
            // One at least has the default: a store that grants less than the longest lease leaves its candidates without an office.
            let timing = world.timing(mixed && node > 0, settled);
            let mut node = world.process(node, clock, timing, 0);
            node.latency = world.latency();
            world.nodes.push(node);
        }
        if family.peers() != Peers::None {
            for peer in 0..PEERS {
                let clock = drifting(&mut world.rng, faults);
                let careful = world.rng.below(2) == 0;
                world.foreign.push(Foreign::new(family.peers(), foreign_name(peer), clock, careful));
            }
        }
        world
    }

    /// Runs it to its end, and gives what happened.
    pub fn run(mut self) -> History {
        for node in 0..self.nodes.len() {
            self.tell(node, Input::Start { goal: Goal::Forever, patience: None });
        }
        for peer in 0..self.foreign.len() {
            let first = self.rng.below(10_000_000_000);
            self.schedule(first, Event::ForeignTicks(peer));
        }
        for mishap in Mishap::ALL {
            self.schedule_mishap(mishap);
        }
        self.schedule(FAULTS_END, Event::Calm);
        while let Some(Reverse((time, _, slot))) = self.queue.pop() {
            if time > END || self.history.is_violated() {
                break;
            }
            self.time = time;
            if self.order > FLOOD {
                self.history.flooded(time);
                break;
            }
            let event = self.events[slot].take().expect("an event is due once");
            self.free.push(slot);
            self.happen(event);
            if self.calm && self.led_again.is_none() && self.nodes.iter().any(|node| node.leads(time)) {
                self.led_again = Some(time);
            }
            self.draw();
        }
        let believes = self.nodes.iter().any(|node| node.believes(self.time));
        // A foreign program comes and goes as it likes.
        let foreign = self.time < self.foreign_led + FOREIGN_TURN;
        // One that refuses stands aside for those that do not; where all do, they wait for their operator.
        let refused = self.nodes.iter().all(|node| node.refuses);
        // Candidates that refused bid on, and every bid uses up a number: that may take longer.
        let again = self.led_again.is_some_and(|time| time < FAULTS_END + self.stretch())
            || self.history.count(Fact::TokenRefused) > 0;
        let (leads, lost) = (believes && again || foreign || refused, self.resource.lost);
        if !self.history.is_violated() {
            self.history.check(self.time, &Occurrence::Closed { leads, lost });
        }
        let (time, violation) = (self.time, self.history.violation().cloned());
        if let Some(tale) = &mut self.history.tale {
            tale.close(time);
            if let Some(violation) = violation {
                tale.say(time, 0, format!("{} broken: {}", violation.invariant, violation.what));
            }
        }
        self.history
    }

    /// So long after the last fault somebody leads at the latest (I8): the longest lease on the slowest clock, what is still under way, and settling.
    fn stretch(&self) -> u64 {
        if self.settled { 50_000_000_000 } else { 30_000_000_000 }
    }

    /// A candidate's durations. Fleets with mixed leases are safe, and half of the worlds have one.
    fn timing(&mut self, mixed: bool, settled: bool) -> Arc<Timing> {
        let mut builder = TimingBuilder::default();
        if mixed {
            builder.lease = Some(Duration::from_secs([9, 12, 15, 18][self.rng.below(4) as usize]));
            builder.tolerance =
                if self.rng.below(4) == 0 { Tolerance::FailuresLose(2) } else { Tolerance::UntilDeadline };
        }
        if settled {
            // Longer than any lease among them.
            builder.settle = Settle::For(Duration::from_secs(20));
        }
        Arc::new(builder.build().expect("safe durations"))
    }

    /// Slow links are where the instant before sending and that after receiving lie apart; a call and its answer still come in time.
    fn latency(&mut self) -> u64 {
        if self.rng.chance(self.faults.slow) {
            [400_000_000, 1_400_000_000][self.rng.below(2) as usize]
        } else {
            self.faults.delay
        }
    }

    fn process(&mut self, node: usize, clock: DriftingClock, timing: Arc<Timing>, life: u32) -> Node {
        let wire = Wire::default();
        let backend = self.family.client(wire.clone());
        let seat = Seat::new("office").expect("a good name");
        let name = CandidateName::new(&format!("node-{node}")).expect("a good name");
        let nonce = self.rng.word() | 1;
        let plan = Plan::new(seat, name, nonce, timing.clone(), backend.traits())
            .ending_work_with_process(self.family.is_one_host());
        let mut core = Core::new();
        let key: Key = core.insert(Arc::new(plan), BACKEND, ()).expect("it is the only one");
        Node {
            clock,
            core,
            key,
            backend,
            wire,
            timing,
            calls: Vec::new(),
            asked: Vec::new(),
            life,
            up: true,
            frozen: None,
            inbox: Vec::new(),
            latency: self.faults.delay,
            cut: (0, 0),
            wake: 0,
            watch: 0,
            watching: false,
            term: None,
            deadline: Moment::NEVER,
            stop_by: Moment::NEVER,
            stops: Moment::NEVER,
            working: false,
            token: None,
            onlooker: Onlooker::default(),
            refuses: false,
            remains: (0, None),
        }
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

    fn happen(&mut self, event: Event) {
        // A frozen process takes nothing in; what comes waits for it.
        if let Some((node, life)) = addressee(&event) {
            let node = &mut self.nodes[node];
            if node.life != life || !node.up {
                return;
            }
            if node.frozen.is_some() {
                node.inbox.push(event);
                return;
            }
        }
        match event {
            Event::Arrives(message) => self.arrives(*message),
            Event::Replies(node, _, id, reply) => self.replies(node, id, reply.map(|reply| *reply)),
            Event::Echo(node, _, echo) => self.poll(node, Happening::Answered(echo.0, echo.1)),
            Event::Hinted(node, _, watch, hint) => {
                if self.nodes[node].watch == watch && self.nodes[node].watching {
                    self.tell(node, Input::Hint(*hint));
                }
            }
            Event::Wakes(node, _, at) => {
                // One that was set anew since wakes nobody; a second chain of timers would grow from it.
                if self.nodes[node].wake == at {
                    self.nodes[node].wake = 0;
                    self.poll(node, Happening::Time);
                }
            }
            Event::WorkStops(node, _) => {
                self.nodes[node].working = false;
                self.tell(node, Input::WorkStopped);
            }
            Event::Starts(node, _) => self.tell(node, Input::Start { goal: Goal::Forever, patience: None }),
            Event::Recovers(node, _) => self.tell(node, Input::Health(true)),
            Event::Writes(node, life, token) => self.writes(node, life, token),
            Event::Written(node, token, read) => self.written(node, token, read),
            Event::ForeignTicks(peer) => self.foreign_ticks(peer),
            Event::ForeignHears(peer, call, reply) => self.foreign_hears(peer, call, &reply),
            Event::StoreExpires(at) => {
                if self.store_wake == at {
                    self.store_wake = u64::MAX;
                    self.store_changed();
                }
            }
            Event::Mishap(mishap) => self.mishap(mishap),
            Event::Thaws(node) => self.thaws(node),
            Event::Revives(node) => self.revives(node),
            Event::ServerBack(server) => self.server_back(server),
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
        for command in self.nodes[node].core.commands() {
            self.obey(node, command);
        }
        let polled = &mut self.nodes[node];
        let at = polled.clock.time_of(polled.core.next_wake()).max(self.time + 1);
        // A timer that is due earlier wakes it too: timers are hints.
        if polled.wake == 0 || at < polled.wake {
            polled.wake = at;
            let life = polled.life;
            self.schedule_at(at, Event::Wakes(node, life, at));
        }
    }

    fn obey(&mut self, node: usize, command: Command) {
        match command {
            Command::Call(called, op) => self.call(node, called, op),
            Command::RenewMany(_, called, due) => {
                for (called, due) in called.into_iter().zip(due) {
                    self.call(node, called, Op::Renew { version: due.version });
                }
            }
            Command::Withdraw(_, bid) => self.withdraw(node, bid, Caller::Nobody),
            Command::Beat(_, session, attempt) => self.beat(node, session, attempt),
            Command::Watch(_, bid) => self.watches(node, bid.is_some()),
            Command::Report(_, action) => self.report(node, action),
            Command::Seen(_, sight) => {
                let shown = self.nodes[node].onlooker.see(&sight, 0);
                let (process, tenure) = (self.number(node), self.nodes[node].core.machine(self.nodes[node].key));
                let own = sight.held().is_some_and(|held| held.tenure == tenure.and_then(Machine::tenure));
                let token = shown.and_then(|incumbent| incumbent.token());
                self.history.check(self.time, &Occurrence::Shown { process, token, own });
            }
        }
    }

    /// A number for this life of a node that no other has.
    fn number(&self, node: usize) -> usize {
        node * LIVES + self.nodes[node].life as usize
    }

    fn present(&self) -> Present<'_> {
        Present { time: self.time, clocks: &self.clocks }
    }

    fn believers(&self) -> Vec<TenureId> {
        let believing = self.nodes.iter().filter(|node| node.believes(self.time));
        believing.filter_map(|node| node.tenure(self.time)).collect()
    }
}

/// For so long after a foreign program led, nobody need have followed it.
const FOREIGN_TURN: u64 = 45_000_000_000;
/// So many foreign candidates there are, where there are any.
const PEERS: usize = 2;

fn foreign_name(peer: usize) -> String {
    format!("foreign-{peer}")
}

/// A clock within the drift, with an origin of its own.
fn drifting(rng: &mut Rng, faults: Faults) -> DriftingClock {
    // Extremes break more than middles do.
    let rate = match rng.below(4) {
        0 => 1_000_000 - faults.drift,
        1 => 1_000_000 + faults.drift,
        _ => rng.between(1_000_000 - faults.drift, 1_000_001 + faults.drift),
    };
    // Room to be set back by an hour.
    DriftingClock::new(rate, rng.between(1 << 43, 1 << 50))
}

/// Whom an event is for, and which life of it.
fn addressee(event: &Event) -> Option<(usize, u32)> {
    match event {
        Event::Replies(node, life, ..)
        | Event::Echo(node, life, ..)
        | Event::Hinted(node, life, ..)
        | Event::Wakes(node, life, _)
        | Event::WorkStops(node, life)
        | Event::Starts(node, life)
        | Event::Recovers(node, life)
        | Event::Writes(node, life, _) => Some((*node, *life)),
        _ => None,
    }
}
