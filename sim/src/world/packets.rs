//! Packets of scripts: a server runs them one after the other, and whatever can happen between two of them does.

use super::{Event, Message, Sender, World};
use crate::history::Fact;
use crate::store::{Packet, Reply, Request, Said, Script};

/// How often a packet arrives in two pieces, in parts per million.
const PARTED: u32 = 100_000;
/// How often a server dies between two steps.
const DEADLY: u32 = 3_000;

impl World {
    /// Runs what arrived. Nothing is answered before all of it is done, and in the server's file.
    pub(super) fn packet_arrives(&mut self, mut message: Message, mut packet: Packet) {
        let mut ran = 0;
        while let Some(script) = packet.steps.pop_front() {
            let said = self.step(&mut message, script, packet.in_full);
            self.note_step(&packet, &said);
            packet.said.push(said);
            ran += 1;
            if !self.calm && self.faults.between_restarts > 0 && self.rng.chance(DEADLY) {
                // Of what it did since it answered last, the file has the beginning.
                let kept = self.rng.below(ran + 1) as usize;
                self.store.persist(kept);
                self.note_break(&packet, Fact::ServerDiedInBid);
                self.server_dies(message.server);
                self.store_changed();
                return self.connection_breaks(&message);
            }
            if packet.steps.is_empty() {
                break;
            }
            if self.is_lost() {
                self.store.persist(usize::MAX);
                self.note_break(&packet, Fact::BidCutShort);
                self.store_changed();
                return self.connection_breaks(&message);
            }
            if !self.calm && self.faults.late > 0 && self.rng.chance(PARTED) {
                self.store.persist(usize::MAX);
                let way = self.some_way(message.from);
                self.schedule_arrival(way, Message { request: Request::Scripts(packet), ..message });
                return self.store_changed();
            }
        }
        self.store.persist(usize::MAX);
        self.answer(message.from, message.server, message.purpose, Reply::Scripts(packet.said));
    }

    fn step(&mut self, message: &mut Message, script: Script, in_full: bool) -> Said {
        if !self.calm && self.rng.chance(self.faults.refusal) {
            return Said::Refused;
        }
        message.request = Request::Script(script, in_full);
        match self.apply(message) {
            Reply::Said(said) => said,
            other => unreachable!("{other:?} to a script"),
        }
    }

    /// Whoever waits for answers on a connection hears that it broke, and not what became of what was sent.
    fn connection_breaks(&mut self, message: &Message) {
        let (from, to) = (self.server_lane(message.server), self.lane(message.from));
        self.lost(from, to, || "what was to be answered".into());
        if let Sender::Node { node, life, id } = message.from {
            let way = self.some_way(message.from);
            self.schedule(way, Event::Replies(node, life, id, None));
        }
    }

    fn note_step(&mut self, packet: &Packet, said: &Said) {
        let has_landed = packet.said.iter().any(Said::has_landed);
        match said {
            Said::Unknown => self.history.note(Fact::ScriptUnknown),
            Said::Refused if has_landed => self.history.note(Fact::RefusedAfterLanding),
            Said::Refused => self.history.note(Fact::ScriptRefused),
            _ => {}
        }
    }

    /// The packet ends here, which is `drawn` where a number was drawn and not stood with.
    fn note_break(&mut self, packet: &Packet, drawn: Fact) {
        if let (Some(Said::Done), Some(Script::Stand(..))) = (packet.said.last(), packet.steps.front()) {
            self.history.note(drawn);
        }
        if let (Some(Said::Ours(_) | Said::Left), Some(Script::Tell(_))) = (packet.said.last(), packet.steps.front()) {
            self.history.note(Fact::LandedUntold);
        }
    }
}
