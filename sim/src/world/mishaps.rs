//! What befalls nodes and servers, and what users do.

use tenure::machine::{Ending, Goal, Input};

use super::node::Node;
use super::{Event, FAULTS_END, LIVES, World};
use crate::family::Family;
use crate::history::Fact;
use crate::store::FileStore;

/// A kind of mishap; each has a rhythm of its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mishap {
    Pause,
    Partition,
    Crash,
    Deed,
    Restart,
    Clock,
    Removal,
    Wipe,
    Restore,
    /// A copy is taken, for a restore to come.
    Backup,
}

impl Mishap {
    pub(super) const ALL: [Mishap; 10] = [
        Mishap::Pause,
        Mishap::Partition,
        Mishap::Crash,
        Mishap::Deed,
        Mishap::Restart,
        Mishap::Clock,
        Mishap::Removal,
        Mishap::Wipe,
        Mishap::Restore,
        Mishap::Backup,
    ];
}

impl World {
    pub(super) fn schedule_mishap(&mut self, mishap: Mishap) {
        let faults = &self.faults;
        let mean = match mishap {
            Mishap::Pause => faults.between_pauses,
            Mishap::Partition => faults.between_partitions,
            Mishap::Crash => faults.between_crashes,
            Mishap::Deed => faults.between_deeds,
            Mishap::Restart => faults.between_restarts,
            Mishap::Clock => faults.between_clock_faults,
            Mishap::Removal => faults.between_removals,
            Mishap::Wipe => faults.between_wipes,
            Mishap::Restore => faults.between_restores,
            Mishap::Backup => faults.between_restores / 3,
        };
        if mean > 0 {
            let next = self.rng.between(mean / 4, mean * 7 / 4);
            self.schedule(next, Event::Mishap(mishap));
        }
    }

    pub(super) fn mishap(&mut self, mishap: Mishap) {
        if self.calm {
            return;
        }
        match mishap {
            Mishap::Pause => self.pause(false),
            Mishap::Partition => self.partition(),
            Mishap::Crash => self.crash(),
            Mishap::Deed => self.deed(),
            Mishap::Restart => self.server_restarts(),
            Mishap::Clock => self.clock_fails(),
            Mishap::Removal => {
                self.history.note(Fact::Removed);
                self.tell_of_the_store("the record is deleted by hand");
                self.store.remove();
                self.history.tampered(self.time, false);
                self.store_changed();
            }
            Mishap::Wipe => {
                self.history.note(Fact::Wiped);
                self.tell_of_the_store("all data is lost");
                self.store.wipe();
                self.wiped = true;
                self.history.tampered(self.time, !self.family.tokens_survive_wipes());
                self.void_numbers();
                self.store_changed();
            }
            Mishap::Backup => self.backup = Some(self.store.backup()),
            Mishap::Restore => self.restore(),
        }
        self.schedule_mishap(mishap);
    }

    fn restore(&mut self) {
        let Some(backup) = self.backup.take() else { return };
        self.history.note(Fact::Restored);
        self.tell_of_the_store("an older state is restored");
        self.store = backup;
        self.restores += 1;
        self.store.restored(1_000_000 + self.restores);
        // What was given since is forgotten, also by a store whose numbers follow its clock: a record of then is in office again.
        self.history.tampered(self.time, true);
        self.store_changed();
    }

    fn void_numbers(&mut self) {
        if self.family.tokens_survive_wipes() && self.wiped && self.set_back {
            self.history.numbers_are_void();
        }
    }

    fn pause(&mut self, clock_stops: bool) {
        let node = self.some_node();
        if !self.nodes[node].up || self.nodes[node].frozen.is_some() {
            return;
        }
        self.nodes[node].frozen = Some((self.time, clock_stops));
        self.history.note(if clock_stops { Fact::ClockStoodStill } else { Fact::Paused });
        self.history.say(self.time, node, || "is frozen".into());
        let span = self.rng.between(10_000_000, 40_000_000_000);
        self.schedule(span, Event::Thaws(node));
    }

    pub(super) fn thaws(&mut self, node: usize) {
        let Some((since, clock_stopped)) = self.nodes[node].frozen.take() else { return };
        if clock_stopped {
            let time = self.time;
            self.nodes[node].clock.stood_still(since, time);
        }
        self.history.say(self.time, node, || "goes on".into());
        // Its timers and whatever came meanwhile are there at once, in any order.
        let mut inbox = std::mem::take(&mut self.nodes[node].inbox);
        if self.rng.below(2) == 0 {
            inbox.reverse();
        }
        for event in inbox {
            self.happen(event);
        }
    }

    /// The leader more often than others: it has more to lose.
    fn partition(&mut self) {
        let leader = (0..self.nodes.len()).find(|node| self.nodes[*node].leads(self.time));
        let node = leader.filter(|_| self.rng.below(2) > 0).unwrap_or_else(|| self.some_node());
        let until = (self.time + self.rng.between(1_000_000_000, 40_000_000_000)).min(FAULTS_END);
        self.nodes[node].cut = [(until, 0), (0, until), (until, until)][self.rng.below(3) as usize];
        self.history.note(Fact::Partitioned);
        let (to, from) = self.nodes[node].cut;
        self.history.say(self.time, node, || match (to, from) {
            (0, _) => "hears nothing from the servers".into(),
            (_, 0) => "nothing of it reaches the servers".into(),
            _ => "is cut off from the servers".into(),
        });
    }

