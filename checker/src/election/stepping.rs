//! One step of a small world: time passes, processes run, stop and die, messages arrive.

use tenure::Moment;
use tenure::backend::TenureId;
use tenure::machine::{Goal, Input};

use super::facts::{Fact, Met};
use super::invariants::Invariant;
use super::message::{Body, Message, Reply, Request};
use super::model::{Answer, Blow};
use super::node::Node;
use super::setting::Setting;
use super::shared::Shared;
use super::store::Store;
use super::world::World;

/// A world that is being changed by one step.
pub(super) struct Stepping<'a> {
    pub(super) setting: &'a Setting,
    pub(super) world: World,
    met: Met,
    /// What will arrive once more.
    doubled: Vec<Message>,
    /// The answer that was made late.
    late: Option<Message>,
}

impl<'a> Stepping<'a> {
    pub(super) fn new(setting: &'a Setting, world: World) -> Self {
        Stepping { setting, world, met: Met::default(), doubled: Vec::new(), late: None }
    }

    /// The next state, and what happened on the way. Nothing, where what was doubled or made late is of no effect: it is the same as without.
    pub(super) fn done(mut self) -> Option<(World, Met)> {
        self.forget();
        let network = &self.world.network;
        if self.doubled.iter().chain(&self.late).any(|message| !network.contains(message)) {
            return None;
        }
        self.judge();
        self.world.network.sort_unstable();
        Some((self.world, self.met))
    }

    pub(super) fn finished(mut self) -> World {
        self.world.network.sort_unstable();
        self.world
    }

    pub(super) fn note(&mut self, fact: Fact) {
        self.met.note(fact);
    }

    pub(super) fn now(&self, candidate: usize) -> Moment {
        self.world.now(self.setting, candidate)
    }

    fn store_now(&self) -> Moment {
        self.setting.clocks.at(self.world.tick, self.world.store_fast)
    }

    pub(super) fn change<T>(&mut self, candidate: usize, change: impl FnOnce(&mut Node) -> T) -> T {
        let mut node = Node::clone(&self.world.nodes[candidate]);
        let result = change(&mut node);
        self.world.nodes[candidate] = Shared::new(node);
        result
    }

    /// True time goes on, and whoever runs does what is due. Between those who run, the order makes no difference: what they send is only under
    /// way.
    pub(super) fn tick(&mut self, blow: Option<Blow>) {
        if let Some(Blow::Stop(candidate)) = blow {
            self.world.spent.pauses += 1;
            self.change(candidate, |node| node.paused = true);
        }
        self.world.tick += 1;
        if let Some(Blow::Crash(candidate)) = blow {
            self.crash(candidate);
        }
        self.delay();
        let now = self.store_now();
        let mut store = Store::clone(&self.world.store);
        if store.expire(now) {
            self.note(Fact::StoreExpired);
            self.world.store = Shared::new(store);
        }
        for candidate in 0..self.world.nodes.len() {
            if !self.world.nodes[candidate].paused {
                self.run(candidate);
            }
        }
        match blow {
            Some(Blow::Crash(candidate)) => self.start(candidate),
            Some(Blow::Resign(candidate)) => {
                self.world.spent.resignations += 1;
                self.tell(candidate, Input::Resign);
            }
            _ => {}
        }
    }

    /// What has not arrived yet is late, unless it only waits for a process that is stopped, or is for one that is dead.
    fn delay(&mut self) {
        let World { network, nodes, spent, .. } = &mut self.world;
        for message in network {
            let node = &nodes[usize::from(message.node)];
            let moot = !message.is_request() && (node.paused || node.life != message.life);
            if !message.late && !moot {
                message.late = true;
                spent.late += 1;
            }
        }
    }

    /// Does what is due in a process.
    pub(super) fn run(&mut self, candidate: usize) {
        self.resume(candidate);
        let now = self.now(candidate);
        if self.world.nodes[candidate].stop_by.is_some_and(|by| now >= by) {
            self.stop_work(candidate);
        }
        // A heart that gives up a beat sends the next at once.
        while let Some((session, pulse)) = self.change(candidate, |node| node.pulse(now)) {
            self.pulsed(candidate, session, pulse);
        }
        for _ in 0..10 {
            if self.world.nodes[candidate].wake > now {
                return;
            }
            self.change(candidate, |node| node.wake = Moment::NEVER);
            self.tell(candidate, Input::Wake);
        }
        panic!("a machine asks to be woken at once, again and again");
    }

    /// Guarded work has stopped.
    pub(super) fn stop_work(&mut self, candidate: usize) {
        self.change(candidate, |node| node.stop_by = None);
        self.tell(candidate, Input::WorkStopped);
    }

    /// A process dies, and another of its name is there without memory.
    fn crash(&mut self, candidate: usize) {
        self.world.spent.crashes += 1;
        let node = &self.world.nodes[candidate];
        let life = node.life + 1;
        if node.leads() {
            self.note(Fact::Restarted);
        }
        self.world.nodes[candidate] = Shared::new(Node::new(self.setting.plan(candidate, life), life));
    }

    pub(super) fn start(&mut self, candidate: usize) {
        self.tell(candidate, Input::Start { goal: Goal::Forever, patience: None });
    }

    pub(super) fn resume(&mut self, candidate: usize) {
        let now = self.now(candidate);
        let node = &self.world.nodes[candidate];
        if !node.paused {
            return;
        }
        if node.term.is_some_and(|term| now >= term.expiry) {
            self.note(Fact::PauseOutlivedLease);
        }
        self.change(candidate, |node| node.paused = false);
    }

