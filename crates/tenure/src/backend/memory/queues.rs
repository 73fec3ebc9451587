//! The table of offices with queues, and of the sessions that keep the places in them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::time::Duration;

use super::ledger::{Ledger, is_over};
use super::queue::{Entry, Queue};
use super::record::Record;
use super::store::{ClientId, Table};
use super::watchers::Watchers;
use crate::backend::{Attempt, Beat, Bid, Cover, Evicted, Hint, Renewal, SessionId, Sight, Standing, Vacancy, Version};
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, Moment, Seat};

/// At most so many seats a session (SAFETY 21); the next one opens a further session.
pub(super) const SEATS_PER_SESSION: usize = 1_000;

/// Queues by office, and sessions by id.
#[derive(Debug)]
pub(super) struct Queues {
    ledger: Ledger,
    queues: HashMap<Seat, Queue>,
    sessions: HashMap<SessionId, Session>,
    sessions_of: HashMap<ClientId, Vec<SessionId>>,
    /// One entry a session and a bar. Heartbeats do not touch it: an entry that comes too early is put off then.
    lapses: BinaryHeap<Reverse<(Moment, Lapse)>>,
    /// Never reset, or an old session could be taken for a new one.
    sessions_opened: u64,
    sweep_at: usize,
}

#[derive(Debug)]
struct Session {
    /// `None` for a foreign program's.
    client: Option<ClientId>,
    ttl: Duration,
    expiry: Moment,
    seats: BTreeSet<Seat>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lapse {
    Session(SessionId),
    Bar(Seat),
}

impl Queues {
    /// From so many offices on it is worth looking for those of which nothing is left to say.
    const SWEEP_AT_LEAST: usize = 1024;

    pub(super) fn new() -> Self {
        Queues {
            ledger: Ledger::new(),
            queues: HashMap::new(),
            sessions: HashMap::new(),
            sessions_of: HashMap::new(),
            lapses: BinaryHeap::new(),
            sessions_opened: 0,
            sweep_at: Self::SWEEP_AT_LEAST,
        }
    }

    pub(super) fn stand(
        &mut self,
        client: ClientId,
        bid: &Bid,
        attempt: Attempt,
        now: Moment,
        watchers: &mut Watchers,
    ) -> Result<Standing, Error> {
        let ttl = self.ledger.granted(bid.lease())?;
        let seat = bid.seat();
        let session = match self.place_of(client, seat) {
            Some((_, entry)) if entry.record.is_of(bid.tenure()) || planted(Mutant::MemoryTwoSeatsOnOneSession) => {
                entry.session
            }
            // SAFETY 21: it would be one key with two leaders.
            Some((_, entry)) if entry.record.tenure().is_some_and(|old| old.nonce() != bid.tenure().nonce()) => {
                return Err(already_running());
            }
            // A bid that was given up and comes late must not take the place of a newer one: that one may lead by now.
            Some((_, entry))
                if entry.record.tenure().is_some_and(|held| {
                    bid.tenure().is_earlier_than(held) && !planted(Mutant::MemoryLateBidReplaces)
                }) =>
            {
                return Ok(Standing::Held(self.inspect(seat, now)));
            }
            former => {
                if let Some((index, _)) = former {
                    self.strike(seat, index, Vacancy::Free, now, watchers);
                }
                self.join(client, bid, ttl, now, watchers)
            }
        };
        // Both are there: a place is kept by a session that lives, and those that do not were ended before this call.
        let place = extend(&mut self.sessions, session, now).zip(self.queues.get(seat));
        let Some((ttl, queue)) = place else {
            return Err(Error::new(ErrorKind::Internal, "a place in the queue that no session keeps"));
        };
        let cover = Cover::Shared { session, from: attempt.sent, ttl };
        Ok(match queue.holder() {
            Some(entry) if entry.session == session => {
                Standing::Elected(entry.record.grant(bid.tenure(), cover, queue.over(now), &self.ledger))
            }
            _ => Standing::Queued(queue.sight(now), Some(cover)),
        })
    }

    pub(super) fn renew(&mut self, bid: &Bid, version: &Version, attempt: Attempt, now: Moment) -> Renewal {
        let renewed = self.queues.get_mut(bid.seat()).and_then(|queue| {
            let over = queue.over(now);
            let ours = |entry: &&mut Entry| entry.record.is_of(bid.tenure()) && entry.record.has_version(version);
            let entry = queue.holder_mut().filter(ours)?;
            let ttl = extend(&mut self.sessions, entry.session, now)?;
            entry.record.rewrite(&mut self.ledger);
            let cover = Cover::Shared { session: entry.session, from: attempt.sent, ttl };
            Some(entry.record.grant(bid.tenure(), cover, over, &self.ledger))
        });
        match renewed {
            Some(grant) => Renewal::Extended(grant),
            None => Renewal::Mismatch(self.inspect(bid.seat(), now)),
        }
    }

