//! The value of a record, as the scripts write it.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure::adapter::ttl_in_millis;
use tenure::backend::{Bid, Expiry, Held, Sight, TenureId, Vacancy, Version};
use tenure::{Error, ErrorKind};

/// What the scripts keep as it is: everything but the ids and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Details {
    /// For how long a renewal keeps the record.
    pub(crate) lease: Duration,
    pub(crate) since: Option<SystemTime>,
    pub(crate) holder: Arc<str>,
    pub(crate) advertise: Arc<[u8]>,
}

/// A record of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) tenure: TenureId,
    pub(crate) write: u64,
    pub(crate) token: u64,
    pub(crate) asked_to_resign: bool,
    pub(crate) details: Details,
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    Ours(Record),
    /// Another program's lock: its value as text, and a digest of it.
    Foreign {
        name: Arc<str>,
        version: Arc<str>,
    },
}

/// What a script saw of an office that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) holding: Holding,
    /// `None` for a key that never expires.
    pub(crate) remaining: Option<Duration>,
}

impl Details {
    pub(crate) fn of(bid: &Bid) -> Result<Self, Error> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| in_millis(since.as_millis() as u64));
        Ok(Details {
            lease: Duration::from_millis(ttl_in_millis(bid.lease())?),
            since: since.map(|since| UNIX_EPOCH + since),
            holder: bid.shared_name(),
            advertise: bid.advertise().clone(),
        })
    }

    /// The rest of a record, after what the scripts read.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let since = self.since.and_then(|since| since.duration_since(UNIX_EPOCH).ok());
        let since = since.map_or_else(|| "-".to_owned(), |since| since.as_millis().to_string());
        let mut text = format!("{} {since} {} {}", self.lease.as_millis(), self.holder.len(), self.holder).into_bytes();
        text.extend_from_slice(&self.advertise);
        text
    }

    fn decode(text: &[u8]) -> Option<Self> {
        let mut words = Words(text);
        let lease = in_millis(words.number()?);
        let since = match words.next()? {
            b"-" => None,
            millis => UNIX_EPOCH.checked_add(in_millis(number(millis)?)),
        };
        let length = usize::try_from(words.number()?).ok()?;
        let (name, advertise) = words.0.split_at_checked(length)?;
        let (holder, advertise) = (std::str::from_utf8(name).ok()?.into(), advertise.into());
        Some(Details { lease, since, holder, advertise })
    }
}

impl Record {
    pub(crate) fn version(&self) -> Version {
        Version::text(format!("{}.{}", self.tenure, self.write))
    }

    fn decode(value: &[u8]) -> Option<Self> {
        let mut words = Words(value);
        if words.next()? != b"tenure/1" {
            return None;
        }
        let tenure = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let (write, token) = (words.number()?, words.number()?);
        let asked_to_resign = match words.next()? {
            b"-" => false,
            b"a" => true,
            _ => return None,
        };
        Some(Record { tenure, write, token, asked_to_resign, details: Details::decode(words.0)? })
    }
}

impl Holding {
    /// How a value begins that tenure wrote, in this version of the record or in another.
    const OURS: &[u8] = b"tenure/";

