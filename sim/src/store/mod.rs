//! Models of stores, one for each family of real ones. A model is a small synchronous state machine: what it is asked it applies at once, by its own
//! clock, and says what it pushes to whom.

mod register;
mod session;
mod ttl;

use tenure::Moment;
use tenure::backend::{AttemptId, Beat, Bid, Hint, SessionId, Sight, TenureId, Traits, Version};
use tenure::machine::Outcome;

pub use register::RegisterStore;
pub use session::SessionStore;
pub use ttl::TtlStore;

/// What a client asks a store to do.
#[derive(Clone, Debug)]
pub enum Request {
    /// Try to win.
    Stand(Bid),
    /// Extend the record with this version.
    Renew(Bid, Version),
    /// Remove every trace of the bid's tenure.
    Withdraw(Bid),
    /// Read.
    Inspect,
    /// Extend a session.
    Beat(SessionId, AttemptId),
    /// Push from now on.
    Watch,
}

/// What the store answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// To a call of a campaign.
    Outcome(Outcome),
    /// To a heartbeat.
    Beat(Beat),
    /// To nobody in particular.
    Done,
}

/// Who holds the office, as the store itself knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The holder's tenure; `None` for a foreign program's.
    pub tenure: Option<TenureId>,
    /// Its number.
    pub token: Option<u64>,
}

/// A store model.
pub trait Store {
    /// What kind of store it is.
    fn traits(&self) -> Traits;

    /// Applies a request of a client at the store's own present. `sent` is the client's clock when it was sent, for sessions.
    fn apply(&mut self, now: Moment, client: usize, sent: Moment, request: &Request) -> Reply;

    /// Who holds the office at the store's present.
    fn truth(&mut self, now: Moment) -> Option<Truth>;

    /// What is seen of it.
    fn sight(&mut self, now: Moment) -> Sight;

    /// What is to be pushed since the last call, to whom. `None`: to everybody who watches.
    fn pushes(&mut self) -> Vec<(Option<usize>, Hint)>;

    /// When the store itself does something next: a record or a session expires.
    fn next_expiry(&self) -> Moment;

    /// The record is deleted behind everybody's back.
    fn remove(&mut self);
}
