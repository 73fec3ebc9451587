//! The table of records that each have a life of their own.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use super::ledger::{Ledger, is_over};
use super::record::{Record, Word};
use super::store::Table;
use super::watchers::{Interest, Watchers};
use crate::backend::{Bid, Cover, Evicted, Grant, Hint, Renewal, Sight, Standing, Vacancy, Version};
use crate::mutant::{Mutant, planted};
use crate::{Error, Moment, Seat};

/// Offices by name; the store judges when a record is over.
#[derive(Debug)]
pub(super) struct Offices {
    ledger: Ledger,
    offices: HashMap<Seat, Office>,
    /// When to look at which watched office next. Renewals do not touch it: an entry that comes too early is put off then.
    lapses: BinaryHeap<Reverse<(Moment, Seat)>>,
    sweep_at: usize,
}

#[derive(Debug)]
struct Office {
    state: State,
    /// The one entry of `lapses` that counts for this office; never, where there is none.
    look_at: Moment,
}

#[derive(Debug)]
enum State {
    Vacant(Word),
    Held { record: Record, expiry: Moment, over: Vacancy },
}

impl Offices {
    /// From so many offices on it is worth looking for those of which nothing is left to say.
    const SWEEP_AT_LEAST: usize = 1024;

    pub(super) fn new() -> Self {
        Offices {
            ledger: Ledger::new(),
            offices: HashMap::new(),
            lapses: BinaryHeap::new(),
            sweep_at: Self::SWEEP_AT_LEAST,
        }
    }

    pub(super) fn stand(&mut self, bid: &Bid, now: Moment, watchers: &mut Watchers) -> Result<Standing, Error> {
        let ttl = self.ledger.granted(bid.lease())?;
        let over = match self.offices.get_mut(bid.seat()) {
            None => Vacancy::Free,
            Some(office) => match office.holding(now) {
                Some((record, expiry, over)) if record.is_of(bid.tenure()) => {
                    record.rewrite(&mut self.ledger);
                    *expiry = now.after(ttl);
                    let grant = record.grant(bid.tenure(), Cover::Own { ttl }, over, &self.ledger);
                    self.look_no_later(bid.seat(), now.after(ttl), watchers);
                    return Ok(Standing::Elected(grant));
                }
                Some((record, expiry, _)) if !record.yields_to(bid) => {
                    return Ok(Standing::Held(Sight::Held(record.seen(Some(*expiry), now))));
                }
                Some(_) => Vacancy::Removed,
                None => office.vacancy(now),
            },
        };
        Ok(Standing::Elected(self.install(bid, ttl, over, now, watchers)))
    }

    pub(super) fn renew(
        &mut self,
        bid: &Bid,
        version: &Version,
        now: Moment,
        watchers: &mut Watchers,
    ) -> Result<Renewal, Error> {
        let ttl = self.ledger.granted(bid.lease())?;
        let conditional = !planted(Mutant::MemoryRenewsAnyVersion);
        match self.offices.get_mut(bid.seat()).and_then(|office| office.holding(now)) {
            Some((record, expiry, over))
                if !conditional || (record.is_of(bid.tenure()) && record.has_version(version)) =>
            {
                record.rewrite(&mut self.ledger);
                let until = now.after(ttl);
                let earlier = until < *expiry;
                *expiry = until;
                let grant = record.grant(bid.tenure(), Cover::Own { ttl }, over, &self.ledger);
                if earlier {
                    self.look_no_later(bid.seat(), until, watchers);
                }
                Ok(Renewal::Extended(grant))
            }
            // SAFETY 9: a renewal never creates a record.
            None if planted(Mutant::MemoryRenewCreates) => {
                Ok(Renewal::Extended(self.install(bid, ttl, Vacancy::Free, now, watchers)))
            }
            _ => Ok(Renewal::Mismatch(self.inspect(bid.seat(), now))),
        }
    }