    pub(super) fn heartbeat(&mut self, session: SessionId, now: Moment) -> Beat {
        match extend(&mut self.sessions, session, now) {
            Some(ttl) => Beat::Extended { ttl },
            None => Beat::Lost,
        }
    }

    /// Ends all sessions of a client, as if they had expired.
    pub(super) fn expire_client(&mut self, client: ClientId, now: Moment, watchers: &mut Watchers) {
        for session in self.sessions_of.remove(&client).unwrap_or_default() {
            self.end(session, now, watchers);
        }
    }

    /// Takes a new place at the end of the queue, on a session of the client's that has room and this very lease.
    fn join(&mut self, client: ClientId, bid: &Bid, ttl: Duration, now: Moment, watchers: &mut Watchers) -> SessionId {
        self.sweep(now);
        let seat = bid.seat();
        if self.queues.get(seat).and_then(Queue::holder).is_some_and(|entry| entry.record.yields_to(bid)) {
            self.strike(seat, 0, Vacancy::Removed, now, watchers);
        }
        let own = self.sessions_of.get(&client).into_iter().flatten();
        let roomy = own.copied().find(|id| {
            let room = |session: &Session| session.seats.len() < SEATS_PER_SESSION;
            self.sessions
                .get(id)
                .is_some_and(|session| session.ttl == ttl && (room(session) || planted(Mutant::MemorySessionUnlimited)))
        });
        let session = roomy.unwrap_or_else(|| self.open(Some(client), ttl, now));
        if let Some(session) = self.sessions.get_mut(&session) {
            session.seats.insert(seat.clone());
        }
        let record = Record::of(bid, &mut self.ledger);
        self.queues.entry(seat.clone()).or_insert_with(Queue::new).join(Entry { record, session }, seat, now, watchers);
        session
    }

    fn open(&mut self, client: Option<ClientId>, ttl: Duration, now: Moment) -> SessionId {
        self.sessions_opened += 1;
        let id = SessionId(self.sessions_opened);
        let expiry = now.after(ttl);
        self.sessions.insert(id, Session { client, ttl, expiry, seats: BTreeSet::new() });
        self.lapses.push(Reverse((expiry, Lapse::Session(id))));
        if let Some(client) = client {
            self.sessions_of.entry(client).or_default().push(id);
        }
        id
    }

    /// Ends a session, and with it all that it carries (SAFETY 21).
    fn end(&mut self, id: SessionId, now: Moment, watchers: &mut Watchers) {
        let Some(session) = self.sessions.remove(&id) else {
            return;
        };
        if let Some(client) = session.client
            && let Some(ids) = self.sessions_of.get_mut(&client)
        {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.sessions_of.remove(&client);
            }
        }
        if planted(Mutant::MemorySessionEndKeeps) {
            return;
        }
        for seat in &session.seats {
            let index = self.queues.get(seat).and_then(|queue| queue.find(|entry| entry.session == id));
            if let Some(index) = index {
                self.strike(seat, index, Vacancy::Free, now, watchers);
            }
        }
    }

    fn strike(&mut self, seat: &Seat, index: usize, vacancy: Vacancy, now: Moment, watchers: &mut Watchers) {
        let Some(queue) = self.queues.get_mut(seat) else {
            return;
        };
        let struck = queue.strike(index, vacancy, seat, now, watchers);
        self.forget_seat(struck, seat);
    }

    fn forget_seat(&mut self, struck: Option<Entry>, seat: &Seat) {
        if let Some(session) = struck.and_then(|entry| self.sessions.get_mut(&entry.session)) {
            session.seats.remove(seat);
        }
    }

    /// The one place that a client has in a queue.
    fn place_of(&self, client: ClientId, seat: &Seat) -> Option<(usize, &Entry)> {
        let queue = self.queues.get(seat)?;
        let index = queue
            .find(|entry| self.sessions.get(&entry.session).is_some_and(|session| session.client == Some(client)))?;
        queue.entry(index).map(|entry| (index, entry))
    }

    /// Forgets offices of which there is nothing to say, each time their number has doubled.
    fn sweep(&mut self, now: Moment) {
        if self.queues.len() >= self.sweep_at {
            self.queues.retain(|_, queue| queue.is_worth_keeping(now));
            self.sweep_at = Self::SWEEP_AT_LEAST.max(self.queues.len() * 2);
        }
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        (self.queues.len(), self.sessions.len())
    }
}

impl Table for Queues {
    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn lapse(&mut self, now: Moment, watchers: &mut Watchers) {
        while let Some(Reverse((at, _))) = self.lapses.peek()
            && is_over(*at, now)
        {
            let Some(Reverse((_, lapse))) = self.lapses.pop() else {
                return;
            };
            match lapse {
                Lapse::Session(id) => match self.sessions.get(&id) {
                    Some(session) if is_over(session.expiry, now) => self.end(id, now, watchers),
                    Some(session) => self.lapses.push(Reverse((session.expiry, lapse))),
                    None => {}
                },
                Lapse::Bar(seat) => {
                    if let Some(queue) = self.queues.get_mut(&seat).filter(|queue| queue.is_bar_over(now)) {
                        queue.lift_bar(&seat, now, watchers);
                    }
                }
            }
        }
    }

