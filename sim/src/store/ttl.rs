//! A store that expires keys, as Redis and NATS do.

use std::time::{Duration, SystemTime};

use tenure::Moment;
use tenure::backend::{
    Bid, Cover, Expiry, Grant, Held, Hint, Promise, Renewal, Sight, Standing, TenureId, Traits, Vacancies, Vacancy,
    Version,
};
use tenure::machine::Outcome;

use super::{Reply, Request, Store, Truth};

/// One key with a TTL and a counter that outlives it.
#[derive(Debug)]
pub struct TtlStore {
    record: Option<Record>,
    writes: u64,
    counter: u64,
    /// What it grants whatever is asked, as a NATS bucket does.
    granting: Option<Duration>,
    pushes: Vec<(Option<usize>, Hint)>,
}

#[derive(Debug)]
struct Record {
    tenure: TenureId,
    holder: std::sync::Arc<str>,
    version: u64,
    token: u64,
    expiry: Moment,
}

impl TtlStore {
    /// A store that grants what is asked, or always this.
    pub fn new(granting: Option<Duration>) -> Self {
        TtlStore { record: None, writes: 0, counter: 0, granting, pushes: Vec::new() }
    }

    fn expire(&mut self, now: Moment) {
        if self.record.as_ref().is_some_and(|record| now >= record.expiry) {
            self.record = None;
            self.pushes.push((None, Hint::Vacant));
        }
    }

    fn grant(&self, bid: &Bid) -> Grant {
        let record = self.record.as_ref().expect("granted after it was written");
        Grant {
            tenure: record.tenure,
            version: Version::number(record.version),
            token: Some(record.token),
            incarnation: None,
            cover: Cover::Own { ttl: self.ttl(bid) },
            over: Vacancy::Free,
            asked_to_resign: false,
        }
    }

    fn ttl(&self, bid: &Bid) -> Duration {
        self.granting.unwrap_or(bid.lease())
    }

    fn extend(&mut self, bid: &Bid, now: Moment) {
        let ttl = self.ttl(bid);
        self.writes += 1;
        let version = self.writes;
        if let Some(record) = &mut self.record {
            record.version = version;
            record.expiry = now.after(ttl);
        }
    }

    fn stand(&mut self, bid: &Bid, now: Moment) -> Standing {
        match &self.record {
            Some(record) if record.tenure == bid.tenure() => {
                self.extend(bid, now);
                Standing::Elected(self.grant(bid))
            }
            Some(_) => Standing::Held(self.sight(now)),
            None => {
                self.counter += 1;
                self.record = Some(Record {
                    tenure: bid.tenure(),
                    holder: bid.shared_name(),
                    version: 0,
                    token: self.counter,
                    expiry: now,
                });
                self.extend(bid, now);
                Standing::Elected(self.grant(bid))
            }
        }
    }

    fn renew(&mut self, bid: &Bid, version: &Version, now: Moment) -> Renewal {
        match &self.record {
            Some(record) if Version::number(record.version) == *version => {
                self.extend(bid, now);
                Renewal::Extended(self.grant(bid))
            }
            _ => Renewal::Mismatch(self.sight(now)),
        }
    }
}

impl Store for TtlStore {
    fn traits(&self) -> Traits {
        let mut traits = Traits::new(Promise::Fenced);
        traits.vacancies = Vacancies::Pushed;
        traits
    }

    fn apply(&mut self, now: Moment, _: usize, _: Moment, request: &Request) -> Reply {
        self.expire(now);
        Reply::Outcome(match request {
            Request::Stand(bid) => Outcome::Stood(self.stand(bid, now)),
            Request::Renew(bid, version) => Outcome::Renewed(self.renew(bid, version, now)),
            Request::Withdraw(bid) => {
                if self.record.as_ref().is_some_and(|record| record.tenure == bid.tenure()) {
                    self.record = None;
                    self.pushes.push((None, Hint::Vacant));
                }
                Outcome::Withdrew
            }
            Request::Inspect => Outcome::Inspected(self.sight(now)),
            Request::Beat(..) | Request::Watch => return Reply::Done,
        })
    }

    fn truth(&mut self, now: Moment) -> Option<Truth> {
        self.expire(now);
        self.record.as_ref().map(|record| Truth { tenure: Some(record.tenure), token: Some(record.token) })
    }

    fn sight(&mut self, now: Moment) -> Sight {
        self.expire(now);
        match &self.record {
            None => Sight::Vacant(Vacancy::Free),
            Some(record) => Sight::Held(Held {
                version: Version::number(record.version),
                tenure: Some(record.tenure),
                holder: record.holder.clone(),
                token: Some(record.token),
                since: None::<SystemTime>,
                advertise: std::sync::Arc::default(),
                asked_to_resign: false,
                expiry: Expiry::Store { remaining: Some(record.expiry.since(now)) },
            }),
        }
    }

    fn pushes(&mut self) -> Vec<(Option<usize>, Hint)> {
        std::mem::take(&mut self.pushes)
    }

    fn next_expiry(&self) -> Moment {
        self.record.as_ref().map_or(Moment::NEVER, |record| record.expiry)
    }

    fn remove(&mut self) {
        self.record = None;
        self.pushes.push((None, Hint::Vacant));
    }
}
