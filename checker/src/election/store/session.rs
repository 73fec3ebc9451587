//! A store with sessions and a queue: whoever is first in it holds the office for as long as its session lives.

use std::time::Duration;

use tenure::Moment;
use tenure::backend::TenureId;

use super::Truth;
use crate::election::message::{Ends, Granted, Message, Reply, Request, Seen, Session};

/// Keys in the order of their creation, each alive as long as its session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionStore {
    sessions: Vec<Kept>,
    queue: Vec<Entry>,
    opened: u64,
    revision: u64,
    /// How many were first in the queue so far.
    offices: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kept {
    id: u64,
    /// A process: a candidate in one of its lives.
    client: (u8, u8),
    from: Moment,
    ttl: u64,
    expiry: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    session: u64,
    node: u8,
    tenure: TenureId,
    created: u64,
}

impl SessionStore {
    pub(super) fn expire(&mut self, now: Moment) -> bool {
        let count = self.sessions.len();
        self.sessions.retain(|session| now < session.expiry);
        let alive: Vec<u64> = self.sessions.iter().map(|session| session.id).collect();
        self.drop_entries(|entry| !alive.contains(&entry.session));
        self.sessions.len() < count
    }

    pub(super) fn apply(&mut self, now: Moment, message: &Message, request: &Request, lease: u64) -> Reply {
        match request {
            Request::Stand { tenure, .. } => self.stand(*tenure, message, lease, now),
            Request::Renew { .. } => Reply::Mismatch(self.seen()),
            Request::Withdraw { tenure } => {
                self.drop_entries(|entry| entry.tenure == *tenure);
                Reply::Withdrew
            }
            Request::Inspect => Reply::Inspected(self.seen()),
            Request::Beat { session } => {
                let Some(kept) = self.sessions.iter_mut().find(|kept| kept.id == *session) else {
                    return Reply::NoSession(*session);
                };
                kept.expiry = now.after(Duration::from_millis(kept.ttl));
                kept.from = kept.from.max(message.sent);
                Reply::Beaten(*session, kept.ttl)
            }
        }
    }

    pub(super) fn truth(&self) -> Option<Truth> {
        let Entry { tenure, node, created, .. } = self.queue.first()?;
        Some(Truth { tenure: *tenure, node: *node, token: *created, version: *created })
    }

    pub(super) fn granted(&self) -> u64 {
        self.offices
    }

    pub(super) fn has_entry(&self, tenure: TenureId) -> bool {
        self.queue.iter().any(|entry| entry.tenure == tenure)
    }

    pub(super) fn has_session(&self, id: u64) -> bool {
        self.sessions.iter().any(|session| session.id == id)
    }

    fn stand(&mut self, tenure: TenureId, message: &Message, lease: u64, now: Moment) -> Reply {
        let client = (message.node, message.life);
        let kept = match self.sessions.iter().position(|session| session.client == client) {
            Some(kept) => kept,
            None => {
                self.opened += 1;
                let expiry = now.after(Duration::from_millis(lease));
                self.sessions.push(Kept { id: self.opened, client, from: message.sent, ttl: lease, expiry });
                self.sessions.len() - 1
            }
        };
        let Kept { id, from, ttl, .. } = self.sessions[kept].clone();
        // One key a session and seat: a newer bid takes the place of an older one, and a late one no other's.
        if self.queue.iter().any(|entry| entry.session == id && tenure.is_earlier_than(entry.tenure)) {
            return Reply::Held(self.seen());
        }
        self.drop_entries(|entry| entry.session == id && entry.tenure != tenure);
        if !self.has_entry(tenure) {
            self.revision += 1;
            self.offices += u64::from(self.queue.is_empty());
            self.queue.push(Entry { session: id, node: message.node, tenure, created: self.revision });
        }
        let session = Session { id, from, ttl };
        match &self.queue[0] {
            first if first.tenure == tenure => Reply::Elected(Granted {
                tenure,
                version: first.created,
                token: first.created,
                ttl,
                session: Some(session),
                released_by: None,
            }),
            _ => Reply::Queued(tenure, self.seen(), session),
        }
    }

    fn drop_entries(&mut self, gone: impl Fn(&Entry) -> bool) {
        let first = self.queue.first().map(|entry| entry.tenure);
        self.queue.retain(|entry| !gone(entry));
        if self.queue.first().is_some_and(|entry| Some(entry.tenure) != first) {
            self.offices += 1;
        }
    }

    fn seen(&self) -> Seen {
        match self.queue.first() {
            None => Seen::Vacant(None),
            Some(Entry { node, tenure, created, .. }) => {
                Seen::Held { version: *created, tenure: *tenure, node: *node, token: *created, ends: Ends::Store(None) }
            }
        }
    }
}
