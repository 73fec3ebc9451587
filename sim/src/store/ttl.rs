//! A store that expires keys, as Redis and NATS do.

use std::sync::Arc;
use std::time::Duration;

use tenure::Moment;
use tenure::backend::{
    Bid, Cover, Expiry, Grant, Held, Hint, Incarnation, Renewal, Sight, Standing, TenureId, Vacancy, Version,
};

use super::{Present, Push, Reply, Request, Store, Truth};

/// One key with a TTL, and a counter that outlives it.
#[derive(Clone, Debug)]
pub struct TtlStore {
    record: Option<Record>,
    writes: u64,
    counter: u64,
    kind: Kind,
    incarnation: u64,
    pushes: Vec<Push>,
}

/// Which real store it is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Grants what is asked; numbers are the greater of the last + 1 and the server's microseconds (SAFETY 18).
    Redis,
    /// Grants what the bucket has; numbers are the stream's, and start again with it, which its creation time shows.
    Bucket(Duration),
}

#[derive(Clone, Debug)]
struct Record {
    holder: Holder,
    version: u64,
    expiry: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    Ours { tenure: TenureId, name: Arc<str>, token: u64 },
    Foreign(u64),
}

impl TtlStore {
    /// A store like Redis.
    pub fn redis() -> Self {
        TtlStore::new(Kind::Redis)
    }

    /// A store like a NATS bucket that grants this.
    pub fn bucket(ttl: Duration) -> Self {
        TtlStore::new(Kind::Bucket(ttl))
    }

    fn new(kind: Kind) -> Self {
        TtlStore { record: None, writes: 0, counter: 0, kind, incarnation: 1, pushes: Vec::new() }
    }

    fn expire(&mut self, now: Moment) {
        if self.record.as_ref().is_some_and(|record| now >= record.expiry) {
            self.vacate();
        }
    }

    fn vacate(&mut self) {
        self.record = None;
        self.pushes.push((None, Hint::Vacant));
    }

    fn is_of(&self, tenure: TenureId) -> bool {
        matches!(&self.record, Some(Record { holder: Holder::Ours { tenure: holder, .. }, .. }) if *holder == tenure)
    }

    fn is_foreign(&self, value: u64) -> bool {
        matches!(&self.record, Some(Record { holder: Holder::Foreign(holder), .. }) if *holder == value)
    }

    fn grant(&self, bid: &Bid) -> Grant {
        let Some(Record { holder: Holder::Ours { tenure, token, .. }, version, .. }) = &self.record else {
            unreachable!("granted after it was written");
        };
        Grant {
            tenure: *tenure,
            version: Version::number(*version),
            token: Some(*token),
            incarnation: matches!(self.kind, Kind::Bucket(_)).then(|| Incarnation::new(self.incarnation)),
            cover: Cover::Own { ttl: self.ttl(bid.lease()) },
            over: Vacancy::Free,
            asked_to_resign: false,
        }
    }

    fn ttl(&self, asked: Duration) -> Duration {
        match self.kind {
            Kind::Redis => asked,
            Kind::Bucket(ttl) => ttl,
        }
    }

    fn put(&mut self, holder: Holder, ttl: Duration, now: Moment) {
        self.writes += 1;
        self.record = Some(Record { holder, version: self.writes, expiry: now.after(self.ttl(ttl)) });
    }

    fn extend(&mut self, ttl: Duration, now: Moment) {
        if let Some(record) = self.record.take() {
            self.put(record.holder, ttl, now);
        }
    }

    fn next_number(&self, now: Moment) -> u64 {
        match self.kind {
            Kind::Redis => (self.counter + 1).max(now.as_nanos() / 1_000),
            // The sequence of the write that follows.
            Kind::Bucket(_) => self.writes + 1,
        }
    }

