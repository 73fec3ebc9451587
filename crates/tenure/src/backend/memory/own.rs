//! The memory store in which every record has a life of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::by_hand::ByHand;
use super::client::Client;
use super::facade::facade;
use super::faults::{Calls, Faults, Operation};
use super::offices::Offices;
use super::store::Table;
use crate::backend::{
    Administer, Answer, Answers, Attempt, Backend, Bid, Due, Promise, Renewal, Sight, Standing, Traits, Vacancies,
    Version, Watch,
};
use crate::clock::AnyClock;
use crate::{Clock, Seat};

/// A store inside this process in which every record has a lease of its own, as in Redis or NATS.
///
/// One value and its clones are one client: a connection of its own, on which faults can be set apart from all others.
/// [`client`](Self::client) gives another client of the same store, as another process would have it.
///
/// - The store judges when a record is over, by its clock, which is read when a call is applied. It is over *at* its expiry.
/// - Tokens and versions come from one counter, which never goes back, whatever is removed. Its incarnation is a random number.
/// - A watch tells who won, that a record was released, removed or has expired, and that its holder was asked to resign. It does not
///   tell of renewals. It holds 16 hints for a watcher that does not read; then it says [`Hint::Lagged`](crate::backend::Hint::Lagged) and ends.
/// - A word of release is kept for a day.
/// - An evicted holder's office shows a record without a tenure id, and nobody can displace that.
pub struct MemoryBackend {
    client: Client<Offices>,
}

facade!(
    MemoryBackend,
    Offices,
    "Another client of the same store.",
    "Makes the store grant this much from now on, to all clients, whatever they ask for (SAFETY 2a)."
);

impl Backend for MemoryBackend {
    fn traits(&self) -> Traits {
        Traits { vacancies: Vacancies::Pushed, names_releases: true, ..Traits::new(Promise::Fenced) }
    }

    fn place(&self) -> String {
        self.client.place()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, _: Attempt) -> Answer<'a, Standing> {
        Box::pin(
            self.client
                .call(Operation::Stand, Some(bid.seat()), |table, watchers, now| table.stand(bid, now, watchers)),
        )
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        Box::pin(
            self.client.call(Operation::Renew, Some(bid.seat()), |table, watchers, now| {
                table.renew(bid, version, now, watchers)
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

    /// One lock and one look at the clock for all of them, unless a fault is set: then each fares by itself.
    fn renew_many<'a>(&'a self, due: &'a [Due]) -> Answers<'a, Renewal> {
        Box::pin(async move {
            self.client.count_batch();
            if self.client.is_disturbed() {
                return join_all(due.iter().map(|one| self.renew(&one.bid, &one.version, one.attempt))).await;
            }
            self.client.count(Operation::Renew, due.len() as u64);
            self.client.store().apply(|table, watchers, now| {
                let renewals = due.iter().map(|one| {
                    let renewal = table.renew(&one.bid, &one.version, now, watchers);
                    renewal.map_err(|error| error.during(Operation::Renew.name()).of_election(one.bid.seat()))
                });
                renewals.collect()
            })
        })
    }

    fn administer(&self) -> Option<&dyn Administer> {
        Some(&self.client)
    }
}
