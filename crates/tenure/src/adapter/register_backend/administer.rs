//! Listing the records of a register, asking their holders to resign and evicting them.

use super::{RegisterBackend, told};
use crate::adapter::{ROUNDS, Register, RegisterRecord, Writing, contended};
use crate::backend::{Administer, Answer, Evicted, Sight, Version};
use crate::{Error, Seat};

impl<R: Register> RegisterBackend<R> {
    async fn holder(&self, seat: &Seat) -> Result<Option<(RegisterRecord, Version)>, Error> {
        Ok(self.register.read(seat).await?.filter(|(record, _)| record.holder.is_some()))
    }

    async fn ask(&self, seat: &Seat) -> Result<bool, Error> {
        for _ in 0..ROUNDS {
            let Some((record, version)) = self.holder(seat).await? else {
                return Ok(false);
            };
            // Every write makes contenders wait anew: one that says nothing new would only keep a dead holder in office.
            if record.asked_to_resign || record.is_barred() {
                return Ok(record.asked_to_resign);
            }
            if self.register.write(seat, Some(&version), &record.asked()).await? != Writing::Conflict {
                return Ok(true);
            }
        }
        Err(contended(seat, "ask to resign"))
    }

    async fn bar(&self, seat: &Seat) -> Result<Evicted, Error> {
        for _ in 0..ROUNDS {
            let Some((record, version)) = self.holder(seat).await? else {
                return Ok(Evicted::WasVacant);
            };
            let remaining = record.lease;
            if record.is_barred()
                || self.register.write(seat, Some(&version), &record.barred()).await? != Writing::Conflict
            {
                return Ok(Evicted::Barred { remaining });
            }
        }
        Err(contended(seat, "evict"))
    }
}

impl<R: Register> Administer for RegisterBackend<R> {
    fn list<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<(Seat, Sight)>> {
        Box::pin(async move {
            let found = self.register.list(prefix).await.map_err(|error| error.during("list"))?;
            Ok(found.into_iter().map(|(seat, record, version)| (seat, record.sight(&version))).collect())
        })
    }

    fn ask_to_resign<'a>(&'a self, seat: &'a Seat) -> Answer<'a, bool> {
        Box::pin(async move { self.ask(seat).await.map_err(|error| told(error, seat, "ask to resign")) })
    }

    /// Contenders then wait the evicted holder's recorded lease from when they first see the bar; a candidate that starts later waits as long.
    /// The bar of a foreign holder looks like any foreign record, so to evict it again starts the wait anew.
    fn evict<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Evicted> {
        Box::pin(async move { self.bar(seat).await.map_err(|error| told(error, seat, "evict")) })
    }
}
