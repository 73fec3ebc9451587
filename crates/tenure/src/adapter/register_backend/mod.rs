//! Elections over a register.

mod administer;
#[cfg(test)]
mod tests;

use super::ledger::Ledger;
use super::{ROUNDS, Register, RegisterRecord, Writing, contended};
use crate::backend::{
    Administer, Answer, Attempt, Backend, Bid, Cover, Grant, Renewal, Sight, Standing, Traits, Vacancy, Version, Watch,
};
use crate::mutant::{Mutant, planted};
use crate::{Error, Seat};

/// A [`Backend`] over a [`Register`].
///
/// Nobody expires a record. A holder is displaced by whoever has seen one version of its record unchanged for the *holder's* recorded lease;
/// the machine waits, and permits one exact version in the bid (SAFETY 4).
///
/// # How it keeps the contract
/// - **To stand** is one read and one conditional write. A write that conflicts is not repeated: another was quicker, and what it wrote is read
///   and reported.
/// - **To renew** is one write on condition of the version: the record that had it is remembered, and read again where it is not.
/// - **To withdraw** is to clear the holder, whichever version the record of this tenure has. Term and tenure stay in it, so that the next
///   term is higher and the next holder need not settle.
#[derive(Debug)]
pub struct RegisterBackend<R> {
    register: R,
    /// The last record of each tenure, with its version. Only a saving: whatever is not here is read.
    ledger: Ledger<Option<Kept>>,
}

type Kept = (RegisterRecord, Version);

impl<R: Register> RegisterBackend<R> {
    /// Elections over this register.
    pub fn new(register: R) -> Self {
        RegisterBackend { register, ledger: Ledger::new() }
    }

    /// The register.
    pub fn register(&self) -> &R {
        &self.register
    }

    async fn run(&self, bid: &Bid) -> Result<Standing, Error> {
        let (seat, tenure) = (bid.seat(), bid.tenure());
        let mut tried = false;
        for _ in 0..ROUNDS {
            let (record, version) = match self.register.read(seat).await? {
                Some((record, version)) => (record, Some(version)),
                None => (RegisterRecord::default(), None),
            };
            let ours = record.is_of(tenure);
            let permitted = record.holder.is_none() || version.as_ref().is_some_and(|seen| may_displace(bid, seen));
            let next = if ours {
                record.extended_by(bid)
            } else if permitted && !tried {
                tried = true;
                record.taken_by(bid, self.register.next_term(record.term).max(record.term.saturating_add(1)))
            } else {
                self.ledger.forget(tenure);
                return Ok(Standing::Held(sight(&record, version.as_ref())));
            };
            // A record of ours is there, so no error may say that nothing is.
            let unsure = |error: Error| if ours { error.indeterminate() } else { error };
            if let Writing::Written(version) =
                self.register.write(seat, version.as_ref(), &next).await.map_err(unsure)?
            {
                return Ok(Standing::Elected(self.granted(bid, next, version, record.vacancy())));
            }
        }
        Err(contended(seat, "stand").indeterminate())
    }

    async fn extend(&self, bid: &Bid, version: &Version) -> Result<Renewal, Error> {
        let (seat, tenure) = (bid.seat(), bid.tenure());
        let remembered = self.ledger.read(tenure, |kept| kept.clone()).filter(|(_, kept)| kept == version);
        let record = match remembered {
            Some((record, _)) => record,
            None => match self.register.read(seat).await? {
                Some((record, found)) if found == *version && record.is_of(tenure) => record,
                found => return Ok(Renewal::Mismatch(self.missed(bid, found))),
            },
        };
        let next = record.extended_by(bid);
        if let Writing::Written(version) = self.register.write(seat, Some(version), &next).await? {
            return Ok(Renewal::Extended(self.granted(bid, next, version, Vacancy::Free)));
        }
        let found = self.register.read(seat).await?;
        if (planted(Mutant::RegisterRenewCreates) && found.is_none()) || planted(Mutant::RegisterRenewsAnyVersion) {
            let there = found.as_ref().map(|(_, version)| version);
            if let Writing::Written(version) = self.register.write(seat, there, &next).await? {
                return Ok(Renewal::Extended(self.granted(bid, next, version, Vacancy::Free)));
            }
        }
        Ok(Renewal::Mismatch(self.missed(bid, found)))
    }

