//! Redis, as the scripts of its backend use it: a record and a counter, scripts that run one at a time, and the file that a restart reads.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tenure::Moment;
use tenure::backend::{Bid, Cover, Expiry, Grant, Held, Hint, Sight, TenureId, Vacancy, Version};
use tenure::mutant::{Mutant, planted};

use super::{Present, Push, Reply, Request, Store, Truth};
use crate::history::Fact;

/// One step of a call; it is atomic, and writes once at most.
#[derive(Clone, Debug)]
pub enum Script {
    /// Draw a number, if there is a chance to win with it.
    Draw(Bid, Drawer),
    /// Win with the number that was drawn, if nobody drew another since.
    Stand(Bid, Drawer),
    /// Extend the record with this version.
    Renew(Bid, Version),
    /// Remove the record of a tenure.
    Withdraw(TenureId),
    /// See who holds the office.
    Inspect,
    /// Tell whoever watches what is there; with a tenure, only if it is that.
    Tell(Option<TenureId>),
}

/// Who drew a number: each bid for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawer(pub TenureId, pub u64);

/// Scripts that travel together.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// What is still to be run.
    pub steps: VecDeque<Script>,
    /// Whether the scripts themselves are in it, and not only their digests.
    pub in_full: bool,
    /// What was answered to those that were run.
    pub said: Vec<Said>,
}

/// What is answered to a script.
#[derive(Clone, Debug)]
pub enum Said {
    /// The record is the caller's, and was written.
    Ours(Grant),
    /// The record of the caller's tenure is gone.
    Left,
    /// This is there, and nothing was written.
    Seen(Sight),
    /// A step was done that answers nothing.
    Done,
    /// The server does not know the script, and has not run it.
    Unknown,
    /// The server did not run it: it is busy, its memory is full, a right is missing.
    Refused,
}

/// A server with an append-only file.
///
/// Nothing is answered before it is in the file. What a script writes in two commands stands there as a transaction, and many servers forget
/// those when they read it.
#[derive(Clone, Debug, Default)]
pub struct RedisStore {
    data: Data,
    file: Data,
    /// What the scripts wrote that is not in the file yet.
    unsafe_yet: Vec<Vec<Write>>,
    /// The scripts that are known by their digests, until the server starts again.
    known: BTreeSet<u8>,
    /// How many scripts were run, and at which of them a number was drawn last.
    ran: u64,
    drawn_at: u64,
    /// When whoever watches looks for itself, because a record's life is over of whose end nobody told.
    look_at: Option<Moment>,
    pushes: Vec<Push>,
    facts: Vec<Fact>,
}

#[derive(Clone, Debug, Default)]
struct Data {
    record: Option<Record>,
    counter: Option<(u64, Drawer)>,
}

#[derive(Clone, Debug)]
struct Record {
    holder: Holder,
    write: u64,
    expiry: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    Ours { tenure: TenureId, name: Arc<str>, token: u64 },
    Foreign(u64),
}

#[derive(Clone, Debug)]
enum Write {
    Counter(u64, Drawer),
    Record(Record),
    Removal,
}

impl Data {
    fn take(&mut self, write: Write) {
        match write {
            Write::Counter(token, drawer) => self.counter = Some((token, drawer)),
            Write::Record(record) => self.record = Some(record),
            Write::Removal => self.record = None,
        }
    }

    fn expire(&mut self, now: Moment) {
        self.record.take_if(|record| now >= record.expiry);
    }
}

impl Record {
    fn is_of(&self, tenure: TenureId) -> bool {
        matches!(&self.holder, Holder::Ours { tenure: holder, .. } if *holder == tenure)
    }

    fn is_foreign(&self, value: u64) -> bool {
        self.holder == Holder::Foreign(value)
    }

    fn token(&self) -> u64 {
        match self.holder {
            Holder::Ours { token, .. } => token,
            Holder::Foreign(_) => 0,
        }
    }

    /// The same for a lease from now on.
    fn extended(self, lease: Duration, now: Moment) -> Record {
        Record { write: above(self.write, now), expiry: now.after(lease), ..self }
    }
}

/// A number that the last one was below: also after a flush, while the clock does not go back (SAFETY 18).
fn above(last: u64, now: Moment) -> u64 {
    (last + 1).max(now.as_nanos() / 1_000)
}

impl Script {
    fn digest(&self) -> u8 {
        match self {
            Script::Draw(..) => 0,
            Script::Stand(..) => 1,
            Script::Renew(..) => 2,
            Script::Withdraw(_) => 3,
            Script::Inspect => 4,
            Script::Tell(_) => 5,
        }
    }
}

