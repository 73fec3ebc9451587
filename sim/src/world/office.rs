//! What leaders do with their office, and what everybody believes.

use std::time::Duration;

use tenure::machine::{Action, Alarm, Finish};
use tenure::{FencingToken, Moment};

use super::{Event, Message, Sender, World};
use crate::foreign::{Doing, Foreign};
use crate::history::Fact;
use crate::invariants::{Occurrence, Purpose};
use crate::store::Reply;
use crate::tale::Span;

impl World {
    pub(super) fn report(&mut self, node: usize, action: Action) {
        self.history.say(self.time, node, || said(&action));
        match action {
            Action::SetDeadline(term) => {
                let now = self.nodes[node].clock.local(self.time);
                let last = std::mem::replace(&mut self.nodes[node].term, term);
                let Some(term) = term else { return };
                self.nodes[node].deadline = term.deadline;
                if let Some(last) = last {
                    // A renewal: the belief goes on, and nobody else may have begun.
                    if now >= last.deadline {
                        let process = self.number(node);
                        self.history.check(self.time, &Occurrence::Revived { process });
                    }
                    self.overlaps_ours(node);
                    self.holder_believes();
                }
            }
            Action::Begin { tenure, token } => {
                let late = !self.nodes[node].leads(self.time);
                let process = self.number(node);
                self.history.began(self.time, process, tenure, token, late);
                self.overlaps(node);
                self.nodes[node].token = token;
                self.nodes[node].working = true;
                self.nodes[node].stop_by = Moment::NEVER;
                self.nodes[node].refuses = false;
                if let Some(token) = token {
                    // Raising the fence is a new leader's first act.
                    self.resource.raise(token);
                    let life = self.nodes[node].life;
                    self.schedule(1_000_000, Event::Writes(node, life, token));
                }
            }
            Action::StopWork { by } => {
                let now = self.nodes[node].clock.local(self.time);
                let told = &mut self.nodes[node];
                // Work takes its time to stop, up to the grace it was given. Whoever is told too late drops it where it stands.
                let punctual = now <= told.deadline.after(Duration::from_millis(100));
                let late = now.since(told.deadline.min(now));
                let left = if punctual { told.timing.grace().saturating_sub(late) } else { by.since(now) };
                let stops = now.after(Duration::from_nanos(self.rng.below((left.as_nanos() as u64).max(1))));
                (told.stop_by, told.stops) = (by, stops);
                let (clock, life) = (told.clock, told.life);
                self.schedule_at(clock.time_of(stops).max(self.time + 1), Event::WorkStops(node, life));
                // Work that goes on after a long stop is a belief as well.
                if self.nodes[node].leads(self.time) {
                    self.overlaps_ours(node);
                    self.holder_believes();
                }
            }
            Action::End(ending) => {
                let process = self.number(node);
                self.history.ended(self.time, process, ending);
            }
            Action::Emit(note) => self.history.noted(note),
            Action::Alarm(alarm) => {
                self.history.alarmed(alarm);
                self.nodes[node].refuses |= matches!(alarm, Alarm::TokenWentBack { .. } | Alarm::StoreReplaced { .. });
            }
            Action::Finish(Finish::Stopped) => {
                let (life, rest) = (self.nodes[node].life, self.rng.below(10_000_000_000));
                self.schedule(if self.calm { 1 } else { rest }, Event::Starts(node, life));
            }
            Action::Kill | Action::Finish(_) => {}
            Action::Call { .. } | Action::WakeAt { .. } | Action::Watch(_) => unreachable!("the core keeps these"),
        }
    }

    /// A node begins to lead: nobody else may believe. A foreign program that gives up later than it may is excused, unless settling is for that.
    fn overlaps(&mut self, node: usize) {
        let time = self.time;
        let newcomer = format!("node-{node}");
        self.overlaps_ours(node);
        for peer in 0..self.foreign.len() {
            let foreign = &self.foreign[peer];
            if !foreign.believes(foreign.clock.local(time)) {
                continue;
            }
            let (believer, careful) = (foreign.name.clone(), foreign.careful);
            // It knows of no settling itself: where a record was removed, it began at once.
            if foreign.usurped {
                continue;
            }
            if careful || self.settled {
                self.history.check(time, &Occurrence::Overlap { newcomer: &newcomer, believer: &believer });
            } else {
                self.history.note(Fact::ForeignLingered);
            }
        }
    }

    /// A node begins or goes on to lead: no other of ours may believe.
    fn overlaps_ours(&mut self, node: usize) {
        let time = self.time;
        let rival = (0..self.nodes.len()).find(|other| *other != node && self.nodes[*other].believes(time));
        let remains = time < self.nodes[node].remains.0;
        if let Some(rival) = rival.or(remains.then_some(node)) {
            let (newcomer, believer) = (format!("node-{node}"), format!("node-{rival}"));
            self.history.check(time, &Occurrence::Overlap { newcomer: &newcomer, believer: &believer });
        }
    }