    fn install(&mut self, bid: &Bid, ttl: Duration, over: Vacancy, now: Moment, watchers: &mut Watchers) -> Grant {
        let record = Record::of(bid, &mut self.ledger);
        let grant = record.grant(bid.tenure(), Cover::Own { ttl }, over, &self.ledger);
        self.write(bid.seat(), record, now.after(ttl), over, now, watchers);
        grant
    }

    /// Puts a record into an office, whatever was there, and tells everybody but the one who holds it now.
    fn write(
        &mut self,
        seat: &Seat,
        record: Record,
        expiry: Moment,
        over: Vacancy,
        now: Moment,
        watchers: &mut Watchers,
    ) {
        self.sweep(now);
        let seen = record.seen(Some(expiry), now);
        watchers.tell(seat, |interest| {
            let own = seen.tenure.is_some_and(|tenure| interest == Interest::Candidate(tenure));
            (!own).then(|| Hint::Seen(Sight::Held(seen.clone())))
        });
        let state = State::Held { record, expiry, over };
        match self.offices.get_mut(seat) {
            Some(office) => office.state = state,
            None => drop(self.offices.insert(seat.clone(), Office { state, look_at: Moment::NEVER })),
        }
        self.look_no_later(seat, expiry, watchers);
    }

    fn vacate(&mut self, seat: &Seat, vacancy: Vacancy, now: Moment, watchers: &mut Watchers) {
        if let Some(office) = self.offices.get_mut(seat) {
            office.state = State::Vacant(Word::left(vacancy, now));
            watchers.tell(seat, |_| Some(Hint::Vacant));
        }
    }

    /// Sees to it that a watched office is looked at when its record ends.
    fn look_no_later(&mut self, seat: &Seat, expiry: Moment, watchers: &Watchers) {
        if let Some(office) = self.offices.get_mut(seat)
            && expiry < office.look_at
            && watchers.watches(seat)
        {
            office.look_at = expiry;
            self.lapses.push(Reverse((expiry, seat.clone())));
        }
    }

    /// Forgets offices of which there is nothing to say, each time their number has doubled: names that are used once do not add up.
    fn sweep(&mut self, now: Moment) {
        if self.offices.len() < self.sweep_at {
            return;
        }
        self.offices.retain(|_, office| match &office.state {
            State::Vacant(word) => word.is_kept(now) || office.look_at != Moment::NEVER,
            State::Held { expiry, .. } => !is_over(*expiry, now) || office.look_at != Moment::NEVER,
        });
        self.sweep_at = Self::SWEEP_AT_LEAST.max(self.offices.len() * 2);
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.offices.len()
    }
}

impl Table for Offices {
    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn lapse(&mut self, now: Moment, watchers: &mut Watchers) {
        while let Some(Reverse((at, _))) = self.lapses.peek()
            && is_over(*at, now)
        {
            let Some(Reverse((at, seat))) = self.lapses.pop() else {
                return;
            };
            let Some(office) = self.offices.get_mut(&seat).filter(|office| office.look_at == at) else {
                continue;
            };
            office.look_at = Moment::NEVER;
            match &office.state {
                State::Held { record, expiry, .. } if is_over(*expiry, now) => {
                    let vacancy = record.vacancy_after();
                    self.vacate(&seat, vacancy, now, watchers);
                }
                State::Held { expiry, .. } => {
                    let expiry = *expiry;
                    self.look_no_later(&seat, expiry, watchers);
                }
                State::Vacant(_) => {}
            }
        }
    }

    fn next_lapse(&self) -> Moment {
        self.lapses.peek().map_or(Moment::NEVER, |Reverse((at, _))| *at)
    }

    fn watched(&mut self, seat: &Seat, watchers: &Watchers) {
        if let Some(Office { state: State::Held { expiry, .. }, .. }) = self.offices.get(seat) {
            let expiry = *expiry;
            self.look_no_later(seat, expiry, watchers);
        }
    }

