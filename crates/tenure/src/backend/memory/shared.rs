//! The memory store in which sessions keep places in queues.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::by_hand::ByHand;
use super::client::Client;
use super::facade::facade;
use super::faults::{Calls, Faults, Operation};
use super::queues::Queues;
use super::store::Table;
use crate::backend::{
    Administer, Answer, Attempt, Backend, Beat, Bid, Promise, Renewal, SessionId, Sight, Standing, Traits, Vacancies,
    Version, Watch,
};
use crate::clock::AnyClock;
use crate::{Clock, Seat};

/// A store inside this process in which candidates wait in queues and one session covers many elections, as in etcd or ZooKeeper.
///
/// One value and its clones are one client with a session of its own; [`client`](Self::client) gives another. Dropping one leaves its session
/// to expire, as a crash would.
///
/// - A session is opened by the first bid, for that bid's lease, and extended by heartbeats and by every further bid on it. A bid with another
///   lease has a session of that length, and a session carries at most 1,000 elections; the client opens further ones by itself. A
///   session that died is replaced by the next bid.
/// - The queue is in the order in which bids came. The first in it leads, and the fencing token is the number of the write that put it there. A new
///   bid of a candidate that is in the queue already goes to the *end*: no two tenures share a token.
/// - A second candidate for the same election on one client is refused ([`ErrorKind::AlreadyRunning`](crate::ErrorKind::AlreadyRunning)).
/// - A bid that displaces the holder's record takes its place at the end of the queue all the same.
/// - Of those who wait only the next in line is told when the office is its own; a candidate also hears when something happens to its
///   own place. An observer hears who leads. A watch holds 16 hints for one that does not read; then it says
///   [`Hint::Lagged`](crate::backend::Hint::Lagged) and ends.
/// - Eviction removes the holder's place, not its session, and bars the office for what the session had left to live.
pub struct MemorySessions {
    client: Client<Queues>,
}

facade!(
    MemorySessions,
    Queues,
    "Another client of the same store, with a session of its own.",
    "Makes the store grant this much to every session opened from now on, whatever was asked (SAFETY 2a)."
);

impl MemorySessions {
    /// Ends every session of this client now, as if it had expired.
    pub fn expire_sessions(&self) {
        self.client.store().apply(|table, watchers, now| table.expire_client(self.client.id(), now, watchers));
    }
}

impl Backend for MemorySessions {
    fn traits(&self) -> Traits {
        Traits {
            vacancies: Vacancies::Pushed,
            queues: true,
            shares_sessions: true,
            names_releases: true,
            ..Traits::new(Promise::Fenced)
        }
    }

    fn place(&self) -> String {
        self.client.place()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, attempt: Attempt) -> Answer<'a, Standing> {
        Box::pin(self.client.call(Operation::Stand, Some(bid.seat()), move |table, watchers, now| {
            table.stand(self.client.id(), bid, attempt, now, watchers)
        }))
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, attempt: Attempt) -> Answer<'a, Renewal> {
        Box::pin(
            self.client.call(Operation::Renew, Some(bid.seat()), move |table, _, now| {
                Ok(table.renew(bid, version, attempt, now))
            }),
        )
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(self.client.withdraw(bid))
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(self.client.inspect(seat))
    }

    fn watch<'a>(&'a self, seat: &'a Seat, bid: Option<&'a Bid>) -> Answer<'a, Watch> {
        Box::pin(self.client.watch(seat, bid))
    }

    fn heartbeat<'a>(&'a self, session: SessionId, _: Attempt) -> Answer<'a, Beat> {
        Box::pin(self.client.call(Operation::Heartbeat, None, move |table, _, now| Ok(table.heartbeat(session, now))))
    }

    fn administer(&self) -> Option<&dyn Administer> {
        Some(&self.client)
    }
}
