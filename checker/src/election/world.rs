//! One state of a small world, and how a step changes it.

use std::time::Duration;

use tenure::Moment;
use tenure::backend::{Attempt, Beat, Cover, SessionId, Standing, TenureId};
use tenure::driver::{Heart, Pulse};
use tenure::machine::{Action, Actions, Alarm, Ending, Goal, Input, Note, Op, Outcome};
use tenure::mutant::{Mutant, planted};

use super::facts::{Fact, Met};
use super::invariants::{Broken, Invariant};
use super::message::{Body, Message, Reply, Request, Seen};
use super::model::{Answer, Blow};
use super::node::Node;
use super::setting::Setting;
use super::shared::Shared;
use super::store::Store;

/// What a machine's random word is: jitter is not explored, because delays are.
const RANDOM: u64 = 0;

/// A state of the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Ticks since the start.
    pub tick: u8,
    /// Whose clock is fast: one bit a candidate.
    pub(super) fast: u8,
    /// Whether the store's is.
    pub(super) store_fast: bool,
    /// The candidates.
    pub nodes: Vec<Shared<Node>>,
    /// The store.
    pub store: Shared<Store>,
    /// What is under way, sorted.
    pub network: Vec<Message>,
    pub(super) spent: Spent,
    /// How many candidates the store has heard of; they are named in that order.
    pub(super) heard_of: u8,
    /// Tenures that began, with their tokens.
    pub(super) begun: Vec<(TenureId, u64)>,
    /// The tenure that the store had in office last, and its token.
    pub(super) office: Option<(TenureId, u64)>,
    /// What is broken.
    pub broken: Broken,
}

/// Faults so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spent {
    pub(super) late: u8,
    pub(super) duplicates: u8,
    pub(super) pauses: u8,
    pub(super) crashes: u8,
    pub(super) resignations: u8,
}

impl Spent {
    /// All of them together.
    pub(super) fn total(self) -> u8 {
        self.late + self.duplicates + self.pauses + self.crashes + self.resignations
    }
}

/// A world that is being changed by one step.
pub(super) struct Stepping<'a> {
    setting: &'a Setting,
    world: World,
    met: Met,
    /// What will arrive once more.
    doubled: Vec<Message>,
    /// The answer that was made late.
    late: Option<Message>,
}

impl World {
    /// Every candidate starts at once; whoever should start later has its first request delayed.
    pub(super) fn new(setting: &Setting, fast: u8, store_fast: bool) -> Self {
        let nodes: Vec<_> = (0..setting.candidates.len())
            .map(|candidate| Shared::new(Node::new(setting.plan(candidate, 0), 0)))
            .collect();
        let world = World {
            tick: 0,
            fast,
            store_fast,
            nodes,
            store: Shared::new(setting.store.empty()),
            network: Vec::new(),
            spent: Spent::default(),
            heard_of: 0,
            begun: Vec::new(),
            office: None,
            broken: Broken::default(),
        };
        let mut stepping = Stepping::new(setting, world);
        for candidate in 0..setting.candidates.len() {
            stepping.start(candidate);
        }
        stepping.finished()
    }

    /// Whether a candidate's clock is fast.
    pub(super) fn is_fast(&self, candidate: usize) -> bool {
        self.fast & (1 << candidate) != 0
    }

    /// A candidate's clock.
    pub(super) fn now(&self, setting: &Setting, candidate: usize) -> Moment {
        setting.clocks.at(self.tick, self.is_fast(candidate))
    }