    /// A renewal found another version: one of ours, which is remembered for the next try, or the end of the tenure.
    fn missed(&self, bid: &Bid, found: Option<Kept>) -> Sight {
        match found {
            Some((record, version)) if record.is_of(bid.tenure()) => {
                self.keep(bid, &record, &version);
                record.sight(&version)
            }
            Some((record, version)) => {
                self.ledger.forget(bid.tenure());
                record.sight(&version)
            }
            None => {
                self.ledger.forget(bid.tenure());
                Sight::Vacant(Vacancy::Removed)
            }
        }
    }

    async fn leave(&self, bid: &Bid) -> Result<(), Error> {
        let (seat, tenure) = (bid.seat(), bid.tenure());
        let mut remembered = self.ledger.read(tenure, |kept| kept.clone());
        for _ in 0..ROUNDS {
            let found = match remembered.take() {
                Some(kept) => Some(kept),
                None => self.register.read(seat).await?,
            };
            let theirs =
                |record: &RegisterRecord| !record.is_of(tenure) && !planted(Mutant::RegisterUnconditionalRelease);
            let Some((record, version)) = found.filter(|(record, _)| !theirs(record)) else {
                self.ledger.forget(tenure);
                return Ok(());
            };
            // SAFETY 9: conditional on the tenure. A conflict may be a renewal of ours that landed late: look again.
            let written = self.register.write(seat, Some(&version), &record.released_by(tenure)).await?;
            if written != Writing::Conflict || planted(Mutant::RegisterVersionConditionalWithdrawal) {
                self.ledger.forget(tenure);
                return Ok(());
            }
        }
        Err(contended(seat, "withdraw"))
    }

    fn granted(&self, bid: &Bid, record: RegisterRecord, version: Version, over: Vacancy) -> Grant {
        self.keep(bid, &record, &version);
        Grant {
            tenure: bid.tenure(),
            version,
            token: Some(record.term),
            incarnation: self.register.incarnation(),
            cover: Cover::Own { ttl: bid.lease() },
            over,
            asked_to_resign: record.asked_to_resign,
        }
    }

    fn keep(&self, bid: &Bid, record: &RegisterRecord, version: &Version) {
        let kept = (record.clone(), version.clone());
        self.ledger.write(bid.tenure(), bid.lease(), |page| *page = Some(kept));
    }
}

fn may_displace(bid: &Bid, version: &Version) -> bool {
    bid.displace().is_some_and(|displace| displace == version || planted(Mutant::RegisterDisplacesAnyVersion))
}

fn sight(record: &RegisterRecord, version: Option<&Version>) -> Sight {
    version.map_or(Sight::Vacant(Vacancy::Free), |version| record.sight(version))
}

impl<R: Register> Backend for RegisterBackend<R> {
    fn traits(&self) -> Traits {
        Traits {
            contenders_judge: true,
            queues: false,
            shares_sessions: false,
            names_releases: true,
            has_tokens: true,
            ..self.register.traits()
        }
    }

    fn place(&self) -> String {
        self.register.place()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, _: Attempt) -> Answer<'a, Standing> {
        Box::pin(async move { self.run(bid).await.map_err(|error| told(error, bid.seat(), "stand")) })
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        Box::pin(async move { self.extend(bid, version).await.map_err(|error| told(error, bid.seat(), "renew")) })
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(async move { self.leave(bid).await.map_err(|error| told(error, bid.seat(), "withdraw")) })
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(async move {
            let found = self.register.read(seat).await.map_err(|error| told(error, seat, "inspect"))?;
            Ok(found.map_or(Sight::Vacant(Vacancy::Free), |(record, version)| record.sight(&version)))
        })
    }

    fn watch<'a>(&'a self, seat: &'a Seat, _: Option<&'a Bid>) -> Answer<'a, Watch> {
        Box::pin(async move { self.register.watch(seat).await.map_err(|error| told(error, seat, "watch")) })
    }

    fn administer(&self) -> Option<&dyn Administer> {
        Some(self)
    }
}

fn told(error: Error, seat: &Seat, operation: &'static str) -> Error {
    error.of_election(seat).during(operation)
}
