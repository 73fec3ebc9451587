//! A store with sessions and a queue, as etcd and ZooKeeper are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure::Moment;
use tenure::backend::{
    Beat, Bid, Cover, Expiry, Grant, Held, Hint, Incarnation, Renewal, SessionId, Sight, Standing, TenureId, Vacancy,
    Version,
};
use tenure::mutant::{Mutant, planted};

use super::{Present, Push, Reply, Request, Store, Truth};

/// Keys in the order of their creation, each alive as long as its session; the first one leads.
#[derive(Clone, Debug)]
pub struct SessionStore {
    sessions: BTreeMap<u64, Session>,
    queue: Vec<Entry>,
    revision: u64,
    next_session: u64,
    /// The shortest and the longest session it grants.
    limits: (Duration, Duration),
    /// What tells a restored store from the one it was; etcd has a cluster id, ZooKeeper nothing.
    incarnation: Option<u64>,
    pushes: Vec<Push>,
}

#[derive(Clone, Debug)]
struct Session {
    client: usize,
    /// The client's clock before the last request was sent that extended it.
    from: Moment,
    ttl: Duration,
    expiry: Moment,
}

#[derive(Clone, Debug)]
struct Entry {
    session: u64,
    client: usize,
    tenure: TenureId,
    holder: Arc<str>,
    created: u64,
}

impl SessionStore {
    /// A store like etcd: it grants what is asked.
    pub fn etcd() -> Self {
        SessionStore::new((Duration::ZERO, Duration::MAX), Some(1))
    }

    /// A store like ZooKeeper: it negotiates, and a restored one cannot be told from what it was.
    pub fn zookeeper() -> Self {
        SessionStore::new((Duration::from_secs(8), Duration::from_millis(13_500)), None)
    }

    fn new(limits: (Duration, Duration), incarnation: Option<u64>) -> Self {
        let (sessions, queue, pushes) = Default::default();
        SessionStore { sessions, queue, revision: 0, next_session: 0, limits, incarnation, pushes }
    }

    fn expire(&mut self, now: Moment) {
        while let Some(id) = self.sessions.iter().find(|(_, session)| now >= session.expiry).map(|(id, _)| *id) {
            self.sessions.remove(&id);
            self.drop_entries(|entry| entry.session == id);
        }
    }

    /// Removes entries; whoever is first then, and whoever lost its own, is told.
    fn drop_entries(&mut self, gone: impl Fn(&Entry) -> bool) {
        let first = self.queue.first().map(|entry| entry.tenure);
        for entry in self.queue.iter().filter(|entry| gone(entry)) {
            self.pushes.push((Some(entry.client), Hint::Changed));
        }
        self.queue.retain(|entry| !gone(entry));
        if let Some(next) = self.queue.first().filter(|entry| Some(entry.tenure) != first) {
            self.pushes.push((Some(next.client), Hint::Vacant));
        }
    }

    fn stand(&mut self, bid: &Bid, client: usize, sent: Moment, now: Moment) -> Standing {
        // The client does not use a session again that is over by its own clock.
        let usable = |session: &Session| session.client == client && sent < session.from.after(session.ttl);
        let known = self.sessions.iter().find(|(_, session)| usable(session)).map(|(id, _)| *id);
        let session = known.unwrap_or_else(|| {
            self.next_session += 1;
            let ttl = bid.lease().clamp(self.limits.0, self.limits.1);
            self.sessions.insert(self.next_session, Session { client, from: sent, ttl, expiry: now.after(ttl) });
            self.next_session
        });
        // One key a session and seat: a newer bid takes the place of an older one, and a late one no other's.
        let newer = |entry: &Entry| entry.session == session && bid.tenure().is_earlier_than(entry.tenure);
        if self.queue.iter().any(newer) && !planted(Mutant::MemoryLateBidReplaces) {
            return Standing::Held(self.sight());
        }
        // The place is the one under the session that the answer names: an entry of this very tenure under a session that is dead to its client
        // would go with that one, while the client beats for the other.
        self.drop_entries(|entry| (entry.session == session) != (entry.tenure == bid.tenure()));
        self.revision += 1;
        if !self.queue.iter().any(|entry| entry.tenure == bid.tenure()) {
            let (tenure, holder, created) = (bid.tenure(), bid.shared_name(), self.revision);
            self.queue.push(Entry { session, client, tenure, holder, created });
        }
        let Session { from, ttl, .. } = self.sessions[&session];
        let cover = Cover::Shared { session: SessionId(session), from, ttl };
        match self.queue.first() {
            Some(first) if first.tenure == bid.tenure() => Standing::Elected(Grant {
                tenure: first.tenure,
                version: Version::number(first.created),
                token: Some(first.created),
                incarnation: self.incarnation.map(Incarnation::new),
                cover,
                over: Vacancy::Free,
                asked_to_resign: false,
            }),
            _ => Standing::Queued(self.sight(), Some(cover)),
        }
    }