    /// Reads a value; what looks like ours and is not is an error, never another program's or a free office.
    pub(crate) fn decode(value: &[u8], version: &str, key: &str) -> Result<Self, Error> {
        if let Some(record) = Record::decode(value) {
            return Ok(Holding::Ours(record));
        }
        if value.starts_with(Self::OURS) {
            let message = format!(
                "the key {key} begins like a record of tenure and cannot be read: it is damaged, or a newer tenure wrote it; delete it \
                 when nobody can lead by it, or upgrade this one"
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        let name = String::from_utf8_lossy(&value[..value.len().min(200)]);
        Ok(Holding::Foreign { name: name.into(), version: version.into() })
    }
}

impl Seen {
    /// The office as everybody else sees it.
    pub(crate) fn sight(&self) -> Sight {
        let expiry = Expiry::Store { remaining: self.remaining };
        Sight::Held(match &self.holding {
            Holding::Ours(record) => Held {
                version: record.version(),
                tenure: Some(record.tenure),
                holder: record.details.holder.clone(),
                token: Some(record.token),
                since: record.details.since,
                advertise: record.details.advertise.clone(),
                asked_to_resign: record.asked_to_resign,
                expiry,
            },
            Holding::Foreign { name, version } => Held {
                version: Version::text(version.clone()),
                tenure: None,
                holder: name.clone(),
                token: None,
                since: None,
                advertise: Arc::default(),
                asked_to_resign: false,
                expiry,
            },
        })
    }
}

/// Who is seen, if anybody is. A key that is gone says nothing of why (SAFETY 14).
pub(crate) fn sight(seen: Option<&Seen>) -> Sight {
    seen.map_or(Sight::Vacant(Vacancy::Free), Seen::sight)
}

/// What is left of a value, taken apart at blanks.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == b' ')?;
        let (word, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        Some(word)
    }

    fn number(&mut self) -> Option<u64> {
        number(self.next()?)
    }
}

fn number(word: &[u8]) -> Option<u64> {
    let digits = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(word).ok()?.parse().ok()).flatten()
}

fn in_millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOLDEN: &[u8] =
        b"tenure/1 00000000000000070000000000000002 1763221000000001 1763221000000000 a 15000 1763221000123 5 pod 1\x0010.0.0.7:80";

    fn decoded(value: &[u8]) -> Result<Holding, Error> {
        Holding::decode(value, "foreign.0", "tenure:x")
    }

    #[test]
    fn a_record_of_this_version_is_read() {
        let Ok(Holding::Ours(record)) = decoded(GOLDEN) else { panic!("it is ours") };
        assert_eq!(record.tenure, TenureId::new(7, 2));
        assert_eq!((record.write, record.token), (1_763_221_000_000_001, 1_763_221_000_000_000));
        assert!(record.asked_to_resign);
        assert_eq!((&*record.details.holder, record.details.lease), ("pod 1", Duration::from_secs(15)));
        assert_eq!(&*record.details.advertise, b"\x0010.0.0.7:80");
        let head = &GOLDEN[..GOLDEN.len() - record.details.encode().len()];
        assert_eq!([head, &record.details.encode()].concat(), GOLDEN, "the scripts put in front what they read");
    }

    #[test]
    fn a_damaged_record_or_a_newer_one_is_neither_free_nor_foreign() {
        for end in b"tenure/".len()..GOLDEN.len() - b"\x0010.0.0.7:80".len() {
            assert_eq!(decoded(&GOLDEN[..end]).unwrap_err().kind(), ErrorKind::Corrupt, "cut at {end}");
        }
        for value in [&b"tenure/2 x"[..], b"tenure/1 7 1 1 - 1 1 1 x", b"tenure/1 +1"] {
            let error = decoded(value).unwrap_err();
            assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("tenure:x"), "{error}");
        }
    }

    #[test]
    fn anything_else_is_another_programs_lock() {
        for value in [&b""[..], b"pod-7", b"\xff\xfe", b"tenure", &[b'x'; 4096]] {
            let Ok(Holding::Foreign { name, .. }) = decoded(value) else { panic!("{value:?}") };
            assert!(name.len() <= 600);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            lease in 1_u64..1 << 40,
            since in proptest::option::of(0_u64..1 << 45),
            holder in "\\PC{1,40}",
            advertise in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let since = since.map(|since| UNIX_EPOCH + in_millis(since));
            let details =
                Details { lease: in_millis(lease), since, holder: holder.as_str().into(), advertise: advertise.into() };
            prop_assert_eq!(Details::decode(&details.encode()), Some(details));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(value in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decoded(&value);
            let _ = decoded(&[b"tenure/1 ", &value[..]].concat());
        }
    }
}