impl Said {
    /// Whether the record is as the caller wanted it.
    pub fn has_landed(&self) -> bool {
        matches!(self, Said::Ours(_) | Said::Left)
    }
}

impl RedisStore {
    fn expire(&mut self, now: Moment) {
        let held = self.data.record.is_some();
        self.data.expire(now);
        self.file.expire(now);
        let is_over = held && self.data.record.is_none();
        if is_over || self.look_at.take_if(|at| now >= *at).is_some() {
            self.tell(now);
        }
    }

    fn tell(&mut self, now: Moment) {
        let hint = match self.sight(now) {
            Sight::Vacant(_) => Hint::Vacant,
            held => Hint::Seen(held),
        };
        self.pushes.push((None, hint));
    }

    fn write(&mut self, writes: Vec<Write>) {
        for write in &writes {
            self.data.take(write.clone());
        }
        self.unsafe_yet.push(writes);
    }

    /// The record goes, and nobody is told by that.
    fn remove_silently(&mut self) {
        self.look_at = self.data.record.as_ref().map(|record| record.expiry);
        self.write(vec![Write::Removal]);
    }

    fn run(&mut self, script: &Script, now: Moment) -> Said {
        self.ran += 1;
        match script {
            Script::Draw(bid, drawer) => self.draw(bid, *drawer, now),
            Script::Stand(bid, drawer) => self.stand(bid, *drawer, now),
            Script::Renew(bid, version) => match self.data.record.clone() {
                Some(record) if record.is_of(bid.tenure()) && Version::number(record.write) == *version => {
                    self.put(bid, record.extended(bid.lease(), now), vec![])
                }
                _ => Said::Seen(self.sight(now)),
            },
            Script::Withdraw(tenure) => {
                if self.data.record.as_ref().is_some_and(|record| record.is_of(*tenure)) {
                    self.remove_silently();
                }
                Said::Left
            }
            Script::Inspect => Said::Seen(self.sight(now)),
            Script::Tell(whose) => {
                let theirs = |tenure: TenureId| self.data.record.as_ref().is_some_and(|record| record.is_of(tenure));
                if whose.is_none_or(theirs) {
                    self.look_at = None;
                    self.tell(now);
                }
                Said::Done
            }
        }
    }

    /// Whether a record keeps this bid out.
    fn is_kept_out(&self, bid: &Bid) -> bool {
        self.data.record.as_ref().is_some_and(|record| Some(&Version::number(record.write)) != bid.displace())
    }

    fn next_number(&self, now: Moment) -> u64 {
        let last = self.data.counter.map_or(0, |(token, _)| token);
        above(last.max(self.data.record.as_ref().map_or(0, Record::token)), now)
    }

    fn draw(&mut self, bid: &Bid, drawer: Drawer, now: Moment) -> Said {
        let ours = self.data.record.as_ref().is_some_and(|record| record.is_of(bid.tenure()));
        if ours || self.is_kept_out(bid) {
            return Said::Seen(self.sight(now));
        }
        self.drawn_at = self.ran;
        if !planted(Mutant::RedisBidInOneScript) {
            self.write(vec![Write::Counter(self.next_number(now), drawer)]);
        }
        Said::Done
    }

    fn stand(&mut self, bid: &Bid, drawer: Drawer, now: Moment) -> Said {
        if let Some(record) = self.data.record.clone().filter(|record| record.is_of(bid.tenure())) {
            return self.put(bid, record.extended(bid.lease(), now), vec![]);
        }
        if self.is_kept_out(bid) {
            return Said::Seen(self.sight(now));
        }
        let mut before = vec![];
        if planted(Mutant::RedisBidInOneScript) {
            let token = self.next_number(now);
            self.data.counter = Some((token, drawer));
            before.push(Write::Counter(token, drawer));
        }
        // The last to draw is the only one who can win.
        let last = self.data.counter.filter(|(_, last)| *last == drawer || planted(Mutant::RedisTokenOvertaken));
        let Some((token, _)) = last else {
            self.facts.push(Fact::BidOvertaken);
            return Said::Seen(self.sight(now));
        };
        if self.ran > self.drawn_at + 1 {
            self.facts.push(Fact::BidInterleaved);
        }
        let write = self.data.record.as_ref().map_or(0, |record| record.write);
        let holder = Holder::Ours { tenure: bid.tenure(), name: bid.shared_name(), token };
        self.put(bid, Record { holder, write, expiry: now }.extended(bid.lease(), now), before)
    }

