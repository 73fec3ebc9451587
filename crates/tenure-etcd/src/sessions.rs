//! The leases that this process keeps alive, and the places in queues that hang on them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::backend::{Cover, SessionId, TenureId};
use tenure::mutant::{Mutant, planted};
use tenure::{Moment, Seat};

/// At most so many seats a lease (SAFETY 21); the next one opens a further lease.
pub(crate) const SEATS_PER_SESSION: usize = 1_000;

/// What one backend value has in etcd, as far as it knows.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    inside: Mutex<Inside>,
    /// Held while a lease is asked for, so that many bids open one.
    pub(crate) opening: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Inside {
    sessions: HashMap<i64, Session>,
    claims: HashMap<Seat, Claim>,
    debts: Vec<Debt>,
}

#[derive(Debug)]
struct Session {
    /// The seconds that were asked for: candidates with the same lease share it.
    asked: i64,
    ttl: Duration,
    /// The clock before the last request was sent that is known to have extended it.
    from: Moment,
    seats: HashSet<Seat>,
}

impl Session {
    fn is_over(&self, now: Moment) -> bool {
        now >= self.from.after(self.ttl)
    }

    /// Whether it is worth hanging another seat on it: nobody extends one that carries none.
    fn is_fresh(&self, now: Moment) -> bool {
        now < self.from.after(self.ttl * 2 / 3) || planted(Mutant::EtcdDeadSessionReused)
    }
}

/// A place in a queue that a bid of ours has taken, or may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) tenure: TenureId,
    pub(crate) lease: i64,
    /// The revision that created it, once it is known.
    pub(crate) created: Option<i64>,
}

/// A place that ought to be gone and may not be: a withdrawal failed, or a bid may land late. The lease that keeps it may live on for others.
#[derive(Clone, Debug)]
pub(crate) struct Debt {
    pub(crate) seat: Seat,
    pub(crate) tenure: TenureId,
    pub(crate) lease: i64,
    /// Until when it is looked for although it is not there.
    pub(crate) until: Moment,
}

impl Sessions {
    /// A lease of this length that can carry the seat.
    pub(crate) fn usable(&self, seat: &Seat, asked: i64, now: Moment) -> Option<i64> {
        let mut inside = self.inside();
        inside.forget_what_is_over(now);
        let fits = |session: &Session| {
            let room = session.seats.len() < SEATS_PER_SESSION || planted(Mutant::EtcdSessionUnlimited);
            session.asked == asked && session.is_fresh(now) && (room || session.seats.contains(seat))
        };
        inside.sessions.iter().filter(|(_, session)| fits(session)).map(|(lease, _)| *lease).min()
    }

    pub(crate) fn opened(&self, lease: i64, asked: i64, from: Moment, ttl: Duration) {
        self.inside().sessions.insert(lease, Session { asked, ttl, from, seats: HashSet::new() });
    }

    /// From when and for how long a lease is known to live; `None` when its time is over by our own clock, whatever etcd says.
    pub(crate) fn cover(&self, lease: i64, now: Moment) -> Option<Cover> {
        let inside = self.inside();
        let session = inside.sessions.get(&lease)?;
        let alive = !session.is_over(now) || planted(Mutant::EtcdDeadSessionReused);
        alive.then(|| Cover::Shared { session: id_of(lease), from: session.from, ttl: session.ttl })
    }

    pub(crate) fn ttl(&self, lease: i64) -> Option<Duration> {
        self.inside().sessions.get(&lease).map(|session| session.ttl)
    }

    /// A keepalive that was sent at `sent` extended a lease. One that was over before is not brought back.
    pub(crate) fn extended(&self, lease: i64, sent: Moment, ttl: Duration, now: Moment) {
        if let Some(session) = self.inside().sessions.get_mut(&lease)
            && !session.is_over(now)
        {
            (session.from, session.ttl) = (session.from.max(sent), ttl);
        }
    }

    /// A lease is no more, and what hung on it neither.
    pub(crate) fn lost(&self, lease: i64) {
        self.inside().lost(lease);
    }

    pub(crate) fn claim(&self, seat: &Seat) -> Option<Claim> {
        self.inside().claims.get(seat).copied()
    }

    /// Notes a place before it is asked for, so that it is known whatever becomes of the answer.
    pub(crate) fn claims(&self, seat: &Seat, tenure: TenureId, lease: i64) {
        let mut inside = self.inside();
        inside.release(seat);
        if let Some(session) = inside.sessions.get_mut(&lease) {
            session.seats.insert(seat.clone());
        }
        inside.claims.insert(seat.clone(), Claim { tenure, lease, created: None });
    }

    pub(crate) fn confirmed(&self, seat: &Seat, tenure: TenureId, created: i64) {
        if let Some(claim) = self.inside().claims.get_mut(seat)
            && claim.tenure == tenure
        {
            claim.created = Some(created);
        }
    }

    /// A bid of this tenure found its place: it is not one that ought to be gone.
    pub(crate) fn settled(&self, seat: &Seat, tenure: TenureId) {
        self.inside().debts.retain(|debt| (&debt.seat, debt.tenure) != (seat, tenure));
    }

    /// This tenure has no place any more.
    pub(crate) fn released(&self, seat: &Seat, tenure: TenureId) {
        let mut inside = self.inside();
        if inside.claims.get(seat).is_some_and(|claim| claim.tenure == tenure) {
            inside.release(seat);
        }
    }

