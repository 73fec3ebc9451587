//! What an operator can do from outside.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::backend::{Administer, Answer, Evicted, Sight};
use tenure::mutant::{Mutant, planted};
use tenure::{Error, ErrorKind, Seat};

use crate::backend::Store;
use crate::keys;
use crate::queue;
use crate::record::{self, Content, Place, Record};
use crate::wire::Effect;
use crate::wire::message::{Compare, PutRequest, RangeRequest, Request, TxnRequest};

impl Store {
    /// A page when keys are listed.
    const KEYS_AT_ONCE: i64 = 1_000;
    /// So often a record is written to that changes under our hands.
    const WRITES: usize = 5;

    async fn seats(&self, prefix: &str) -> Result<BTreeSet<Seat>, Error> {
        let mut key = format!("{}{prefix}", self.keys.prefix()).into_bytes();
        let range_end = keys::end_of(&key);
        if key.is_empty() {
            key.push(0);
        }
        let mut seats = BTreeSet::new();
        loop {
            let (limit, keys_only) = (Self::KEYS_AT_ONCE, true);
            let request =
                RangeRequest { key, range_end: range_end.clone(), limit, keys_only, ..RangeRequest::default() };
            let answer = self.link.range(request, self.patience).await?;
            seats.extend(answer.kvs.iter().filter_map(|kv| self.keys.seat_of(kv)));
            match answer.kvs.last().filter(|_| answer.more) {
                Some(last) => key = [&last.key[..], &[0]].concat(),
                None => return Ok(seats),
            }
        }
    }

    /// Writes to the holder's key, whose place in the queue stays, unless it has changed since it was read.
    async fn rewrite(&self, place: &Place, put: PutRequest) -> Result<bool, Error> {
        let unchanged = Compare::written(place.kv.key.clone(), place.kv.mod_revision);
        let txn = TxnRequest { compare: vec![unchanged], success: vec![Request::Put(put).into()], failure: Vec::new() };
        Ok(self.link.txn(txn, Effect::Writes, self.patience).await?.succeeded)
    }

    async fn asked(&self, seat: &Seat) -> Result<bool, Error> {
        for _ in 0..Self::WRITES {
            let Some(place) = self.queue(seat, self.patience).first().await?.found else { return Ok(false) };
            let value = match &place.content {
                Content::Ours(record) if record.asked_to_resign => return Ok(true),
                Content::Ours(record) => Record { asked_to_resign: true, ..record.clone() }.encode(place.kv.lease),
                Content::Bar { .. } => return Ok(false),
                Content::Foreign(name) => {
                    let name = name.escape_debug(); // what others propose may be anything
                    let message = format!(
                        "`{name}` holds it by another program than tenure, which cannot be asked; use that one's own means"
                    );
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
            };
            let put = PutRequest { key: place.kv.key.clone(), value, lease: 0, ignore_lease: true };
            if self.rewrite(&place, put).await? {
                return Ok(true);
            }
        }
        Err(Error::unavailable("the record changes at every try"))
    }

    /// The holder's own key becomes a bar: it stays first in the queue, under a lease that nobody extends, for as long as the evicted holder may
    /// believe by what it was last granted.
    async fn evicted(&self, seat: &Seat) -> Result<Evicted, Error> {
        for _ in 0..Self::WRITES {
            let Some(place) = self.queue(seat, self.patience).first().await?.found else {
                return Ok(Evicted::WasVacant);
            };
            let of_holder = self.link.time_to_live(place.kv.lease, self.patience).await?;
            let seconds = if place.is_bar() { of_holder.ttl } else { of_holder.granted_ttl };
            if place.is_bar() {
                return Ok(Evicted::Barred { remaining: Duration::from_secs(seconds.max(0).unsigned_abs()) });
            }
            // A key that no lease keeps has no end of its own, and nothing says for how long its holder believes.
            let seconds = if seconds > 0 { seconds } else { Self::UNKNOWN_LEASE };
            let seconds = if planted(Mutant::EtcdEvictionUnbarred) { 1 } else { seconds };
            let bar = self.link.grant(seconds, self.patience).await?;
            let value = record::bar(&place.name(), bar.id);
            let put = PutRequest { key: place.kv.key.clone(), value, lease: bar.id, ignore_lease: false };
            if self.rewrite(&place, put).await? {
                return Ok(Evicted::Barred { remaining: Duration::from_secs(bar.ttl.unsigned_abs()) });
            }
        }
        Err(Error::unavailable("the record changes at every try"))
    }

    /// The usual lease of Go's sessions, in seconds.
    const UNKNOWN_LEASE: i64 = 60;
}

impl Administer for Store {
    fn list<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<(Seat, Sight)>> {
        Box::pin(async move {
            let mut found = Vec::new();
            for seat in self.seats(prefix).await? {
                let read = self.queue(&seat, self.patience).first().await?;
                if read.found.is_some() {
                    found.push((seat, queue::sight(read.found.as_ref())));
                }
            }
            Ok(found)
        })
    }

    fn ask_to_resign<'a>(&'a self, seat: &'a Seat) -> Answer<'a, bool> {
        Box::pin(self.asked(seat))
    }

    fn evict<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Evicted> {
        Box::pin(self.evicted(seat))
    }
}