    /// The candidates that believe.
    pub(super) fn believers(&self, setting: &Setting) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|node| self.nodes[*node].believes(self.now(setting, *node)))
    }
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

    fn finished(mut self) -> World {
        self.world.network.sort_unstable();
        self.world
    }

    fn note(&mut self, fact: Fact) {
        self.met.note(fact);
    }

    fn now(&self, candidate: usize) -> Moment {
        self.world.now(self.setting, candidate)
    }

    fn store_now(&self) -> Moment {
        self.setting.clocks.at(self.world.tick, self.world.store_fast)
    }

    fn change<T>(&mut self, candidate: usize, change: impl FnOnce(&mut Node) -> T) -> T {
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

    fn start(&mut self, candidate: usize) {
        self.tell(candidate, Input::Start { goal: Goal::Forever, patience: None });
    }

    fn resume(&mut self, candidate: usize) {
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

    fn answer(&mut self, message: &Message) {
        let Body::Answers(reply) = &message.body else { return };
        let candidate = usize::from(message.node);
        let now = self.now(candidate);
        if self.world.nodes[candidate].life != message.life {
            return;
        }
        self.resume(candidate);
        let node = &self.world.nodes[candidate];
        let Some(outcome) = reply.outcome() else {
            return self.beaten(message, reply);
        };
        if !node.machine.awaits(message.attempt_id()) {
            return self.nobody_waited(message, reply);
        }
        let (tenure, session) = (node.machine.tenure(), node.machine.session());
        if now > message.sent {
            self.note(Fact::AnsweredLate);
        }
        match reply {
            Reply::Mismatch(Seen::Held { tenure: seen, .. }) if tenure == Some(*seen) => {
                self.note(Fact::OwnWriteRecognised);
            }
            Reply::Elected(_) if session.is_some() => self.note(Fact::TurnCame),
            _ => {}
        }
        if let Some((session, from, ttl)) = shared_cover(&outcome) {
            self.change(candidate, |node| {
                if node.heart.as_ref().is_none_or(|(known, _)| *known != session) {
                    node.heart = Some((session, Heart::new(from, ttl)));
                }
            });
        }
        self.tell(candidate, Input::Answer { attempt: message.attempt_id(), outcome });
        self.catch_up(candidate);
    }

    fn beaten(&mut self, message: &Message, reply: &Reply) {
        let candidate = usize::from(message.node);
        let now = self.now(candidate);
        let (session, beat) = match reply {
            Reply::Beaten(session, ttl) => (*session, Beat::Extended { ttl: Duration::from_millis(*ttl) }),
            Reply::NoSession(session) => (*session, Beat::Lost),
            _ => return,
        };
        let pulse = self.change(candidate, |node| node.beaten(session, message.attempt_id(), beat, now));
        self.pulsed(candidate, session, pulse);
    }

    /// SAFETY 9, as the driver's core does it: a win that nobody waits for is withdrawn, unless it is the echo of one that is held.
    fn nobody_waited(&mut self, message: &Message, reply: &Reply) {
        let Some(tenure) = reply.won() else { return };
        let node = &self.world.nodes[usize::from(message.node)];
        if (node.machine.claims(tenure) && !planted(Mutant::EchoWithdrawn)) || planted(Mutant::LateWinKept) {
            return;
        }
        self.note(Fact::LateWinWithdrawn);
        let body = Body::Asks(Request::Withdraw { tenure });
        self.world.network.push(Message { attempt: 0, sent: Moment::ZERO, late: false, body, ..message.clone() });
    }

    fn pulsed(&mut self, candidate: usize, session: u64, pulse: Pulse) {
        match pulse {
            Pulse::Rest => {}
            Pulse::Send(attempt) => self.send(candidate, attempt, Request::Beat { session }),
            Pulse::Moved => self.catch_up(candidate),
            Pulse::Lost => {
                self.change(candidate, |node| node.heart = None);
                self.tell(candidate, Input::CoverLost);
            }
        }
    }

    fn catch_up(&mut self, candidate: usize) {
        if let Some((_, heart)) = &self.world.nodes[candidate].heart {
            let (from, ttl) = heart.cover();
            self.tell(candidate, Input::CoverMoved { from, ttl });
        }
    }

    fn send(&mut self, candidate: usize, attempt: Attempt, request: Request) {
        let life = self.world.nodes[candidate].life;
        let body = Body::Asks(request);
        let (node, attempt, sent) = (candidate as u8, attempt.id.0, attempt.sent);
        self.world.network.push(Message { node, life, attempt, sent, late: false, body });
    }

    /// Steps the production machine, and obeys it.
    pub(super) fn tell(&mut self, candidate: usize, input: Input) {
        let now = self.now(candidate);
        let actions: Actions = self.change(candidate, |node| {
            let actions = node.machine.step(now, input, RANDOM);
            node.attach();
            actions
        });
        for action in actions {
            self.obey(candidate, action, now);
        }
    }

    fn obey(&mut self, candidate: usize, action: Action, now: Moment) {
        match action {
            Action::Call { attempt, tenure, op } => {
                let request = match op {
                    Op::Stand { displace } => {
                        Request::Stand { tenure, displace: displace.and_then(|version| version.as_number()) }
                    }
                    Op::Renew { version } => {
                        Request::Renew { tenure, version: version.as_number().unwrap_or_default() }
                    }
                    Op::Withdraw => Request::Withdraw { tenure },
                    Op::Inspect => Request::Inspect,
                };
                self.send(candidate, attempt, request);
            }
            Action::WakeAt { at, .. } => self.change(candidate, |node| node.wake = at),
            Action::SetDeadline(term) => {
                let old = self.change(candidate, |node| std::mem::replace(&mut node.term, term));
                // I5: neither is a deadline set that is over, nor one moved that was.
                let late = term.is_some_and(|term| term.deadline <= now);
                let revived = term.is_some() && old.is_some_and(|old| old.deadline <= now);
                if late || revived {
                    self.world.broken.add(Invariant::NothingAfterDeadline);
                }
            }
            Action::StopWork { by } => self.change(candidate, |node| node.stop_by = Some(by)),
            Action::Begin { tenure, token } => {
                self.begin(candidate, tenure, token.map_or(0, tenure::FencingToken::get), now);
            }
            Action::End(ending) => {
                self.change(candidate, |node| node.reign = None);
                match ending {
                    Ending::Expired => {
                        self.note(Fact::Expired);
                        self.note_unheard_renewal(candidate);
                    }
                    Ending::SessionLost => self.note(Fact::SessionLost),
                    _ => {}
                }
            }
            Action::Emit(Note::RenewalFailed) => self.note_unheard_renewal(candidate),
            Action::Emit(Note::AttemptFailed) => {
                let node = &self.world.nodes[candidate];
                if node.machine.tenure().is_some_and(|tenure| self.world.store.has_trace_of(tenure)) {
                    self.note(Fact::WinCommittedUnheard);
                }
            }
            // Nobody touches the records here, and the store forgets nothing.
            Action::Alarm(Alarm::WorkOverran) => {}
            Action::Alarm(_) => self.world.broken.add(Invariant::NoFalseAlarm),
            Action::Watch(_) | Action::Emit(_) | Action::Kill | Action::Finish(_) => {}
        }
    }

    /// The answer to a renewal is under way, so it landed; and its holder has just given it up.
    fn note_unheard_renewal(&mut self, candidate: usize) {
        let landed = self.world.network.iter().any(|message| {
            usize::from(message.node) == candidate && matches!(&message.body, Body::Answers(Reply::Extended(_)))
        });
        if landed {
            self.note(Fact::RenewalCommittedUnheard);
        }
    }

    fn begin(&mut self, candidate: usize, tenure: TenureId, token: u64, now: Moment) {
        let node = &self.world.nodes[candidate];
        if node.term.is_none_or(|term| now >= term.deadline) {
            self.world.broken.add(Invariant::NothingAfterDeadline);
        }
        if node.reign.is_some() || self.world.begun.iter().any(|(begun, _)| *begun == tenure) {
            self.world.broken.add(Invariant::OneTenureABid);
        }
        if self.world.begun.iter().any(|(_, used)| *used == token) {
            self.world.broken.add(Invariant::TokensRise);
        }
        if self.world.begun.last().is_some_and(|(last, _)| last.nonce() / 10 != candidate as u64 + 1) {
            self.note(Fact::LeaderChanged);
        }
        self.world.begun.push((tenure, token));
        if self.world.begun.len() == 3 {
            self.note(Fact::ThreeTenures);
        }
        self.change(candidate, |node| node.reign = Some(tenure));
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

fn shared_cover(outcome: &Outcome) -> Option<(u64, Moment, Duration)> {
    let cover = match outcome {
        Outcome::Stood(Standing::Elected(grant)) => grant.cover,
        Outcome::Stood(Standing::Queued(_, cover)) => (*cover)?,
        _ => return None,
    };
    match cover {
        Cover::Shared { session: SessionId(session), from, ttl } => Some((session, from, ttl)),
        Cover::Own { .. } => None,
    }
}