    pub(crate) fn owes(&self, debt: Debt) {
        if planted(Mutant::EtcdLateLandingForgotten) {
            return;
        }
        let mut inside = self.inside();
        inside.debts.retain(|old| (old.lease, &old.seat, old.tenure) != (debt.lease, &debt.seat, debt.tenure));
        inside.debts.push(debt);
    }

    pub(crate) fn is_owed(&self, tenure: TenureId) -> bool {
        self.inside().debts.iter().any(|debt| debt.tenure == tenure)
    }

    pub(crate) fn debts(&self, lease: i64) -> Vec<Debt> {
        self.inside().debts.iter().filter(|debt| debt.lease == lease).cloned().collect()
    }

    /// The place of a debt was looked for. What was not there may still come, for a while.
    pub(crate) fn looked_for(&self, debt: &Debt, removed: bool, now: Moment) {
        if removed || now >= debt.until {
            let same = |old: &Debt| old.tenure == debt.tenure && old.seat == debt.seat && old.lease == debt.lease;
            self.inside().debts.retain(|old| !same(old));
        }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn forget_what_is_over(&mut self, now: Moment) {
        let over: Vec<i64> =
            self.sessions.iter().filter(|(_, session)| session.is_over(now)).map(|(lease, _)| *lease).collect();
        if planted(Mutant::EtcdDeadSessionReused) {
            return;
        }
        for lease in over {
            self.lost(lease);
        }
    }

    fn lost(&mut self, lease: i64) {
        self.sessions.remove(&lease);
        self.debts.retain(|debt| debt.lease != lease);
    }

    fn release(&mut self, seat: &Seat) {
        if let Some(claim) = self.claims.remove(seat)
            && let Some(session) = self.sessions.get_mut(&claim.lease)
        {
            session.seats.remove(seat);
        }
    }
}

/// The lease as the driver knows it.
pub(crate) fn id_of(lease: i64) -> SessionId {
    SessionId(lease.cast_unsigned())
}

/// The lease that the driver means.
pub(crate) fn lease_of(session: SessionId) -> i64 {
    session.0.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(15);

    fn at(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    fn seat(number: usize) -> Seat {
        Seat::new(&format!("seat-{number}")).unwrap()
    }

    fn sessions() -> Sessions {
        let sessions = Sessions::default();
        sessions.opened(7, 15, at(100), TTL);
        sessions
    }

    #[test]
    fn a_lease_that_is_over_by_our_own_clock_is_not_used_again() {
        let sessions = sessions();
        assert_eq!(sessions.usable(&seat(1), 15, at(101)), Some(7));
        assert_eq!(sessions.usable(&seat(1), 20, at(101)), None, "that is another length");
        assert_eq!(sessions.usable(&seat(1), 15, at(110)), None, "nobody seems to extend it");
        assert!(sessions.cover(7, at(114)).is_some());
        assert_eq!(sessions.cover(7, at(115)), None);
        // An answer that comes after its end does not bring it back.
        sessions.extended(7, at(112), TTL, at(116));
        assert_eq!(sessions.cover(7, at(116)), None);
    }

    #[test]
    fn what_a_keepalive_bought_counts_from_when_it_was_sent() {
        let sessions = sessions();
        sessions.extended(7, at(105), TTL, at(108));
        let Some(Cover::Shared { from, ttl, session }) = sessions.cover(7, at(108)) else { panic!("it lives") };
        assert_eq!((from, ttl, lease_of(session)), (at(105), TTL, 7));
        sessions.extended(7, at(103), TTL, at(109));
        assert!(matches!(sessions.cover(7, at(109)), Some(Cover::Shared { from, .. }) if from == at(105)));
    }

    #[test]
    fn a_lease_carries_a_thousand_seats_and_no_more() {
        // SAFETY 21
        let sessions = sessions();
        for number in 0..SEATS_PER_SESSION {
            assert_eq!(sessions.usable(&seat(number), 15, at(101)), Some(7));
            sessions.claims(&seat(number), TenureId::new(1, 1), 7);
        }
        assert_eq!(sessions.usable(&seat(5), 15, at(101)), Some(7), "it is there already");
        assert_eq!(sessions.usable(&seat(SEATS_PER_SESSION), 15, at(101)), None);
        sessions.released(&seat(5), TenureId::new(1, 1));
        assert_eq!(sessions.usable(&seat(SEATS_PER_SESSION), 15, at(101)), Some(7));
    }

    #[test]
    fn a_place_that_may_still_come_is_looked_for_for_a_while() {
        let sessions = sessions();
        let debt = Debt { seat: seat(1), tenure: TenureId::new(1, 1), lease: 7, until: at(200) };
        sessions.owes(debt.clone());
        sessions.owes(debt.clone());
        assert_eq!(sessions.debts(7).len(), 1);
        sessions.looked_for(&debt, false, at(150));
        assert!(sessions.is_owed(debt.tenure), "it may still land");
        sessions.looked_for(&debt, true, at(160));
        assert!(!sessions.is_owed(debt.tenure));
        sessions.owes(debt.clone());
        sessions.settled(&seat(2), debt.tenure);
        assert!(sessions.is_owed(debt.tenure), "that is another election");
        sessions.settled(&debt.seat, debt.tenure);
        assert!(!sessions.is_owed(debt.tenure));
    }
}
