//! Foreign candidates: programs that are not ours and contend for the same office, as they are known to behave.

use std::time::Duration;

use tenure::Moment;
use tenure::adapter::{Holder, RegisterRecord};
use tenure::backend::Version;

use crate::clock::DriftingClock;
use crate::family::Peers;
use crate::rng::Rng;
use crate::store::{Reply, Request};

/// What a foreign candidate does next.
#[derive(Debug, Default)]
pub struct Doing {
    /// Asks the server.
    pub ask: Option<Request>,
    /// Begins to lead.
    pub begins: bool,
}

/// One foreign candidate.
#[derive(Debug)]
pub struct Foreign {
    /// Its clock.
    pub clock: DriftingClock,
    /// Whether it counts its lease from the instant before sending, and gives up in time. Those who do not linger beside the next leader.
    pub careful: bool,
    /// Until when, in true time, nothing of it reaches the server, nor the other way round.
    pub cut_off: u64,
    /// Whether it began to lead because records had been removed.
    pub usurped: bool,
    /// Its name.
    pub name: String,
    peers: Peers,
    lease: Duration,
    value: u64,
    /// When it stops believing; zero while it does not.
    until: Moment,
    /// When it gives up the office by itself.
    leaves: Moment,
    /// The call in flight: its number, and when it was sent.
    call: Option<(u64, Moment)>,
    calls: u64,
    /// client-go: the record as last read, since when it is known, and its version.
    seen: Option<(RegisterRecord, Version, Moment)>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Reading,
    Writing,
}

impl Foreign {
    /// How often it tries and renews.
    pub const PACE: Duration = Duration::from_secs(2);

    /// A candidate of this kind.
    pub fn new(peers: Peers, name: String, clock: DriftingClock, careful: bool) -> Self {
        Foreign {
            clock,
            careful,
            name,
            cut_off: 0,
            usurped: false,
            peers,
            lease: Duration::from_secs(15),
            value: 0,
            until: Moment::ZERO,
            leaves: Moment::ZERO,
            call: None,
            calls: 0,
            seen: None,
            stage: Stage::Reading,
        }
    }

    /// Whether it acts as leader.
    pub fn believes(&self, now: Moment) -> bool {
        now < self.until
    }

    /// The number of the call in flight.
    pub fn call(&self) -> u64 {
        self.calls
    }

    /// After how long it gives a call up; client-go takes half of its RenewDeadline.
    fn patience(&self) -> Duration {
        Duration::from_secs(if self.peers == Peers::ClientGo { 5 } else { 3 })
    }

    /// Its clock ticks.
    pub fn ticks(&mut self, now: Moment, rng: &mut Rng) -> Doing {
        if self.call.is_some_and(|(_, sent)| now.since(sent) < self.patience()) {
            return Doing::default();
        }
        let ask = match self.peers {
            Peers::Lockers => self.locks(now, rng),
            _ => {
                self.stage = Stage::Reading;
                Request::Read
            }
        };
        self.asks(now, ask)
    }

    /// An answer comes; one that it does not wait for any more it never hears.
    pub fn hears(&mut self, call: u64, reply: &Reply, now: Moment, rng: &mut Rng) -> Doing {
        let Some((_, sent)) = self.call.filter(|(id, sent)| *id == call && now.since(*sent) < self.patience()) else {
            return Doing::default();
        };
        self.call = None;
        match (self.peers, reply) {
            (Peers::Lockers, Reply::Done(true)) if self.leaves != Moment::ZERO => self.holds(sent, now),
            (Peers::Lockers, _) => Doing::default(),
            (_, Reply::Record(found)) => self.reads(found.as_deref(), now, rng),
            (_, Reply::Written(tenure::adapter::Writing::Written(version))) if self.stage == Stage::Writing => {
                self.wrote(version.clone(), sent, now)
            }
            _ => Doing::default(),
        }
    }

    fn asks(&mut self, now: Moment, request: Request) -> Doing {
        self.calls += 1;
        self.call = Some((self.calls, now));
        Doing { ask: Some(request), begins: false }
    }

    /// `SET NX PX` with a fresh value; an extension while it holds; a deletion of its own value when it has had enough.
    fn locks(&mut self, now: Moment, rng: &mut Rng) -> Request {
        if self.believes(now) && now < self.leaves {
            return Request::ExtendIf(self.value, self.lease);
        }
        if self.until != Moment::ZERO {
            (self.until, self.leaves) = (Moment::ZERO, Moment::ZERO);
            return Request::DeleteIf(self.value);
        }
        self.value = rng.word();
        self.leaves = now.after(Duration::from_nanos(rng.between(5_000_000_000, 40_000_000_000)));
        Request::SetIfAbsent(self.value, self.lease)
    }

    fn holds(&mut self, sent: Moment, now: Moment) -> Doing {
        let begins = !self.believes(now);
        let until = if self.careful { sent.after(self.lease * 9 / 11) } else { now.after(self.lease) };
        if now < until {
            self.until = until;
        }
        Doing { ask: None, begins: begins && now < until }
    }

    /// client-go reads the record, and writes it if it is its own, empty, or has not changed for the recorded duration since it was read first.
    fn reads(&mut self, found: Option<&(RegisterRecord, Version)>, now: Moment, rng: &mut Rng) -> Doing {
        let (record, version) = match found {
            Some((record, version)) => (record.clone(), Some(version.clone())),
            None => (RegisterRecord::default(), None),
        };
        let first_seen = match (&self.seen, &version) {
            (Some((_, seen, at)), Some(version)) if seen == version => *at,
            _ => now,
        };
        if let Some(version) = &version {
            self.seen = Some((record.clone(), version.clone(), first_seen));
        }
        let ours = record.holder.as_ref().is_some_and(|holder| holder.tenure.is_none() && *holder.name == *self.name);
        let free = record.holder.is_none() || now.since(first_seen) > record.lease;
        if ours && now >= self.leaves && self.believes(now) {
            self.until = Moment::ZERO;
            let released = RegisterRecord { term: record.term, write: record.write + 1, ..RegisterRecord::default() };
            // It is told by the stage that this write is no win.
            self.stage = Stage::Reading;
            return self.asks(now, Request::Write(version, Box::new(released)));
        }
        if !ours && !free {
            self.until = Moment::ZERO;
            return Doing::default();
        }
        if !self.believes(now) {
            self.leaves = now.after(Duration::from_nanos(rng.between(5_000_000_000, 40_000_000_000)));
        }
        let next = RegisterRecord {
            holder: Some(Holder { name: self.name.as_str().into(), tenure: None }),
            lease: self.lease,
            term: record.term,
            write: record.write + 1,
            ..RegisterRecord::default()
        };
        self.stage = Stage::Writing;
        self.asks(now, Request::Write(version, Box::new(next)))
    }

    fn wrote(&mut self, version: Version, sent: Moment, now: Moment) -> Doing {
        if let Some((_, seen, at)) = &mut self.seen {
            (*seen, *at) = (version, now);
        }
        let begins = !self.believes(now);
        // As it comes, RenewDeadline is 10 s from when it next tries, which is a pace after the answer. The careful one counts its whole lease, but from
        // the instant before sending; it knows of no bound on clock rates.
        let deadline = Duration::from_secs(10);
        let until = if self.careful { sent.after(self.lease) } else { now.after(Self::PACE + deadline) };
        if now < until {
            self.until = until;
        }
        Doing { ask: None, begins: begins && now < until }
    }
}