    pub(super) fn foreign_ticks(&mut self, peer: usize) {
        let now = self.foreign[peer].clock.local(self.time);
        if self.foreign[peer].believes(now) {
            self.foreign_led = self.time;
        }
        let doing = self.foreign[peer].ticks(now, &mut self.rng);
        self.foreign_does(peer, doing);
        let next = self.foreign[peer].clock.time_of(now.after(Foreign::PACE));
        self.schedule_at(next.max(self.time + 1), Event::ForeignTicks(peer));
    }

    pub(super) fn foreign_hears(&mut self, peer: usize, call: u64, reply: &Reply) {
        let now = self.foreign[peer].clock.local(self.time);
        let doing = self.foreign[peer].hears(call, reply, now, &mut self.rng);
        self.foreign_does(peer, doing);
    }

    fn foreign_does(&mut self, peer: usize, doing: Doing) {
        if let Some(request) = doing.ask.filter(|_| self.foreign[peer].cut_off <= self.time) {
            let from = Sender::Foreign { peer, call: self.foreign[peer].call() };
            self.post(Message { from, server: 0, request, purpose: Purpose::Foreign });
        }
        if doing.begins {
            self.history.note(Fact::ForeignLed);
            self.foreign[peer].usurped = self.history.is_tampered(self.time);
            if !self.calm && self.rng.below(2) == 0 {
                self.foreign[peer].cut_off = self.time + 30_000_000_000;
            }
            let lane = self.nodes.len() + peer;
            self.history.say(self.time, lane, || "leads".into());
            let rival = (0..self.nodes.len()).find(|node| self.nodes[*node].believes(self.time));
            // A foreign program knows of no settling: where records are removed, it begins at once.
            if let Some(rival) = rival.filter(|_| !self.faults.break_records()) {
                let (newcomer, believer) = (self.foreign[peer].name.clone(), format!("node-{rival}"));
                self.history.check(self.time, &Occurrence::Overlap { newcomer: &newcomer, believer: &believer });
            }
        }
    }

    /// A leader reads the counter and writes it back, one higher; between the two anything can happen to it.
    pub(super) fn writes(&mut self, node: usize, life: u32, token: FencingToken) {
        let leads = self.nodes[node].leads(self.time) && self.nodes[node].stop_by == Moment::NEVER;
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

    pub(super) fn written(&mut self, node: usize, token: FencingToken, read: u64) {
        if !self.nodes[node].leads(self.time) {
            self.history.note(Fact::LateWrite);
        }
        if let Some(fact) = self.resource.write(token, read) {
            self.history.note(fact);
        }
    }

    /// Draws the lanes of the tale on.
    pub(super) fn draw(&mut self) {
        let Some(tale) = &mut self.history.tale else { return };
        let time = self.time;
        let mut bar = |lane: usize, span: Span, on: bool| {
            if on { tale.begin(time, lane, span) } else { tale.end(time, lane, span) }
        };
        for (lane, node) in self.nodes.iter().enumerate() {
            let leading = node.up && node.term.is_some_and(|term| node.clock.local(time) < term.deadline);
            bar(lane, Span::Believes, leading);
            bar(lane, Span::WindsDown, !leading && node.believes(time));
            bar(lane, Span::Frozen, node.frozen.is_some());
            bar(lane, Span::Down, !node.up);
        }
        for (peer, foreign) in self.foreign.iter().enumerate() {
            bar(self.nodes.len() + peer, Span::Believes, foreign.believes(foreign.clock.local(time)));
        }
        for (server, down) in self.down.iter().enumerate() {
            bar(self.nodes.len() + self.foreign.len() + server, Span::Down, *down);
        }
    }
}

fn said(action: &Action) -> String {
    match action {
        Action::SetDeadline(Some(term)) => format!("may lead until {} of its clock", seconds(term.deadline)),
        Action::SetDeadline(None) => "may not lead any more".into(),
        Action::Begin { tenure, token } => match token {
            Some(token) => format!("LEADS: tenure {tenure}, token {token}"),
            None => format!("LEADS: tenure {tenure}, without a token"),
        },
        Action::StopWork { by } => format!("tells its work to stop by {} of its clock", seconds(*by)),
        Action::End(ending) => format!("leads no more: {ending}"),
        Action::Alarm(alarm) => format!("ALARM: {alarm}"),
        other => format!("{other:?}"),
    }
}

fn seconds(moment: Moment) -> String {
    format!("{:.6} s", moment.as_nanos() as f64 / 1e9)
}
