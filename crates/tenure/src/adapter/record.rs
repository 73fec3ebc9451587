//! The record of an office in a register.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{evicted, is_nobody, nobody, wall_clock};
use crate::backend::{Bid, Expiry, Held, Sight, TenureId, Vacancy, Version};
use crate::mutant::{Mutant, planted};

/// What a [`Register`](super::Register) keeps of an office. It is never deleted: a release clears the holder and keeps the term, so that the
/// next one is higher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegisterRecord {
    /// Who holds the office.
    pub holder: Option<Holder>,
    /// The *holder's* lease: for so long must this version be seen unchanged before it may be displaced (SAFETY 4). A store that keeps
    /// whole units rounds it up.
    pub lease: Duration,
    /// The number of the tenure, raised at every takeover: the fencing token.
    pub term: u64,
    /// The number of the write, raised by each: no two writes of a record are equal, also where the version is a digest of the content
    /// (SAFETY 10).
    pub write: u64,
    /// The tenure that gave the office up in due form, while nobody holds it.
    pub released_by: Option<TenureId>,
    /// What the holder advertises.
    pub advertise: Arc<[u8]>,
    /// When the tenure began by the holder's wall clock, in whole milliseconds: for people, never for decisions (SAFETY 3).
    pub since: Option<SystemTime>,
    /// Whether somebody asked the holder to resign.
    pub asked_to_resign: bool,
}

/// Who holds an office.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The candidate's name: untrusted text.
    pub name: Arc<str>,
    /// Its tenure; `None` for a foreign program that writes none.
    pub tenure: Option<TenureId>,
}

impl RegisterRecord {
    /// The record as a read found it under this version.
    pub fn sight(&self, version: &Version) -> Sight {
        match &self.holder {
            None => Sight::Vacant(self.vacancy()),
            Some(holder) => Sight::Held(Held {
                version: version.clone(),
                tenure: holder.tenure,
                holder: holder.name.clone(),
                token: Some(self.term),
                since: self.since,
                advertise: self.advertise.clone(),
                asked_to_resign: self.asked_to_resign,
                expiry: Expiry::Observe { recorded: self.lease },
            }),
        }
    }

    /// Whether this tenure holds the office.
    pub(super) fn is_of(&self, tenure: TenureId) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.tenure == Some(tenure))
    }

    /// Whether the holder is nobody, because the last one was evicted.
    pub(super) fn is_barred(&self) -> bool {
        self.holder.as_ref().and_then(|holder| holder.tenure).is_some_and(is_nobody)
    }

    /// Why nobody holds the office; what a takeover finds when somebody does.
    pub(super) fn vacancy(&self) -> Vacancy {
        match self.released_by {
            Some(by) if self.holder.is_none() => Vacancy::Released { by },
            _ => Vacancy::Free,
        }
    }

    /// What to write so that `bid` holds the office, in this term.
    pub(super) fn taken_by(&self, bid: &Bid, term: u64) -> Self {
        let term = if planted(Mutant::RegisterTermKept) { self.term } else { term };
        RegisterRecord {
            holder: Some(Holder { name: bid.shared_name(), tenure: Some(bid.tenure()) }),
            lease: bid.lease(),
            term,
            write: self.next_write(),
            released_by: None,
            advertise: bid.advertise().clone(),
            since: wall_clock(),
            asked_to_resign: false,
        }
    }

    /// What to write so that `bid`, which holds the office, goes on holding it.
    pub(super) fn extended_by(&self, bid: &Bid) -> Self {
        RegisterRecord { lease: bid.lease(), write: self.next_write(), ..self.clone() }
    }

    /// What to write so that nobody holds the office, by the will of this tenure.
    pub(super) fn released_by(&self, tenure: TenureId) -> Self {
        let term = if planted(Mutant::RegisterReleaseForgetsTerm) { 0 } else { self.term };
        let by = if planted(Mutant::RegisterReleaseUnnamed) { None } else { Some(tenure) };
        RegisterRecord { term, write: self.next_write(), released_by: by, ..RegisterRecord::default() }
    }

    /// What to write so that the holder learns that it shall resign.
    pub(super) fn asked(&self) -> Self {
        RegisterRecord { asked_to_resign: true, write: self.next_write(), ..self.clone() }
    }

    /// What to write so that nobody holds the office and nobody can win it for the rest of the holder's lease.
    ///
    /// To contenders it is a holder with the evicted one's lease, whose version they have not seen before: they wait that lease in full, and
    /// the belief of the evicted one ends within it. A foreign holder stays foreign, because contenders wait longer for those.
    pub(super) fn barred(&self) -> Self {
        let holder = self
            .holder
            .as_ref()
            .map(|holder| Holder { name: evicted(&holder.name).into(), tenure: holder.tenure.map(|_| nobody()) });
        RegisterRecord {
            holder: holder.filter(|_| !planted(Mutant::RegisterEvictionUnbarred)),
            write: self.next_write(),
            advertise: Arc::default(),
            asked_to_resign: false,
            ..self.clone()
        }
    }

    fn next_write(&self) -> u64 {
        self.write.wrapping_add(if planted(Mutant::RegisterSameWrite) { 0 } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig;
    use super::*;

    #[test]
    fn no_write_of_a_record_equals_another() {
        // SAFETY 10: an ETag of equal content is an equal ETag.
        let bid = rig::bid("a", 1, 1);
        let taken = RegisterRecord::default().taken_by(&bid, 1);
        let extended = taken.extended_by(&bid);
        let again = extended.extended_by(&bid);
        assert_ne!(taken, extended);
        assert_ne!(extended, again);
        let released = again.released_by(bid.tenure());
        let retaken = released.taken_by(&bid, 2);
        assert_ne!(retaken.released_by(bid.tenure()), released);
        for (earlier, later) in [(&taken, &extended), (&extended, &again), (&again, &released), (&released, &retaken)] {
            assert!(later.write > earlier.write);
        }
    }

    #[test]
    fn a_release_keeps_the_term_and_names_the_tenure() {
        let bid = rig::bid("a", 1, 1);
        let released = RegisterRecord::default().taken_by(&bid, 7).released_by(bid.tenure());
        assert_eq!(released.term, 7);
        assert_eq!(released.sight(&Version::number(1)), Sight::Vacant(Vacancy::Released { by: bid.tenure() }));
        assert_eq!(RegisterRecord::default().sight(&Version::number(1)), Sight::Vacant(Vacancy::Free));
    }

    #[test]
    fn a_bar_is_a_holder_of_the_same_kind_and_lease() {
        let bid = rig::bid("a", 1, 1);
        let held = RegisterRecord::default().taken_by(&bid, 7);
        let barred = held.barred();
        assert!(barred.is_barred() && !barred.is_of(bid.tenure()));
        assert_eq!((barred.lease, barred.term), (held.lease, 7));
        let foreign = RegisterRecord { holder: Some(Holder { name: "go".into(), tenure: None }), ..held };
        assert_eq!(foreign.barred().holder.unwrap().tenure, None, "SAFETY 4: a foreign holder is waited for longer");
    }
}
