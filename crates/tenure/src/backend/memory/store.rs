//! A table behind one lock, with those who watch it: what both forms of the memory store stand on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use super::ledger::Ledger;
use super::scope::Scope;
use super::watchers::{Post, Watchers};
use crate::backend::{Bid, Evicted, Sight};
use crate::clock::AnyClock;
use crate::{Moment, Seat};

/// Which client of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClientId(u64);

/// What is kept behind the lock. Nothing in it waits, reads a clock or wakes anybody.
pub(super) trait Table: Send + 'static {
    fn ledger(&mut self) -> &mut Ledger;

    /// Lets everything end whose time has come, and tells those who watch it.
    fn lapse(&mut self, now: Moment, watchers: &mut Watchers);
    /// When something ends next of which somebody is to be told.
    fn next_lapse(&self) -> Moment;
    /// This office is watched from now on.
    fn watched(&mut self, seat: &Seat, watchers: &Watchers);

    fn withdraw(&mut self, bid: &Bid, now: Moment, watchers: &mut Watchers);
    fn inspect(&self, seat: &Seat, now: Moment) -> Sight;
    /// Every office of which there is something to say, in no order.
    fn all(&self, now: Moment) -> Vec<(Seat, Sight)>;
    fn ask_to_resign(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) -> bool;
    fn evict(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) -> Evicted;

    fn wipe(&mut self, watchers: &mut Watchers);
    fn remove(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers);
    fn overwrite(&mut self, seat: &Seat, holder: &str, ttl: Duration, now: Moment, watchers: &mut Watchers);
    fn expire(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers);
}

/// A store: its table, its watchers, its clock, and the faults that a test set for all of its clients.
#[derive(Debug)]
pub(super) struct Store<T> {
    id: u64,
    clock: AnyClock,
    scope: Arc<Scope>,
    clients: AtomicU64,
    inside: Mutex<Inside<T>>,
}

#[derive(Debug)]
struct Inside<T> {
    table: T,
    watchers: Watchers,
}

impl<T: Table> Store<T> {
    pub(super) fn new(table: T, clock: AnyClock) -> Self {
        Store {
            id: fastrand::u64(..),
            clock,
            scope: Arc::default(),
            clients: AtomicU64::new(0),
            inside: Mutex::new(Inside { table, watchers: Watchers::default() }),
        }
    }

    pub(super) fn admit_client(&self) -> ClientId {
        ClientId(self.clients.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn clock(&self) -> &AnyClock {
        &self.clock
    }

    pub(super) fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    /// Does `work` on the table as it is at this moment.
    ///
    /// The clock is read under the lock, so that what is applied later also happens later; whoever is to be woken is woken after it.
    pub(super) fn apply<R>(&self, work: impl FnOnce(&mut T, &mut Watchers, Moment) -> R) -> R {
        let mut guard = self.lock();
        let now = self.clock.now();
        let Inside { table, watchers } = &mut *guard;
        table.lapse(now, watchers);
        let result = work(table, watchers, now);
        let wakers = watchers.rouse(table.next_lapse(), now);
        drop(guard);
        wakers.into_iter().for_each(Waker::wake);
        result
    }

    pub(super) fn read(&self, watcher: usize, waker: &Waker) -> Post {
        // The former waker is dropped here, outside of the lock.
        let (post, _former) = self.apply(|table, watchers, now| watchers.read(watcher, waker, table.next_lapse(), now));
        post
    }

    pub(super) fn unsubscribe(&self, watcher: usize) {
        drop(self.apply(|_, watchers, _| watchers.unsubscribe(watcher)));
    }

    fn lock(&self) -> MutexGuard<'_, Inside<T>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
