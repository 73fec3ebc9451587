//! Listing elections, asking their holders to resign and evicting them.

use std::collections::BTreeSet;
use std::time::Duration;

use redis::Value;
use tenure::backend::{Administer, Answer, Evicted, Sight, TenureId};
use tenure::{Error, ErrorKind, Seat};

use crate::backend::RedisBackend;
use crate::blame;
use crate::record::{Details, Holding, Record, Seen, sight};
use crate::script::Reply;

/// How often a call looks again when the record changes under its hands.
const ROUNDS: usize = 4;

/// Whose record an office has from which somebody was evicted: nobody's. The nonce 0 marks it.
const NOBODY: u64 = 0;

impl RedisBackend {
    /// The keys of all servers that may be records, a thousand or so at a time: a server is never asked for all at once.
    async fn records(&self, prefix: &str) -> Result<BTreeSet<Seat>, Error> {
        let mut found = BTreeSet::new();
        for address in self.servers().primaries().await? {
            let link = self.servers().link_to(&address).await?;
            let mut cursor = "0".to_owned();
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(&cursor).arg("MATCH").arg(self.prefix().pattern(prefix)).arg("COUNT").arg(1000);
                let page = link.ask(&scan).await.map_err(|error| blame::answer(&error, &address))?;
                let Some((next, keys)) = page_of(&page) else {
                    return Err(Error::new(ErrorKind::Corrupt, format!("{address} answered SCAN like no server does")));
                };
                found.extend(keys.iter().filter_map(|key| self.prefix().seat(key)));
                if next == "0" {
                    break;
                }
                cursor = next;
            }
        }
        Ok(found)
    }

    async fn list_all(&self, prefix: &str) -> Result<Vec<(Seat, Sight)>, Error> {
        let mut list = Vec::new();
        for seat in self.records(prefix).await? {
            match self.look(&seat).await {
                Ok(Some(seen)) => list.push((seat, sight(Some(&seen)))),
                // It ended meanwhile.
                Ok(None) => {}
                // Another program keeps something else under a name like ours.
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                Err(error) => return Err(error.of_election(seat)),
            }
        }
        Ok(list)
    }

    async fn ask(&self, seat: &Seat) -> Result<bool, Error> {
        for _ in 0..ROUNDS {
            let record = match self.look(seat).await? {
                None => return Ok(false),
                Some(Seen { holding: Holding::Ours(record), .. }) => record,
                Some(Seen { holding: Holding::Foreign { name, .. }, .. }) => {
                    let message = format!("{name:?} is another program's lock, and cannot be asked; stop that program");
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
            };
            if record.asked_to_resign || record.tenure.nonce() == NOBODY {
                return Ok(record.asked_to_resign);
            }
            let asked = Record { asked_to_resign: true, ..record.clone() };
            if self.amend(seat, &record.version(), &asked).await? == Reply::Amended {
                return Ok(true);
            }
        }
        Err(contended())
    }

    async fn bar(&self, seat: &Seat) -> Result<Evicted, Error> {
        for _ in 0..ROUNDS {
            let Some(seen) = self.look(seat).await? else { return Ok(Evicted::WasVacant) };
            let Some(remaining) = seen.remaining else {
                let message = "the lock of another program never expires, so that nobody can wait for its end; delete the key by hand";
                return Err(Error::new(ErrorKind::Unsupported, message));
            };
            let Sight::Held(held) = seen.sight() else { return Ok(Evicted::WasVacant) };
            if held.tenure.is_some_and(|tenure| tenure.nonce() == NOBODY) {
                return Ok(Evicted::Barred { remaining });
            }
            let bar = Record {
                // Told apart from other bars by the record that it takes the place of.
                tenure: TenureId::new(NOBODY, held.tenure.map_or(1, TenureId::nonce)),
                write: 0,
                token: held.token.unwrap_or_default(),
                asked_to_resign: false,
                details: Details {
                    lease: Duration::ZERO,
                    since: held.since,
                    holder: format!("nobody ({} was evicted)", held.holder).into(),
                    advertise: Default::default(),
                },
            };
            // The bar lasts as long as the record would have, and the evicted holder's belief ends before that.
            if self.amend(seat, &held.version, &bar).await? == Reply::Amended {
                return Ok(Evicted::Barred { remaining });
            }
        }
        Err(contended())
    }
}

fn contended() -> Error {
    Error::unavailable(format!("the record changed under each of {ROUNDS} tries; try again"))
}

/// The cursor and the keys of an answer to `SCAN`.
fn page_of(value: &Value) -> Option<(String, Vec<String>)> {
    let Value::Array(parts) = value else { return None };
    let [Value::BulkString(cursor), Value::Array(keys)] = parts.as_slice() else { return None };
    let text = |key: &Value| match key {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    };
    Some((String::from_utf8(cursor.clone()).ok()?, keys.iter().filter_map(text).collect()))
}

impl Administer for RedisBackend {
    fn list<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<(Seat, Sight)>> {
        Box::pin(async move { self.list_all(prefix).await.map_err(|error| error.during("list")) })
    }

    fn ask_to_resign<'a>(&'a self, seat: &'a Seat) -> Answer<'a, bool> {
        Box::pin(async move { self.ask(seat).await.map_err(|error| error.of_election(seat).during("ask to resign")) })
    }

    fn evict<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Evicted> {
        Box::pin(async move { self.bar(seat).await.map_err(|error| error.of_election(seat).during("evict")) })
    }
}
