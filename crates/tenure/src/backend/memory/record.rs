//! What is written down about an office.

use std::sync::Arc;
use std::time::SystemTime;

use super::ledger::Ledger;
use crate::backend::{Bid, Cover, Expiry, Grant, Held, TenureId, Vacancy, Version};
use crate::mutant::{Mutant, planted};
use crate::{Moment, Timing};

/// A record in an office, or a place in the queue for it.
#[derive(Clone, Debug)]
pub(super) struct Record {
    version: u64,
    by: By,
    holder: Arc<str>,
    /// The number of the write that won; only tenures of tenure have one.
    token: Option<u64>,
    since: SystemTime,
    advertise: Arc<[u8]>,
    asked_to_resign: bool,
}

/// Whose record it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Tenure(TenureId),
    /// A program that writes no tenure id.
    Foreign,
    /// Nobody's: it keeps the office from everybody while an evicted holder may still believe.
    Bar,
}

impl Record {
    pub(super) fn of(bid: &Bid, ledger: &mut Ledger) -> Self {
        let revision = ledger.next();
        Record {
            version: revision,
            by: By::Tenure(bid.tenure()),
            holder: bid.shared_name(),
            token: Some(revision),
            since: SystemTime::now(),
            advertise: bid.advertise().clone(),
            asked_to_resign: false,
        }
    }

    pub(super) fn foreign(holder: &str, ledger: &mut Ledger) -> Self {
        Record {
            version: ledger.next(),
            by: By::Foreign,
            holder: holder.into(),
            token: None,
            since: SystemTime::now(),
            advertise: Arc::default(),
            asked_to_resign: false,
        }
    }

    /// What stands in the place of this record once its holder was evicted.
    pub(super) fn bar(&self, ledger: &mut Ledger) -> Self {
        Record { by: By::Bar, ..Record::foreign(&format!("(evicted: {})", self.holder), ledger) }
    }

    /// Gives it a new version, as every write does (SAFETY 10).
    pub(super) fn rewrite(&mut self, ledger: &mut Ledger) {
        self.version = ledger.next();
    }

    pub(super) fn ask_to_resign(&mut self) {
        self.asked_to_resign = true;
    }

    pub(super) fn tenure(&self) -> Option<TenureId> {
        match self.by {
            By::Tenure(tenure) => Some(tenure),
            By::Foreign | By::Bar => None,
        }
    }

    pub(super) fn is_of(&self, tenure: TenureId) -> bool {
        self.by == By::Tenure(tenure)
    }

    pub(super) fn is_bar(&self) -> bool {
        self.by == By::Bar
    }

    pub(super) fn has_version(&self, version: &Version) -> bool {
        version.as_number() == Some(self.version)
    }

    /// Whether a withdrawal of `tenure` removes it: by the tenure id alone, for the version may have moved on unseen (SAFETY 9).
    pub(super) fn yields_to_withdrawal_of(&self, tenure: TenureId) -> bool {
        if planted(Mutant::MemoryUnconditionalRelease) {
            return true;
        }
        if planted(Mutant::MemoryVersionConditionalWithdrawal) && self.token != Some(self.version) {
            return false;
        }
        self.is_of(tenure)
    }

    /// Whether `bid` may displace it; a bar yields to nobody.
    pub(super) fn yields_to(&self, bid: &Bid) -> bool {
        !self.is_bar() && bid.displace().is_some_and(|version| self.has_version(version))
    }

    /// What to say of the office when this record has lapsed.
    pub(super) fn vacancy_after(&self) -> Vacancy {
        if self.is_bar() { Vacancy::Removed } else { Vacancy::Free }
    }

    pub(super) fn grant(&self, tenure: TenureId, cover: Cover, over: Vacancy, ledger: &Ledger) -> Grant {
        Grant {
            tenure,
            version: Version::number(self.version),
            token: self.token,
            incarnation: Some(ledger.incarnation()),
            cover,
            over,
            asked_to_resign: self.asked_to_resign,
        }
    }

    /// The record as others see it; the end is told as what is left of it from `now`.
    pub(super) fn seen(&self, end: Option<Moment>, now: Moment) -> Held {
        Held {
            version: Version::number(self.version),
            tenure: self.tenure(),
            holder: self.holder.clone(),
            token: self.token,
            since: Some(self.since),
            advertise: self.advertise.clone(),
            asked_to_resign: self.asked_to_resign,
            expiry: Expiry::Store { remaining: end.map(|end| end.until_from(now)) },
        }
    }
}

/// The word that the last holder left behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    vacancy: Vacancy,
    until: Moment,
}

impl Word {
    pub(super) const NONE: Word = Word { vacancy: Vacancy::Free, until: Moment::ZERO };

    /// Kept for as long as a lease can last: whoever saw that holder has given it up for dead by then.
    pub(super) fn left(vacancy: Vacancy, now: Moment) -> Self {
        match vacancy {
            Vacancy::Free => Word::NONE,
            Vacancy::Released { .. } | Vacancy::Removed => Word { vacancy, until: now.after(Timing::LONGEST_LEASE) },
        }
    }

    pub(super) fn is_kept(&self, now: Moment) -> bool {
        now < self.until
    }

    pub(super) fn vacancy(&self, now: Moment) -> Vacancy {
        if self.is_kept(now) { self.vacancy } else { Vacancy::Free }
    }
}