    fn crash(&mut self) {
        let node = self.some_node();
        if !self.nodes[node].up {
            return;
        }
        self.history.note(Fact::Crashed);
        self.history.say(self.time, node, || "dies".into());
        if self.nodes[node].working {
            let process = self.number(node);
            self.history.ended(self.time, process, Ending::DriverFailed);
        }
        if self.family.is_one_host() && self.nodes[node].leads(self.time) {
            // The kernel frees the lock before the work is gone, but no longer than κ.
            let most = FileStore::KAPPA.as_nanos() as u64 * 9 / 10;
            let tenure = self.nodes[node].tenure(self.time);
            self.nodes[node].remains = (self.time + self.rng.below(most), tenure);
        }
        let client = node * LIVES + self.nodes[node].life as usize;
        let crashed = &mut self.nodes[node];
        crashed.up = false;
        crashed.life += 1;
        crashed.frozen = None;
        (crashed.term, crashed.working, crashed.watching, crashed.wake) = (None, false, false, 0);
        crashed.inbox.clear();
        crashed.calls.clear();
        crashed.asked.clear();
        self.store.died(client);
        self.store_changed();
        let span = self.rng.between(10_000_000, 20_000_000_000);
        self.schedule(span, Event::Revives(node));
    }

    /// The process starts again and remembers nothing.
    pub(super) fn revives(&mut self, node: usize) {
        if self.nodes[node].up {
            return;
        }
        let old = &self.nodes[node];
        let (clock, timing, life, remains) = (old.clock, old.timing.clone(), old.life, old.remains);
        let (latency, cut) = (old.latency, old.cut);
        let revived = self.process(node, clock, timing, life);
        self.nodes[node] = Node { remains, latency, cut, ..revived };
        self.history.say(self.time, node, || "starts again".into());
        self.tell(node, Input::Start { goal: Goal::Forever, patience: None });
    }

    fn deed(&mut self) {
        // Mostly the leader's user: what others do matters less.
        let leader = (0..self.nodes.len()).find(|node| self.nodes[*node].leads(self.time));
        let node = leader.filter(|_| self.rng.below(4) > 0).unwrap_or_else(|| self.some_node());
        if !self.nodes[node].up || self.nodes[node].frozen.is_some() {
            return;
        }
        match self.rng.below(4) {
            0 => {
                self.history.note(Fact::Restarted);
                self.history.say(self.time, node, || "its user stops the campaign".into());
                self.tell(node, Input::Stop);
            }
            1 => {
                self.history.note(Fact::Unfit);
                self.history.say(self.time, node, || "is not fit to lead".into());
                self.tell(node, Input::Health(false));
                let (life, span) = (self.nodes[node].life, self.rng.below(10_000_000_000));
                self.schedule(span, Event::Recovers(node, life));
            }
            _ => {
                self.history.say(self.time, node, || "its user resigns".into());
                self.tell(node, Input::Resign);
            }
        }
    }

    fn server_restarts(&mut self) {
        let server = self.rng.below(self.clocks.len() as u64) as usize;
        if !self.down[server] {
            self.server_dies(server);
        }
    }

    pub(super) fn server_dies(&mut self, server: usize) {
        self.history.note(Fact::ServerRestarted);
        let lane = self.server_lane(server);
        self.history.say(self.time, lane, || "is down".into());
        self.down[server] = true;
        let span = self.rng.between(10_000_000, 8_000_000_000);
        self.schedule(span, Event::ServerBack(server));
    }

    pub(super) fn server_back(&mut self, server: usize) {
        if !std::mem::take(&mut self.down[server]) {
            return;
        }
        let lane = self.server_lane(server);
        self.history.say(self.time, lane, || "is up again".into());
        if self.family == Family::Nats {
            // Another replica judges from now on, by a clock of its own.
            let (ahead, time) = (self.rng.below(Family::SKEW.as_nanos() as u64) as i64, self.time);
            self.clocks[server].step(time, ahead - self.ahead);
            self.ahead = ahead;
        }
        let World { store, clocks, time, .. } = self;
        store.restart(&crate::store::Present { time: *time, clocks }, server);
        self.store_changed();
    }

    fn clock_fails(&mut self) {
        if self.rng.below(2) == 0 && !self.family.is_one_host() {
            return self.pause(true);
        }
        let server = self.rng.below(self.clocks.len() as u64) as usize;
        let hour = 3_600_000_000_000;
        let by = if self.rng.below(2) == 0 { hour } else { -hour };
        self.history.note(Fact::ClockStepped);
        if by < 0 {
            self.set_back = true;
            self.void_numbers();
        }
        let lane = self.server_lane(server);
        self.history.say(self.time, lane, || format!("its clock is set by {} s", by / 1_000_000_000));
        let time = self.time;
        self.clocks[server].step(time, by);
        // It ends records before their time, as if they were deleted.
        self.history.tampered(time, false);
        self.store_wake = u64::MAX;
        self.store_changed();
    }

    pub(super) fn calms(&mut self) {
        self.calm = true;
        for server in 0..self.down.len() {
            self.server_back(server);
        }
        for node in 0..self.nodes.len() {
            self.thaws(node);
            self.revives(node);
            if self.nodes[node].up {
                self.tell(node, Input::Health(true));
            }
        }
    }

    fn some_node(&mut self) -> usize {
        self.rng.below(self.nodes.len() as u64) as usize
    }

    fn tell_of_the_store(&mut self, what: &str) {
        let lane = self.server_lane(0);
        self.history.say(self.time, lane, || what.into());
    }
}