    fn stand(&mut self, bid: &Bid, now: Moment) -> Standing {
        if self.is_of(bid.tenure()) {
            self.extend(bid.lease(), now);
        } else if self.record.is_some() {
            return Standing::Held(self.sight(now));
        } else {
            let token = self.next_number(now);
            self.counter = token;
            self.put(Holder::Ours { tenure: bid.tenure(), name: bid.shared_name(), token }, bid.lease(), now);
        }
        Standing::Elected(self.grant(bid))
    }

    fn renew(&mut self, bid: &Bid, version: &Version, now: Moment) -> Renewal {
        let matches = self.record.as_ref().is_some_and(|record| Version::number(record.version) == *version);
        if matches && self.is_of(bid.tenure()) {
            self.extend(bid.lease(), now);
            return Renewal::Extended(self.grant(bid));
        }
        Renewal::Mismatch(self.sight(now))
    }

    fn sight(&self, now: Moment) -> Sight {
        let Some(Record { holder, version, expiry }) = &self.record else { return Sight::Vacant(Vacancy::Free) };
        let (tenure, name, token) = match holder {
            Holder::Ours { tenure, name, token } => (Some(*tenure), name.clone(), Some(*token)),
            Holder::Foreign(_) => (None, "locker".into(), None),
        };
        Sight::Held(Held {
            version: Version::number(*version),
            tenure,
            holder: name,
            token,
            since: None,
            advertise: Arc::default(),
            asked_to_resign: false,
            expiry: Expiry::Store { remaining: Some(expiry.since(now)) },
        })
    }
}

impl Store for TtlStore {
    fn apply(&mut self, now: Moment, _: usize, _: usize, request: &Request) -> Reply {
        self.expire(now);
        match request {
            Request::Stand(bid, _) => Reply::Stood(self.stand(bid, now)),
            Request::Renew(bid, version) => Reply::Renewed(self.renew(bid, version, now)),
            Request::Withdraw(bid) => {
                if self.is_of(bid.tenure()) {
                    self.vacate();
                }
                Reply::Done(true)
            }
            Request::Inspect => Reply::Seen(self.sight(now)),
            Request::SetIfAbsent(value, ttl) => {
                let free = self.record.is_none();
                if free {
                    self.put(Holder::Foreign(*value), *ttl, now);
                }
                Reply::Done(free)
            }
            Request::ExtendIf(value, ttl) => {
                let ours = self.is_foreign(*value);
                if ours {
                    self.extend(*ttl, now);
                }
                Reply::Done(ours)
            }
            Request::DeleteIf(value) => {
                let ours = self.is_foreign(*value);
                if ours {
                    self.vacate();
                }
                Reply::Done(ours)
            }
            other => unreachable!("{other:?} is not for this store"),
        }
    }

    fn truth(&mut self, present: &Present<'_>) -> Option<Truth> {
        self.expire(present.at(0));
        Some(match &self.record.as_ref()?.holder {
            Holder::Ours { tenure, token, .. } => Truth { tenure: Some(*tenure), token: Some(*token) },
            Holder::Foreign(_) => Truth { tenure: None, token: None },
        })
    }

    fn pushes(&mut self) -> Vec<Push> {
        std::mem::take(&mut self.pushes)
    }

    fn next_expiry(&self, present: &Present<'_>) -> u64 {
        self.record.as_ref().map_or(u64::MAX, |record| present.clocks[0].time_of(record.expiry))
    }

    fn remove(&mut self) {
        self.vacate();
    }

    fn restart(&mut self, present: &Present<'_>, _: usize) {
        self.expire(present.at(0));
        self.pushes.push((None, Hint::Lagged));
    }

    fn wipe(&mut self) {
        (self.record, self.counter) = (None, 0);
        if self.kind != Kind::Redis {
            self.writes = 0;
            self.incarnation += 1_000;
        }
        self.pushes.push((None, Hint::Lagged));
    }

    fn backup(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }

    fn restored(&mut self, incarnation: u64) {
        self.incarnation = incarnation;
        self.writes += incarnation;
        self.pushes.push((None, Hint::Lagged));
    }
}
