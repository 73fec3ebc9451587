//! A store with sessions and a queue, as etcd and ZooKeeper are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure::Moment;
use tenure::backend::{
    Beat, Bid, Cover, Expiry, Grant, Held, Hint, Promise, Renewal, SessionId, Sight, Standing, TenureId, Traits,
    Vacancies, Vacancy, Version,
};
use tenure::machine::Outcome;

use super::{Reply, Request, Store, Truth};

/// Keys in the order of their creation, each alive as long as its session; the first one leads.
#[derive(Debug, Default)]
pub struct SessionStore {
    sessions: BTreeMap<u64, Session>,
    queue: Vec<Entry>,
    revision: u64,
    next_session: u64,
    pushes: Vec<(Option<usize>, Hint)>,
}

#[derive(Debug)]
struct Session {
    client: usize,
    /// The client's clock before the last request was sent that extended it.
    from: Moment,
    ttl: Duration,
    expiry: Moment,
}

#[derive(Debug)]
struct Entry {
    session: u64,
    client: usize,
    tenure: TenureId,
    holder: Arc<str>,
    created: u64,
    version: u64,
}

impl SessionStore {
    fn expire(&mut self, now: Moment) {
        let dead: Vec<_> =
            self.sessions.iter().filter(|(_, session)| now >= session.expiry).map(|(id, _)| *id).collect();
        for id in dead {
            self.sessions.remove(&id);
            self.drop_entries(|entry| entry.session == id);
        }
    }

    /// Removes entries; whoever is first then, and whoever lost its own, is told.
    fn drop_entries(&mut self, gone: impl Fn(&Entry) -> bool) {
        let first = self.queue.first().map(|entry| entry.tenure);
        let losers: Vec<_> = self.queue.iter().filter(|entry| gone(entry)).map(|entry| entry.client).collect();
        self.queue.retain(|entry| !gone(entry));
        self.pushes.extend(losers.into_iter().map(|client| (Some(client), Hint::Changed)));
        if let Some(next) = self.queue.first().filter(|entry| Some(entry.tenure) != first) {
            self.pushes.push((Some(next.client), Hint::Vacant));
        }
    }

    fn stand(&mut self, bid: &Bid, client: usize, sent: Moment, now: Moment) -> Standing {
        let known = self.sessions.iter().find(|(_, session)| session.client == client).map(|(id, _)| *id);
        let session = known.unwrap_or_else(|| {
            self.next_session += 1;
            let expiry = now.after(bid.lease());
            self.sessions.insert(self.next_session, Session { client, from: sent, ttl: bid.lease(), expiry });
            self.next_session
        });
        // One key a session and seat: a newer bid takes the place of an older one, and a late one no other's.
        if self.queue.iter().any(|entry| entry.session == session && bid.tenure().is_earlier_than(entry.tenure)) {
            return Standing::Held(self.sight(now));
        }
        self.drop_entries(|entry| entry.session == session && entry.tenure != bid.tenure());
        self.revision += 1;
        if !self.queue.iter().any(|entry| entry.tenure == bid.tenure()) {
            self.queue.push(Entry {
                session,
                client,
                tenure: bid.tenure(),
                holder: bid.shared_name(),
                created: self.revision,
                version: self.revision,
            });
        }
        let Session { from, ttl, .. } = self.sessions[&session];
        let cover = Cover::Shared { session: SessionId(session), from, ttl };
        match self.queue.first() {
            Some(first) if first.tenure == bid.tenure() => Standing::Elected(Grant {
                tenure: first.tenure,
                version: Version::number(first.version),
                token: Some(first.created),
                incarnation: None,
                cover,
                over: Vacancy::Free,
                asked_to_resign: false,
            }),
            _ => Standing::Queued(self.sight(now), Some(cover)),
        }
    }
}

impl Store for SessionStore {
    fn traits(&self) -> Traits {
        let mut traits = Traits::new(Promise::Fenced);
        traits.vacancies = Vacancies::Pushed;
        traits.queues = true;
        traits.shares_sessions = true;
        traits
    }

    fn apply(&mut self, now: Moment, client: usize, sent: Moment, request: &Request) -> Reply {
        self.expire(now);
        Reply::Outcome(match request {
            Request::Stand(bid) => Outcome::Stood(self.stand(bid, client, sent, now)),
            Request::Renew(..) => Outcome::Renewed(Renewal::Mismatch(self.sight(now))),
            Request::Withdraw(bid) => {
                self.drop_entries(|entry| entry.tenure == bid.tenure());
                Outcome::Withdrew
            }
            Request::Inspect => Outcome::Inspected(self.sight(now)),
            Request::Beat(session, _) => {
                let Some(session) = self.sessions.get_mut(&session.0) else { return Reply::Beat(Beat::Lost) };
                session.expiry = now.after(session.ttl);
                session.from = session.from.max(sent);
                return Reply::Beat(Beat::Extended { ttl: session.ttl });
            }
            Request::Watch => return Reply::Done,
        })
    }

    fn truth(&mut self, now: Moment) -> Option<Truth> {
        self.expire(now);
        self.queue.first().map(|entry| Truth { tenure: Some(entry.tenure), token: Some(entry.created) })
    }

    fn sight(&mut self, now: Moment) -> Sight {
        self.expire(now);
        match self.queue.first() {
            None => Sight::Vacant(Vacancy::Free),
            Some(entry) => Sight::Held(Held {
                version: Version::number(entry.version),
                tenure: Some(entry.tenure),
                holder: entry.holder.clone(),
                token: Some(entry.created),
                since: None,
                advertise: Arc::default(),
                asked_to_resign: false,
                expiry: Expiry::Store { remaining: None },
            }),
        }
    }

    fn pushes(&mut self) -> Vec<(Option<usize>, Hint)> {
        std::mem::take(&mut self.pushes)
    }

    fn next_expiry(&self) -> Moment {
        self.sessions.values().map(|session| session.expiry).min().unwrap_or(Moment::NEVER)
    }

    fn remove(&mut self) {
        let first = self.queue.first().map(|entry| entry.tenure);
        self.drop_entries(|entry| Some(entry.tenure) == first);
    }
}