    fn sight(&self) -> Sight {
        let Some(entry) = self.queue.first() else { return Sight::Vacant(Vacancy::Free) };
        Sight::Held(Held {
            version: Version::number(entry.created),
            tenure: Some(entry.tenure),
            holder: entry.holder.clone(),
            token: Some(entry.created),
            since: None,
            advertise: Arc::default(),
            asked_to_resign: false,
            expiry: Expiry::Store { remaining: None },
        })
    }
}

impl Store for SessionStore {
    fn apply(&mut self, now: Moment, _: usize, client: usize, request: &Request) -> Reply {
        self.expire(now);
        match request {
            Request::Stand(bid, sent) => Reply::Stood(self.stand(bid, client, *sent, now)),
            Request::Renew(..) => Reply::Renewed(Renewal::Mismatch(self.sight())),
            Request::Withdraw(bid) => {
                self.drop_entries(|entry| entry.tenure == bid.tenure());
                Reply::Done(true)
            }
            Request::Inspect => Reply::Seen(self.sight()),
            Request::Beat(session, sent) => {
                let Some(session) = self.sessions.get_mut(&session.0) else { return Reply::Beat(Beat::Lost) };
                session.expiry = now.after(session.ttl);
                session.from = session.from.max(*sent);
                Reply::Beat(Beat::Extended { ttl: session.ttl })
            }
            other => unreachable!("{other:?} is not for this store"),
        }
    }

    fn truth(&mut self, present: &Present<'_>) -> Option<Truth> {
        self.expire(present.at(0));
        self.queue.first().map(|entry| Truth { tenure: Some(entry.tenure), token: Some(entry.created) })
    }

    fn pushes(&mut self) -> Vec<Push> {
        std::mem::take(&mut self.pushes)
    }

    fn next_expiry(&self, present: &Present<'_>) -> u64 {
        let next = self.sessions.values().map(|session| session.expiry).min();
        next.map_or(u64::MAX, |expiry| present.clocks[0].time_of(expiry))
    }

    fn remove(&mut self) {
        let first = self.queue.first().map(|entry| entry.tenure);
        self.drop_entries(|entry| Some(entry.tenure) == first);
    }

    fn restart(&mut self, present: &Present<'_>, _: usize) {
        // A new leader gives every session its full time again, because it does not know how much was left.
        let now = present.at(0);
        self.expire(now);
        for session in self.sessions.values_mut() {
            session.expiry = now.after(session.ttl);
        }
        self.pushes.push((None, Hint::Lagged));
    }

    fn wipe(&mut self) {
        let sessions = self.next_session;
        *self = SessionStore::new(self.limits, self.incarnation.map(|old| old + 1_000));
        self.next_session = sessions + 1_000;
        self.pushes.push((None, Hint::Lagged));
    }

    fn backup(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }

    fn restored(&mut self, incarnation: u64) {
        self.incarnation = self.incarnation.map(|_| incarnation);
        // Names of sessions are random numbers: none comes twice.
        self.next_session += incarnation;
        self.pushes.push((None, Hint::Lagged));
    }
}
