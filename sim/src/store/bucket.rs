//! A bucket that expires keys, as NATS has it: a whole call is one conditional write.

use std::sync::Arc;
use std::time::Duration;

use tenure::Moment;
use tenure::backend::{
    Bid, Cover, Expiry, Grant, Held, Hint, Incarnation, Renewal, Sight, Standing, TenureId, Vacancy, Version,
};

use super::{Present, Push, Reply, Request, Store, Truth};

/// One key. Numbers are the stream's, and start again with it, which its creation time shows.
#[derive(Clone, Debug)]
pub struct Bucket {
    record: Option<Record>,
    writes: u64,
    /// What it grants, whatever is asked.
    ttl: Duration,
    incarnation: u64,
    pushes: Vec<Push>,
}

#[derive(Clone, Debug)]
struct Record {
    tenure: TenureId,
    name: Arc<str>,
    token: u64,
    version: u64,
    expiry: Moment,
}

impl Bucket {
    /// A bucket that grants this.
    pub fn new(ttl: Duration) -> Self {
        Bucket { record: None, writes: 0, ttl, incarnation: 1, pushes: Vec::new() }
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
        self.record.as_ref().is_some_and(|record| record.tenure == tenure)
    }

    fn granted(&self) -> Grant {
        let Some(Record { tenure, token, version, .. }) = &self.record else {
            unreachable!("granted after it was written");
        };
        Grant {
            tenure: *tenure,
            version: Version::number(*version),
            token: Some(*token),
            incarnation: Some(Incarnation::new(self.incarnation)),
            cover: Cover::Own { ttl: self.ttl },
            over: Vacancy::Free,
            asked_to_resign: false,
        }
    }

    fn extend(&mut self, now: Moment) {
        self.writes += 1;
        if let Some(record) = &mut self.record {
            (record.version, record.expiry) = (self.writes, now.after(self.ttl));
        }
    }

    fn stand(&mut self, bid: &Bid, now: Moment) -> Standing {
        if !self.is_of(bid.tenure()) {
            if self.record.is_some() {
                return Standing::Held(self.sight(now));
            }
            // The sequence of the write that follows.
            let token = self.writes + 1;
            self.record =
                Some(Record { tenure: bid.tenure(), name: bid.shared_name(), token, version: token, expiry: now });
        }
        self.extend(now);
        Standing::Elected(self.granted())
    }

    fn renew(&mut self, bid: &Bid, version: &Version, now: Moment) -> Renewal {
        let matches = self.record.as_ref().is_some_and(|record| Version::number(record.version) == *version);
        if matches && self.is_of(bid.tenure()) {
            self.extend(now);
            return Renewal::Extended(self.granted());
        }
        Renewal::Mismatch(self.sight(now))
    }

    fn sight(&self, now: Moment) -> Sight {
        let Some(Record { tenure, name, token, version, expiry }) = &self.record else {
            return Sight::Vacant(Vacancy::Free);
        };
        Sight::Held(Held {
            version: Version::number(*version),
            tenure: Some(*tenure),
            holder: name.clone(),
            token: Some(*token),
            since: None,
            advertise: Arc::default(),
            asked_to_resign: false,
            expiry: Expiry::Store { remaining: Some(expiry.since(now)) },
        })
    }
}

impl Store for Bucket {
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
            other => unreachable!("{other:?} is not for this store"),
        }
    }

    fn truth(&mut self, present: &Present<'_>) -> Option<Truth> {
        self.expire(present.at(0));
        self.record.as_ref().map(|record| Truth { tenure: Some(record.tenure), token: Some(record.token) })
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
        (self.record, self.writes) = (None, 0);
        self.incarnation += 1_000;
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
