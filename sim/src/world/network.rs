//! Messages on their way: delayed, lost, doubled, overtaking each other; and what the store pushes.

use tenure::backend::{Hint, Renewal, Standing};
use tenure::mutant::{Mutant, planted};

use super::{Event, LATEST, LIVES, Message, Node, Sender, World};
use crate::client::Asked;
use crate::history::Fact;
use crate::invariants::{Occurrence, Purpose};
use crate::store::{Present, Reply, Request, Said};

impl World {
    pub(super) fn send(&mut self, node: usize, asked: Asked, purpose: Purpose) {
        let Asked { id, server, request } = asked;
        let life = self.nodes[node].life;
        // Some clients give up an answer by themselves, and their caller hears of it; others wait for ever.
        if !self.calm && self.rng.below(2) == 0 {
            let patience = self.rng.between(500_000_000, 6_000_000_000);
            self.schedule(patience, Event::Replies(node, life, id, None));
        }
        self.post(Message { from: Sender::Node { node, life, id }, server, request, purpose });
    }

    pub(super) fn post(&mut self, message: Message) {
        let (lane, server) = (self.lane(message.from), message.server);
        self.history.say(self.time, lane, || format!("asks server-{server}: {}", words(&message.request)));
        let Some(way) = self.way(message.from, |node| node.cut.0) else {
            self.lost(lane, self.server_lane(server), || words(&message.request));
            return;
        };
        if let Some(other) = self.doubled(&message) {
            self.schedule_arrival(other, message.clone());
        }
        self.schedule_arrival(way, message);
    }

    pub(super) fn schedule_arrival(&mut self, way: u64, message: Message) {
        self.schedule(way, Event::Arrives(Box::new(message)));
    }

    pub(super) fn arrives(&mut self, mut message: Message) {
        if self.down[message.server] {
            self.lost(self.lane(message.from), self.server_lane(message.server), || words(&message.request));
            return;
        }
        if let Request::Scripts(packet) = &mut message.request {
            let packet = std::mem::take(packet);
            return self.packet_arrives(message, packet);
        }
        let reply = self.apply(&message);
        self.store.persist(usize::MAX);
        self.answer(message.from, message.server, message.purpose, reply);
    }

    /// A server does what it is asked.
    pub(super) fn apply(&mut self, message: &Message) -> Reply {
        let client = match message.from {
            Sender::Node { node, life, .. } => node * LIVES + life as usize,
            Sender::Foreign { peer, .. } => usize::MAX - peer,
        };
        let World { store, clocks, time, .. } = self;
        let present = Present { time: *time, clocks };
        let before = store.truth(&present);
        let reply = store.apply(present.at(message.server), message.server, client, &message.request);
        let after = store.truth(&present);
        self.history.check(self.time, &Occurrence::Applied { purpose: message.purpose, before, after });
        reply
    }

    /// What it did is seen, and its answer goes out.
    pub(super) fn answer(&mut self, from: Sender, server: usize, purpose: Purpose, reply: Reply) {
        let server_lane = self.server_lane(server);
        let to = self.lane(from);
        if let Some(tale) = &mut self.history.tale {
            let line = format!("answers {}: {}", tale.lanes[to], reply_words(&reply));
            tale.say(self.time, server_lane, line);
        }
        self.store_changed();
        let Some(way) = self.way(from, |node| node.cut.1) else {
            self.lost_after_commit(&reply, purpose);
            self.lost(server_lane, to, || reply_words(&reply));
            return;
        };
        // A client takes the first answer to a request; what is doubled on the way back it never sees.
        self.schedule(
            way,
            match from {
                Sender::Node { node, life, id } => Event::Replies(node, life, id, Some(Box::new(reply))),
                Sender::Foreign { peer, call } => Event::ForeignHears(peer, call, Box::new(reply)),
            },
        );
    }

    fn lost_after_commit(&mut self, reply: &Reply, purpose: Purpose) {
        let won = |said: &Said| matches!(said, Said::Ours(_));
        match (purpose, reply) {
            (Purpose::Stand(_), Reply::Scripts(said)) if said.iter().any(won) => {
                self.history.note(Fact::WinLostAfterCommit);
            }
            (Purpose::Renew(_), Reply::Scripts(said)) if said.iter().any(won) => {
                self.history.note(Fact::RenewalLostAfterCommit);
            }
            (Purpose::Stand(_), Reply::Stood(Standing::Elected(_))) => self.history.note(Fact::WinLostAfterCommit),
            (Purpose::Stand(_), Reply::Done(true) | Reply::Written(_)) => self.history.note(Fact::WinLostAfterCommit),
            (Purpose::Renew(_), Reply::Renewed(Renewal::Extended(_)) | Reply::Done(true) | Reply::Written(_)) => {
                self.history.note(Fact::RenewalLostAfterCommit);
            }
            (_, Reply::Beat(_)) => self.history.note(Fact::RenewalLostAfterCommit),
            _ => {}
        }
    }