    /// Takes a message from the network, or a copy of it.
    fn take(&mut self, message: usize, again: bool) -> Message {
        let message = self.world.network.remove(message);
        if again {
            self.double(&message);
        }
        message
    }

    /// Leaves a copy of a message in the network, for as long as it likes.
    fn double(&mut self, message: &Message) {
        self.world.spent.duplicates += 1;
        self.note(Fact::Doubled);
        let copy = Message { late: true, ..message.clone() };
        self.world.network.push(copy.clone());
        self.doubled.push(copy);
    }

    /// A late answer comes.
    pub(super) fn hear(&mut self, message: usize, again: bool) {
        let message = self.take(message, again);
        self.answer(&message);
    }

    /// A request comes to the store.
    pub(super) fn arrive(&mut self, message: usize, again: bool, answer: Answer) {
        let message = self.take(message, again);
        let Body::Asks(request) = &message.body else { return };
        self.world.heard_of = self.world.heard_of.max(message.node + 1);
        let before = self.world.store.truth();
        let lease = self.setting.candidates[usize::from(message.node)].lease;
        let mut store = Store::clone(&self.world.store);
        let reply = store.apply(self.store_now(), &message, request, lease);
        let after = store.truth();
        self.world.store = Shared::new(store);
        self.check_late_write(
            request,
            before.map(|truth| truth.tenure),
            after.map(|truth| truth.tenure),
            before != after,
        );
        let node = &self.world.nodes[usize::from(message.node)];
        let (alive, paused) = (node.life == message.life, node.paused);
        let awaited = alive && node.machine.awaits(message.attempt_id());
        match (request, &reply) {
            (Request::Stand { tenure, displace }, Reply::Elected(_)) => {
                if before.is_some_and(|truth| truth.tenure != *tenure) && displace.is_some() {
                    self.note(Fact::SilentHolderDisplaced);
                }
                if !awaited {
                    self.note(Fact::GhostLanded);
                }
            }
            (Request::Withdraw { .. }, _) if before != after => self.note(Fact::Withdrawn),
            (Request::Renew { .. } | Request::Withdraw { .. }, _)
                if before.is_some_and(|truth| Some(truth.tenure) != request.tenure()) =>
            {
                self.note(Fact::LateWriteRefused);
            }
            _ => {}
        }
        if !alive || message.attempt == 0 {
            return;
        }
        let reply = Message { late: answer == Answer::Late, body: Body::Answers(reply), ..message };
        match answer {
            Answer::Late => {
                self.world.spent.late += 1;
                self.late = Some(reply.clone());
                self.world.network.push(reply);
                return;
            }
            Answer::Doubled => self.double(&reply),
            Answer::Prompt => {}
        }
        if paused {
            self.world.network.push(reply);
        } else {
            self.answer(&reply);
        }
    }

    /// I6, and that the store's numbers rise (I2).
    fn check_late_write(
        &mut self,
        request: &Request,
        before: Option<TenureId>,
        after: Option<TenureId>,
        changed: bool,
    ) {
        if let Request::Renew { tenure, .. } | Request::Withdraw { tenure } = request {
            let touched_another = before.is_some_and(|before| before != *tenure) && changed;
            let made_a_record = before.is_none() && after == Some(*tenure);
            if touched_another || made_a_record {
                self.world.broken.add(Invariant::LateWritesHarmless);
            }
        }
    }

    /// Drops what can change nothing any more: answers that nobody waits for, and requests that the store will refuse whatever happens. It keeps
    /// the states few, and hides nothing.
    fn forget(&mut self) {
        let World { network, nodes, store, .. } = &mut self.world;
        let stands: Vec<TenureId> = network
            .iter()
            .filter_map(|message| match &message.body {
                Body::Asks(Request::Stand { tenure, .. }) => Some(*tenure),
                _ => None,
            })
            .collect();
        network.retain(|message| {
            let node = &nodes[usize::from(message.node)];
            let alive = node.life == message.life;
            let awaited = alive && message.attempt > 0 && node.machine.awaits(message.attempt_id());
            match &message.body {
                Body::Asks(Request::Beat { session }) => {
                    // An answer to it credits the oldest send that was not answered, so it may matter as long as that session is kept.
                    let kept = alive && node.heart.as_ref().is_some_and(|(id, _)| id == session);
                    kept || store.heeds(&Request::Beat { session: *session }, |_| false)
                }
                Body::Asks(request) => awaited || store.heeds(request, |tenure| stands.contains(&tenure)),
                Body::Answers(Reply::Beaten(session, _) | Reply::NoSession(session)) => {
                    alive && node.heart.as_ref().is_some_and(|(kept, _)| kept == session)
                }
                Body::Answers(reply) => {
                    let won = reply.won().filter(|_| alive);
                    awaited || won.is_some_and(|tenure| store.has_trace_of(tenure) || stands.contains(&tenure))
                }
            }
        });
    }

    /// What can be seen of a state by itself: I1, I2 and I4.
    fn judge(&mut self) {
        let believers: Vec<usize> = self.world.believers(self.setting).collect();
        if believers.len() > 1 {
            self.world.broken.add(Invariant::OneBelieves);
        }
        let truth = self.world.store.truth();
        for node in believers {
            let tenure = self.world.nodes[node].machine.tenure();
            if tenure.is_none() || truth.map(|truth| truth.tenure) != tenure {
                self.world.broken.add(Invariant::StoreAgrees);
            }
        }
        if let Some(truth) = truth {
            if self.world.office.is_some_and(|(last, token)| last != truth.tenure && token >= truth.token) {
                self.world.broken.add(Invariant::TokensRise);
            }
            self.world.office = Some((truth.tenure, truth.token));
        }
    }
}