    fn put(&mut self, bid: &Bid, record: Record, mut writes: Vec<Write>) -> Said {
        let grant = Grant {
            tenure: bid.tenure(),
            version: Version::number(record.write),
            token: Some(record.token()),
            incarnation: None,
            cover: Cover::Own { ttl: bid.lease() },
            over: Vacancy::Free,
            asked_to_resign: false,
        };
        writes.push(Write::Record(record));
        self.write(writes);
        Said::Ours(grant)
    }

    fn sight(&self, now: Moment) -> Sight {
        let Some(Record { holder, write, expiry }) = &self.data.record else { return Sight::Vacant(Vacancy::Free) };
        let (tenure, name, token) = match holder {
            Holder::Ours { tenure, name, token } => (Some(*tenure), name.clone(), Some(*token)),
            Holder::Foreign(_) => (None, "locker".into(), None),
        };
        Sight::Held(Held {
            version: Version::number(*write),
            tenure,
            holder: name,
            token,
            since: None,
            advertise: Arc::default(),
            asked_to_resign: false,
            expiry: Expiry::Store { remaining: Some(expiry.since(now)) },
        })
    }

    /// A foreign program's command, on a record that it finds to be as it wants it.
    fn foreign(&mut self, fits: impl Fn(Option<&Record>) -> bool, write: Option<Write>) -> Reply {
        let fits = fits(self.data.record.as_ref());
        match write {
            _ if !fits => {}
            Some(write) => self.write(vec![write]),
            None => self.remove_silently(),
        }
        Reply::Done(fits)
    }
}

impl Store for RedisStore {
    fn apply(&mut self, now: Moment, _: usize, _: usize, request: &Request) -> Reply {
        self.expire(now);
        let locked = |value: u64, ttl: Duration| {
            Some(Write::Record(Record { holder: Holder::Foreign(value), write: value, expiry: now.after(ttl) }))
        };
        match request {
            Request::Script(script, in_full) => {
                if *in_full {
                    self.known.insert(script.digest());
                }
                let known = self.known.contains(&script.digest());
                Reply::Said(if known { self.run(script, now) } else { Said::Unknown })
            }
            Request::SetIfAbsent(value, ttl) => self.foreign(|record| record.is_none(), locked(*value, *ttl)),
            Request::ExtendIf(value, ttl) => {
                self.foreign(|record| record.is_some_and(|record| record.is_foreign(*value)), locked(*value, *ttl))
            }
            Request::DeleteIf(value) => {
                self.foreign(|record| record.is_some_and(|record| record.is_foreign(*value)), None)
            }
            other => unreachable!("{other:?} is not for this store"),
        }
    }

    fn truth(&mut self, present: &Present<'_>) -> Option<Truth> {
        self.expire(present.at(0));
        Some(match &self.data.record.as_ref()?.holder {
            Holder::Ours { tenure, token, .. } => Truth { tenure: Some(*tenure), token: Some(*token) },
            Holder::Foreign(_) => Truth { tenure: None, token: None },
        })
    }

    fn pushes(&mut self) -> Vec<Push> {
        std::mem::take(&mut self.pushes)
    }

    fn next_expiry(&self, present: &Present<'_>) -> u64 {
        let ends = self.data.record.as_ref().map(|record| record.expiry);
        let next = ends.into_iter().chain(self.look_at).min();
        next.map_or(u64::MAX, |moment| present.clocks[0].time_of(moment))
    }

    fn remove(&mut self) {
        self.remove_silently();
        self.persist(usize::MAX);
    }

    fn restart(&mut self, present: &Present<'_>, _: usize) {
        (self.data, self.known) = (self.file.clone(), BTreeSet::new());
        self.expire(present.at(0));
        self.pushes.push((None, Hint::Lagged));
    }

    fn wipe(&mut self) {
        (self.data, self.file) = (Data::default(), Data::default());
        self.pushes.push((None, Hint::Lagged));
    }

    fn backup(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }

    fn persist(&mut self, steps: usize) {
        let is_lost = steps < self.unsafe_yet.len();
        for mut writes in self.unsafe_yet.drain(..).take(steps) {
            if let (Some(write), true) = (writes.pop(), writes.is_empty()) {
                self.file.take(write);
            }
        }
        if is_lost {
            self.data = self.file.clone();
            // What is told goes out with the answers.
            self.pushes.clear();
            self.facts.push(Fact::WritesLost);
        }
    }

    fn facts(&mut self) -> Vec<Fact> {
        std::mem::take(&mut self.facts)
    }

    fn restored(&mut self, _: u64) {
        self.pushes.push((None, Hint::Lagged));
    }
}
