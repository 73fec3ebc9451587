//! Who watches which office, and what each has yet to read.

use std::collections::{HashMap, VecDeque};
use std::mem::{discriminant, take};
use std::task::Waker;

use slab::Slab;

use super::store::ClientId;
use crate::backend::{Hint, TenureId};
use crate::mutant::{Mutant, planted};
use crate::{Moment, Seat};

/// How many hints of different kinds in a row wait for a watcher that does not read before it is told that it lags.
pub(super) const PATIENCE: usize = 16;

/// What a watcher is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    Observer,
    Candidate(TenureId),
}

/// All subscriptions of a store.
///
/// One of them is the timekeeper: the stream that waits for the next record to lapse, for all of them. So a store needs no task and no
/// thread of its own, and a hundred thousand watchers need one timer.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    mailboxes: Slab<Mailbox>,
    by_seat: HashMap<Seat, Vec<usize>>,
    timekeeper: Option<Timekeeper>,
    /// Whom to wake once the store's lock is free.
    wakers: Vec<Waker>,
}

#[derive(Clone, Copy, Debug)]
struct Timekeeper {
    watcher: usize,
    until: Moment,
}

#[derive(Debug)]
pub(super) struct Mailbox {
    client: ClientId,
    seat: Seat,
    interest: Interest,
    hints: VecDeque<Hint>,
    /// After what is in it now nothing follows.
    closed: bool,
    waker: Option<Waker>,
}

/// What a watcher finds when it looks.
#[derive(Debug)]
pub(super) enum Post {
    Hint(Hint),
    Nothing,
    /// Nothing, and it is this watcher's turn to wait until then.
    NothingUntil(Moment),
    /// Nothing will come any more.
    Ended,
}

impl Watchers {
    pub(super) fn subscribe(&mut self, client: ClientId, seat: &Seat, interest: Interest) -> usize {
        let hints = VecDeque::from([Hint::Armed]);
        let mailbox = Mailbox { client, seat: seat.clone(), interest, hints, closed: false, waker: None };
        let id = self.mailboxes.insert(mailbox);
        self.by_seat.entry(seat.clone()).or_default().push(id);
        id
    }

    /// Ends a subscription. The mailbox is handed out, for its waker must not be dropped under the store's lock: that could end the very
    /// task that owns another subscription.
    pub(super) fn unsubscribe(&mut self, id: usize) -> Option<Mailbox> {
        let mailbox = self.mailboxes.try_remove(id)?;
        if let Some(ids) = self.by_seat.get_mut(&mailbox.seat) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_seat.remove(&mailbox.seat);
            }
        }
        self.timekeeper = self.timekeeper.filter(|keeper| keeper.watcher != id);
        Some(mailbox)
    }

    /// Puts what `hint` says for each into the mailboxes of those who watch `seat`.
    pub(super) fn tell(&mut self, seat: &Seat, mut hint: impl FnMut(Interest) -> Option<Hint>) {
        for id in self.by_seat.get(seat).into_iter().flatten() {
            let mailbox = &mut self.mailboxes[*id];
            if let Some(hint) = hint(mailbox.interest) {
                mailbox.put(hint);
                self.wakers.extend(mailbox.waker.take());
            }
        }
    }

    /// Closes the subscriptions of one client, or of all.
    pub(super) fn cut(&mut self, client: Option<ClientId>) {
        for (_, mailbox) in &mut self.mailboxes {
            if client.is_none_or(|client| mailbox.client == client) {
                mailbox.close();
                self.wakers.extend(mailbox.waker.take());
            }
        }
    }

    /// Hands a watcher its next hint; a watcher that finds none is woken by `waker`, and takes over the timekeeping if nobody does it. The old
    /// waker is handed out, not to be dropped under the store's lock.
    pub(super) fn read(&mut self, id: usize, waker: &Waker, next_lapse: Moment, now: Moment) -> (Post, Option<Waker>) {
        let Some(mailbox) = self.mailboxes.get_mut(id) else {
            return (Post::Ended, None);
        };
        if let Some(hint) = mailbox.hints.pop_front() {
            return (Post::Hint(hint), None);
        }
        if mailbox.closed {
            return (Post::Ended, None);
        }
        let same = mailbox.waker.as_ref().is_some_and(|old| old.will_wake(waker));
        let old = if same { None } else { mailbox.waker.replace(waker.clone()) };
        let vacant = self.timekeeper.is_none_or(|keeper| keeper.watcher == id || keeper.until <= now);
        if !vacant {
            return (Post::Nothing, old);
        }
        if next_lapse == Moment::NEVER {
            self.timekeeper = None;
            return (Post::Nothing, old);
        }
        self.timekeeper = Some(Timekeeper { watcher: id, until: next_lapse });
        (Post::NothingUntil(next_lapse), old)
    }

    /// Sees to it that somebody waits for `next_lapse`, and gives out whom to wake.
    pub(super) fn rouse(&mut self, next_lapse: Moment, now: Moment) -> Vec<Waker> {
        match self.timekeeper {
            Some(keeper) if next_lapse < keeper.until => {
                self.wakers.extend(self.mailboxes.get_mut(keeper.watcher).and_then(|mailbox| mailbox.waker.take()));
            }
            // It was to look by now and has not: it may be held by somebody who does not read. Let another do it.
            Some(keeper) if keeper.until <= now => self.appoint_other_than(Some(keeper.watcher)),
            None if next_lapse != Moment::NEVER => self.appoint_other_than(None),
            _ => {}
        }
        take(&mut self.wakers)
    }

    pub(super) fn watches(&self, seat: &Seat) -> bool {
        self.by_seat.contains_key(seat)
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        assert_eq!(self.mailboxes.len(), self.by_seat.values().map(Vec::len).sum::<usize>());
        self.mailboxes.len()
    }

    /// Whoever is woken finds the office of timekeeper vacant when it looks.
    fn appoint_other_than(&mut self, keeper: Option<usize>) {
        let other = self.mailboxes.iter_mut().find(|(id, mailbox)| Some(*id) != keeper && mailbox.waker.is_some());
        if let Some((_, mailbox)) = other {
            self.timekeeper = None;
            self.wakers.extend(mailbox.waker.take());
        }
    }
}

impl Mailbox {
    /// A hint of the same kind as the last replaces it: what counts is how things stand now.
    fn put(&mut self, hint: Hint) {
        let full = self.hints.len() >= PATIENCE;
        match self.hints.back_mut() {
            _ if self.closed => {}
            Some(last) if discriminant(last) == discriminant(&hint) => *last = hint,
            _ if full => {
                self.hints.retain(|hint| *hint == Hint::Armed);
                self.close();
            }
            _ => self.hints.push_back(hint),
        }
    }

    /// A stream never ends silently.
    fn close(&mut self) {
        if !self.closed && !planted(Mutant::MemorySilentWatchEnd) {
            self.hints.push_back(Hint::Lagged);
        }
        self.closed = true;
    }
}
