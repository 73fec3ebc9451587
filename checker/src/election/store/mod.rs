//! Models of stores, one for each way in which an office can end. Each does what the seam's contract says, at once, by its own clock.

mod register;
mod session;
mod ttl;

use tenure::Moment;
use tenure::backend::{Promise, TenureId, Traits, Vacancies};

use super::message::{Message, Reply, Request};
pub use register::RegisterStore;
pub use session::SessionStore;
pub use ttl::{Flaw, TtlStore};

/// Which store.
#[derive(Clone, Copy, Debug)]
pub enum StoreKind {
    /// Keys with a TTL, as Redis has them.
    Ttl {
        /// What it grants, in milliseconds, whatever is asked.
        grants: Option<u64>,
        /// What it does wrong.
        flaw: Option<Flaw>,
    },
    /// Conditional writes of one record that never expires, as object stores have them.
    Register,
    /// Sessions and a queue, as etcd has them.
    Session,
}

impl StoreKind {
    /// What candidates are told of it. Nothing is ever pushed: no watch comes to stand, and candidates ask. A push would be one more moment of asking.
    pub fn traits(self) -> Traits {
        let mut traits = Traits::new(Promise::Fenced);
        match self {
            StoreKind::Ttl { .. } => {}
            StoreKind::Register => {
                traits.contenders_judge = true;
                traits.names_releases = true;
            }
            StoreKind::Session => {
                traits.queues = true;
                traits.vacancies = Vacancies::Pushed;
                traits.shares_sessions = true;
            }
        }
        traits
    }

    /// An empty one.
    pub(super) fn empty(self) -> Store {
        match self {
            StoreKind::Ttl { grants, flaw } => Store::Ttl(TtlStore::new(grants, flaw)),
            StoreKind::Register => Store::Register(RegisterStore::default()),
            StoreKind::Session => Store::Session(SessionStore::default()),
        }
    }
}

/// Who holds the office, as the store itself has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Truth {
    /// The tenure.
    pub tenure: TenureId,
    /// Whose it is.
    pub node: u8,
    /// Its number.
    pub token: u64,
    /// The version of its record.
    pub version: u64,
}

/// A store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Store {
    /// Keys with a TTL.
    Ttl(TtlStore),
    /// One record and its version.
    Register(RegisterStore),
    /// Sessions and a queue.
    Session(SessionStore),
}

impl Store {
    /// Lets time pass; whether something expired.
    pub(super) fn expire(&mut self, now: Moment) -> bool {
        match self {
            Store::Ttl(store) => store.expire(now),
            Store::Register(_) => false,
            Store::Session(store) => store.expire(now),
        }
    }

    /// Applies a request of a candidate that asks for `lease` milliseconds.
    pub(super) fn apply(&mut self, now: Moment, message: &Message, request: &Request, lease: u64) -> Reply {
        match self {
            Store::Ttl(store) => store.apply(now, message.node, request, lease),
            Store::Register(store) => store.apply(message.node, request, lease),
            Store::Session(store) => store.apply(now, message, request, lease),
        }
    }

    /// Who holds the office.
    pub fn truth(&self) -> Option<Truth> {
        match self {
            Store::Ttl(store) => store.truth(),
            Store::Register(store) => store.truth(),
            Store::Session(store) => store.truth(),
        }
    }

    /// How many tenures it has granted.
    pub(super) fn granted(&self) -> u64 {
        match self {
            Store::Ttl(store) => store.counter,
            Store::Register(store) => store.term,
            Store::Session(store) => store.granted(),
        }
    }

    /// Whether a request that nobody waits for could change anything, now or later. Versions never come back, and what is not there cannot be
    /// withdrawn unless a bid for it is still under way, which the caller knows.
    pub(super) fn heeds(&self, request: &Request, bid_under_way: impl Fn(TenureId) -> bool) -> bool {
        if let Store::Ttl(TtlStore { flaw: Some(_), .. }) = self {
            return !matches!(request, Request::Inspect);
        }
        match request {
            Request::Stand { .. } => true,
            Request::Renew { version, .. } => self.truth().is_some_and(|truth| truth.version == *version),
            Request::Withdraw { tenure } => self.has_trace_of(*tenure) || bid_under_way(*tenure),
            Request::Inspect => false,
            Request::Beat { session } => matches!(self, Store::Session(store) if store.has_session(*session)),
        }
    }

    /// Whether a record or a place in the queue is this tenure's.
    pub(super) fn has_trace_of(&self, tenure: TenureId) -> bool {
        match self {
            Store::Session(store) => store.has_entry(tenure),
            _ => self.truth().is_some_and(|truth| truth.tenure == tenure),
        }
    }
}