    fn withdraw(&mut self, bid: &Bid, now: Moment, watchers: &mut Watchers) {
        let held = self.offices.get_mut(bid.seat()).and_then(|office| office.holding(now));
        if held.is_some_and(|(record, _, _)| record.yields_to_withdrawal_of(bid.tenure())) {
            self.ledger.note_release();
            self.vacate(bid.seat(), Vacancy::Released { by: bid.tenure() }, now, watchers);
        }
    }

    fn inspect(&self, seat: &Seat, now: Moment) -> Sight {
        self.offices.get(seat).map_or(Sight::Vacant(Vacancy::Free), |office| office.sight(now))
    }

    fn all(&self, now: Moment) -> Vec<(Seat, Sight)> {
        let all = self.offices.iter().map(|(seat, office)| (seat.clone(), office.sight(now)));
        all.filter(|(_, sight)| *sight != Sight::Vacant(Vacancy::Free)).collect()
    }

    fn ask_to_resign(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) -> bool {
        let held = self.offices.get_mut(seat).and_then(|office| office.holding(now));
        let Some((record, expiry, _)) = held.filter(|(record, _, _)| !record.is_bar()) else {
            return false;
        };
        record.ask_to_resign();
        let seen = record.seen(Some(*expiry), now);
        watchers.tell(seat, |_| Some(Hint::Seen(Sight::Held(seen.clone()))));
        true
    }

    fn evict(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) -> Evicted {
        let held = self.offices.get_mut(seat).and_then(|office| office.holding(now));
        let Some((record, expiry, over)) = held else {
            return Evicted::WasVacant;
        };
        let expiry = *expiry;
        if !record.is_bar() {
            let bar = record.bar(&mut self.ledger);
            if planted(Mutant::MemoryEvictionUnbarred) {
                self.vacate(seat, Vacancy::Removed, now, watchers);
            } else {
                self.write(seat, bar, expiry, over, now, watchers);
            }
        }
        Evicted::Barred { remaining: expiry.until_from(now) }
    }

    fn wipe(&mut self, watchers: &mut Watchers) {
        self.lapses.clear();
        for (seat, office) in self.offices.drain() {
            if let State::Held { .. } = office.state {
                watchers.tell(&seat, |_| Some(Hint::Vacant));
            }
        }
    }

    fn remove(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) {
        if self.inspect(seat, now).held().is_some() {
            self.vacate(seat, Vacancy::Removed, now, watchers);
        }
    }

    fn overwrite(&mut self, seat: &Seat, holder: &str, ttl: Duration, now: Moment, watchers: &mut Watchers) {
        let record = Record::foreign(holder, &mut self.ledger);
        self.write(seat, record, now.after(ttl), Vacancy::Removed, now, watchers);
    }

    fn expire(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) {
        let held = self.offices.get_mut(seat).and_then(|office| office.holding(now));
        if let Some(vacancy) = held.map(|(record, _, _)| record.vacancy_after()) {
            self.vacate(seat, vacancy, now, watchers);
        }
    }
}

impl Office {
    /// The record, its end and what was there before it, unless it is over.
    fn holding(&mut self, now: Moment) -> Option<(&mut Record, &mut Moment, Vacancy)> {
        match &mut self.state {
            State::Held { record, expiry, over } if !is_over(*expiry, now) => Some((record, expiry, *over)),
            _ => None,
        }
    }

    fn sight(&self, now: Moment) -> Sight {
        match &self.state {
            State::Held { record, expiry, .. } if !is_over(*expiry, now) => {
                Sight::Held(record.seen(Some(*expiry), now))
            }
            _ => Sight::Vacant(self.vacancy(now)),
        }
    }

    fn vacancy(&self, now: Moment) -> Vacancy {
        match &self.state {
            State::Vacant(word) => word.vacancy(now),
            State::Held { record, .. } => record.vacancy_after(),
        }
    }
}