    fn next_lapse(&self) -> Moment {
        self.lapses.peek().map_or(Moment::NEVER, |Reverse((at, _))| *at)
    }

    fn watched(&mut self, _: &Seat, _: &Watchers) {
        // Sessions are looked at when they end, whether anybody watches or not.
    }

    fn withdraw(&mut self, bid: &Bid, now: Moment, watchers: &mut Watchers) {
        let Some(queue) = self.queues.get(bid.seat()) else {
            return;
        };
        let Some(index) = queue.find(|entry| entry.record.yields_to_withdrawal_of(bid.tenure())) else {
            return;
        };
        if planted(Mutant::MemoryWithdrawalEndsSession)
            && let Some(session) = queue.entry(index).map(|entry| entry.session)
        {
            return self.end(session, now, watchers);
        }
        self.ledger.note_release();
        self.strike(bid.seat(), index, Vacancy::Released { by: bid.tenure() }, now, watchers);
    }

    fn inspect(&self, seat: &Seat, now: Moment) -> Sight {
        self.queues.get(seat).map_or(Sight::Vacant(Vacancy::Free), |queue| queue.sight(now))
    }

    fn all(&self, now: Moment) -> Vec<(Seat, Sight)> {
        let all = self.queues.iter().map(|(seat, queue)| (seat.clone(), queue.sight(now)));
        all.filter(|(_, sight)| *sight != Sight::Vacant(Vacancy::Free)).collect()
    }

    fn ask_to_resign(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) -> bool {
        self.queues.get_mut(seat).is_some_and(|queue| queue.ask_to_resign(seat, now, watchers))
    }

    fn evict(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) -> Evicted {
        let Some(queue) = self.queues.get_mut(seat) else {
            return Evicted::WasVacant;
        };
        if let Some(until) = queue.barred_until() {
            return Evicted::Barred { remaining: until.until_from(now) };
        }
        let Some(holder) = queue.holder() else {
            return Evicted::WasVacant;
        };
        let until = self.sessions.get(&holder.session).map_or(now, |session| session.expiry);
        let bar = holder.record.bar(&mut self.ledger);
        let evicted = queue.put_bar(bar, until, seat, now, watchers);
        if planted(Mutant::MemoryEvictionUnbarred) {
            queue.lift_bar(seat, now, watchers);
        }
        self.forget_seat(evicted, seat);
        self.lapses.push(Reverse((until, Lapse::Bar(seat.clone()))));
        Evicted::Barred { remaining: until.until_from(now) }
    }

    fn wipe(&mut self, watchers: &mut Watchers) {
        self.lapses.clear();
        self.sessions.clear();
        self.sessions_of.clear();
        for (seat, _) in self.queues.drain() {
            watchers.tell(&seat, |_| Some(Hint::Vacant));
        }
    }

    fn remove(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) {
        match self.queues.get_mut(seat) {
            Some(queue) if queue.barred_until().is_some() => queue.lift_bar(seat, now, watchers),
            _ => self.strike(seat, 0, Vacancy::Removed, now, watchers),
        }
    }

    fn overwrite(&mut self, seat: &Seat, holder: &str, ttl: Duration, now: Moment, watchers: &mut Watchers) {
        let session = self.open(None, ttl, now);
        if let Some(session) = self.sessions.get_mut(&session) {
            session.seats.insert(seat.clone());
        }
        let record = Record::foreign(holder, &mut self.ledger);
        let queue = self.queues.entry(seat.clone()).or_insert_with(Queue::new);
        let former = queue.usurp(Entry { record, session }, seat, now, watchers);
        self.forget_seat(former, seat);
    }

    fn expire(&mut self, seat: &Seat, now: Moment, watchers: &mut Watchers) {
        match self.queues.get_mut(seat) {
            Some(queue) if queue.barred_until().is_some() => queue.lift_bar(seat, now, watchers),
            Some(queue) => {
                if let Some(session) = queue.holder().map(|entry| entry.session) {
                    self.end(session, now, watchers);
                }
            }
            None => {}
        }
    }
}

/// Extends a session that still lives by its full length. What that buys the candidate counts from when it ordered the call (SAFETY 1).
fn extend(sessions: &mut HashMap<SessionId, Session>, id: SessionId, now: Moment) -> Option<Duration> {
    let session = sessions.get_mut(&id)?;
    session.expiry = now.after(session.ttl);
    Some(session.ttl)
}

fn already_running() -> Error {
    Error::new(
        ErrorKind::AlreadyRunning,
        "another candidate runs for this election on the same session already; give it a client of its own",
    )
}