    pub(super) fn watches(&mut self, node: usize, on: bool) {
        self.nodes[node].watch += 1;
        self.nodes[node].watching = on;
        if on {
            let (life, watch) = (self.nodes[node].life, self.nodes[node].watch);
            // A subscription is a connection: it stands after a while, or breaks and says so.
            let hint = if self.is_lost() { Hint::Lagged } else { Hint::Armed };
            self.push(node, life, watch, hint);
        }
    }

    /// Something may have changed in the store: who holds the office is checked against who believes, and watchers are told.
    pub(super) fn store_changed(&mut self) {
        self.holder_believes();
        for fact in self.store.facts() {
            self.history.note(fact);
        }
        for (whom, hint) in self.store.pushes() {
            for node in 0..self.nodes.len() {
                let watches = self.nodes[node].watching && whom.is_none_or(|client| client / LIVES == node);
                if !watches {
                    continue;
                }
                let (life, watch) = (self.nodes[node].life, self.nodes[node].watch);
                // A push is never lost in silence: where it does not come, the stream breaks.
                let hint = if self.is_lost() { Hint::Lagged } else { hint.clone() };
                self.push(node, life, watch, hint);
            }
        }
        let next = self.store.next_expiry(&self.present()).max(self.time + 1);
        if next < self.store_wake {
            self.store_wake = next;
            self.schedule_at(next, Event::StoreExpires(next));
        }
    }

    /// Whoever believes must be who the store has in office.
    pub(super) fn holder_believes(&mut self) {
        let World { store, clocks, time, .. } = self;
        let truth = store.truth(&Present { time: *time, clocks });
        let believers = self.believers();
        self.history.check(self.time, &Occurrence::Holds { truth, believers: &believers });
    }

    fn push(&mut self, node: usize, life: u32, watch: u32, hint: Hint) {
        let way = self.ordinary_way(self.nodes[node].latency);
        let (_, from) = self.nodes[node].cut;
        // Whoever is cut off learns that its stream is broken when it is not any more.
        let hint = if self.time < from { Hint::Lagged } else { hint };
        self.schedule_at(self.time.max(from) + way, Event::Hinted(node, life, watch, Box::new(hint)));
    }

    /// How long a message from or to a client takes; `None`: it is lost.
    fn way(&mut self, client: Sender, cut_until: impl Fn(&Node) -> u64) -> Option<u64> {
        if let Sender::Node { node, .. } = client
            && self.time < cut_until(&self.nodes[node])
        {
            return None;
        }
        if self.is_lost() { None } else { Some(self.some_way(client)) }
    }

    /// The way of a second copy, if there is one.
    fn doubled(&mut self, message: &Message) -> Option<u64> {
        // SAFETY 9: an insert by value is not idempotent, and clients that would repeat it by themselves are told not to.
        if let Request::Insert(..) = message.request {
            let again = planted(Mutant::ClientRetries) && !self.calm;
            return again.then(|| self.rng.between(100_000_000, 3_000_000_000));
        }
        if self.calm || !self.rng.chance(self.faults.duplication) {
            return None;
        }
        self.history.note(Fact::MessageDoubled);
        Some(self.some_way(message.from))
    }

    pub(super) fn some_way(&mut self, client: Sender) -> u64 {
        if self.calm || !self.rng.chance(self.faults.late) {
            let latency = match client {
                Sender::Node { node, .. } => self.nodes[node].latency,
                Sender::Foreign { .. } => self.faults.delay,
            };
            return self.ordinary_way(latency);
        }
        // A little late as often as very late.
        let latest = self.faults.lateness >> self.rng.below(7);
        self.rng.between(200_000, latest.min(LATEST.saturating_sub(self.time)))
    }

    fn ordinary_way(&mut self, latency: u64) -> u64 {
        let longest = if self.calm { 2_000_000 } else { latency };
        self.rng.between(200_000, longest)
    }

    pub(super) fn is_lost(&mut self) -> bool {
        !self.calm && self.rng.chance(self.faults.loss)
    }

    pub(super) fn lost(&mut self, from: usize, to: usize, what: impl FnOnce() -> String) {
        self.history.note(Fact::MessageLost);
        if let Some(tale) = &mut self.history.tale {
            let line = format!("LOST on the way from {} to {}: {}", tale.lanes[from], tale.lanes[to], what());
            tale.say(self.time, from, line.clone());
            tale.lost.push((self.time, from, to, line));
        }
    }

    pub(super) fn lane(&self, from: Sender) -> usize {
        match from {
            Sender::Node { node, .. } => node,
            Sender::Foreign { peer, .. } => self.nodes.len() + peer,
        }
    }

    pub(super) fn server_lane(&self, server: usize) -> usize {
        self.nodes.len() + self.foreign.len() + server
    }
}

fn words(request: &Request) -> String {
    shortened(format!("{request:?}"))
}

fn reply_words(reply: &Reply) -> String {
    shortened(format!("{reply:?}"))
}

/// A line that fits a screen; what a bid carries of its plan is the same in all.
fn shortened(text: String) -> String {
    const LONGEST: usize = 160;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
