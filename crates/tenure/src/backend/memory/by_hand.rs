//! What can be done to a store behind the back of those who hold office in it.

use std::fmt;
use std::time::Duration;

use super::store::{Store, Table};
use crate::Seat;

/// What an operator, a restore or a foreign program does to a store, for tests: none of it asks the holders, and most of it makes two believers
/// possible until the deadline of the first (SAFETY 14).
///
/// ```
/// use tenure::Seat;
/// use tenure::backend::memory::MemoryBackend;
/// let store = MemoryBackend::new();
/// store.by_hand().remove(&Seat::new("nightly-report")?);
/// store.by_hand().wipe();
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ByHand<'a> {
    store: &'a dyn Tampered,
}

/// A store of either form.
pub(super) trait Tampered: Send + Sync {
    fn wipe(&self);
    fn rewind(&self, by: u64);
    fn remove(&self, seat: &Seat);
    fn overwrite(&self, seat: &Seat, holder: &str, ttl: Duration);
    fn expire(&self, seat: &Seat);
}

impl<'a> ByHand<'a> {
    pub(super) fn new(store: &'a dyn Tampered) -> Self {
        ByHand { store }
    }

    /// Everything is gone: records, queues, sessions, words of release. The counter starts again, and the store has another incarnation, by which
    /// that can be noticed (SAFETY 18).
    pub fn wipe(self) {
        self.store.wipe();
    }

    /// The counter goes back by so much, to 0 at most, and nothing else shows it: what restoring a backup does to a store that does not
    /// raise its revisions (SAFETY 18).
    pub fn rewind(self, by: u64) {
        self.store.rewind(by);
    }

    /// The holder's record is deleted, or the bar that an eviction left. In a store with queues the next in line leads.
    pub fn remove(self, seat: &Seat) {
        self.store.remove(seat);
    }

    /// A foreign program writes its name over the holder's record, or into the vacant office, for so long; it writes no tenure id and no token.
    pub fn overwrite(self, seat: &Seat, holder: &str, ttl: Duration) {
        self.store.overwrite(seat, holder, ttl);
    }

    /// The holder's record expires now; where a session covers it, the session does, with everything else it covers.
    pub fn expire(self, seat: &Seat) {
        self.store.expire(seat);
    }
}

impl<T: Table> Tampered for Store<T> {
    fn wipe(&self) {
        self.apply(|table, watchers, _| {
            table.wipe(watchers);
            table.ledger().reset();
        });
    }

    fn rewind(&self, by: u64) {
        self.apply(|table, _, _| table.ledger().rewind(by));
    }

    fn remove(&self, seat: &Seat) {
        self.apply(|table, watchers, now| table.remove(seat, now, watchers));
    }

    fn overwrite(&self, seat: &Seat, holder: &str, ttl: Duration) {
        self.apply(|table, watchers, now| table.overwrite(seat, holder, ttl, now, watchers));
    }

    fn expire(&self, seat: &Seat) {
        self.apply(|table, watchers, now| table.expire(seat, now, watchers));
    }
}

impl fmt::Debug for ByHand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByHand").finish_non_exhaustive()
    }
}
