//! One office with a queue: the first in it holds the office.

use std::collections::VecDeque;

use super::ledger::is_over;
use super::record::{Record, Word};
use super::watchers::{Interest, Watchers};
use crate::backend::{Hint, SessionId, Sight, Vacancy};
use crate::mutant::{Mutant, planted};
use crate::{Moment, Seat};

/// Those who hold and wait for one office, in the order in which they came.
#[derive(Debug)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    bar: Option<Bar>,
    /// What the last holder left behind.
    word: Word,
}

/// A place in the queue, for as long as its session lives.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) record: Record,
    pub(super) session: SessionId,
}

/// Keeps the office from everybody while an evicted holder may still believe.
#[derive(Debug)]
struct Bar {
    record: Record,
    until: Moment,
}

impl Queue {
    pub(super) fn new() -> Self {
        Queue { entries: VecDeque::new(), bar: None, word: Word::NONE }
    }

    /// At the end: tokens are create revisions, so they rise from the front to the back.
    pub(super) fn join(&mut self, entry: Entry, seat: &Seat, now: Moment, watchers: &mut Watchers) {
        self.entries.push_back(entry);
        if self.entries.len() == 1 {
            self.tell_observers(seat, now, watchers);
        }
    }

    /// In the place of the holder or the bar, as only a foreign hand puts itself there.
    pub(super) fn usurp(&mut self, entry: Entry, seat: &Seat, now: Moment, watchers: &mut Watchers) -> Option<Entry> {
        let former = if self.bar.take().is_some() { None } else { self.entries.pop_front() };
        if let Some(former) = &former {
            tell_owner(&former.record, seat, watchers);
        }
        self.entries.push_front(entry);
        self.announce(seat, now, watchers);
        former
    }

    /// Takes an entry out. If it held the office, `vacancy` is the word it leaves and the next in line is told.
    pub(super) fn strike(
        &mut self,
        index: usize,
        vacancy: Vacancy,
        seat: &Seat,
        now: Moment,
        watchers: &mut Watchers,
    ) -> Option<Entry> {
        let held = self.holder().is_some() && index == 0;
        let entry = self.entries.remove(index)?;
        tell_owner(&entry.record, seat, watchers);
        if held {
            self.word = Word::left(vacancy, now);
            self.announce(seat, now, watchers);
        }
        Some(entry)
    }

    /// The holder loses the office, and nobody has it before `until`.
    pub(super) fn put_bar(
        &mut self,
        record: Record,
        until: Moment,
        seat: &Seat,
        now: Moment,
        watchers: &mut Watchers,
    ) -> Option<Entry> {
        self.bar = Some(Bar { record, until });
        let evicted = self.entries.pop_front()?;
        tell_owner(&evicted.record, seat, watchers);
        self.tell_observers(seat, now, watchers);
        Some(evicted)
    }

    pub(super) fn lift_bar(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) {
        if self.bar.take().is_some() {
            self.word = Word::left(Vacancy::Removed, now);
            self.announce(seat, now, watchers);
        }
    }

    pub(super) fn ask_to_resign(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) -> bool {
        let Some(entry) = self.holder_mut() else {
            return false;
        };
        entry.record.ask_to_resign();
        tell_owner(&entry.record, seat, watchers);
        self.tell_observers(seat, now, watchers);
        true
    }

    pub(super) fn holder_mut(&mut self) -> Option<&mut Entry> {
        self.entries.front_mut().filter(|_| self.bar.is_none())
    }

    pub(super) fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    pub(super) fn find(&self, wanted: impl FnMut(&Entry) -> bool) -> Option<usize> {
        self.entries.iter().position(wanted)
    }

    /// The one who leads; nobody does while the office is barred.
    pub(super) fn holder(&self) -> Option<&Entry> {
        self.entries.front().filter(|_| self.bar.is_none())
    }

    pub(super) fn barred_until(&self) -> Option<Moment> {
        self.bar.as_ref().map(|bar| bar.until)
    }

    pub(super) fn is_bar_over(&self, now: Moment) -> bool {
        self.barred_until().is_some_and(|until| is_over(until, now))
    }

    /// What the last holder left behind.
    pub(super) fn over(&self, now: Moment) -> Vacancy {
        self.word.vacancy(now)
    }

    pub(super) fn sight(&self, now: Moment) -> Sight {
        match (&self.bar, self.entries.front()) {
            (Some(bar), _) => Sight::Held(bar.record.seen(Some(bar.until), now)),
            // A session's end is nothing to wait for: it moves with every heartbeat, and the next in line is told.
            (None, Some(entry)) => Sight::Held(entry.record.seen(None, now)),
            (None, None) => Sight::Vacant(self.word.vacancy(now)),
        }
    }

    pub(super) fn is_worth_keeping(&self, now: Moment) -> bool {
        self.bar.is_some() || !self.entries.is_empty() || self.word.is_kept(now)
    }

    fn tell_observers(&self, seat: &Seat, now: Moment, watchers: &mut Watchers) {
        let sight = self.sight(now);
        watchers.tell(seat, |interest| (interest == Interest::Observer).then(|| Hint::Seen(sight.clone())));
    }

    /// Tells of a change at the front. Only the next in line is told to stand, or the whole herd would; those who have no place are
    /// told once nobody has.
    fn announce(&self, seat: &Seat, now: Moment, watchers: &mut Watchers) {
        let sight = self.sight(now);
        let next = sight.held().map(|held| held.tenure);
        let herd = planted(Mutant::MemoryHerdWoken);
        watchers.tell(seat, |interest| match (interest, next) {
            (_, None) => Some(Hint::Vacant),
            (Interest::Observer, Some(_)) => Some(Hint::Seen(sight.clone())),
            (Interest::Candidate(tenure), Some(next)) => (next == Some(tenure) || herd).then_some(Hint::Vacant),
        });
    }
}

/// Whoever watches for this record hears that something happened to it.
fn tell_owner(record: &Record, seat: &Seat, watchers: &mut Watchers) {
    if let Some(tenure) = record.tenure() {
        watchers.tell(seat, |interest| (interest == Interest::Candidate(tenure)).then_some(Hint::Changed));
    }
}
