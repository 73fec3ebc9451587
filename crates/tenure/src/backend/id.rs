//! The ids that keep tenures and writes apart.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::Arc;

use crate::name::shown;
use crate::{Error, ErrorKind};

/// The id of one tenure, or of one attempt to win it: constant from the first request to the withdrawal.
///
/// It is the random nonce of one incarnation of a candidate and a count within it, so that no two processes and no two restarts share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenureId {
    nonce: u64,
    count: u64,
}

impl TenureId {
    /// The `count`-th tenure id of the incarnation with this nonce.
    pub const fn new(nonce: u64, count: u64) -> Self {
        TenureId { nonce, count }
    }

    /// The nonce of the incarnation it belongs to.
    pub const fn nonce(self) -> u64 {
        self.nonce
    }

    /// Whether it is an earlier tenure of the same incarnation: a bid for it that comes now is late.
    pub const fn is_earlier_than(self, other: TenureId) -> bool {
        self.nonce == other.nonce && self.count < other.count
    }
}

impl fmt::Display for TenureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.nonce, self.count)
    }
}

impl fmt::Debug for TenureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for TenureId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || {
            let message = format!("{} is not a tenure id: 32 lower-case hex digits", shown(text));
            Error::new(ErrorKind::Corrupt, message)
        };
        let hex = |part: &str| {
            part.bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                .then(|| u64::from_str_radix(part, 16).ok())
                .flatten()
        };
        if text.len() != 32 || !text.is_ascii() {
            return Err(wrong());
        }
        let (nonce, count) = text.split_at(16);
        Ok(TenureId { nonce: hex(nonce).ok_or_else(wrong)?, count: hex(count).ok_or_else(wrong)? })
    }
}

/// The version of a record: new with each write, and compared for equality only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version(Form);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Form {
    Number(u64),
    Text(Arc<str>),
}

impl Version {
    /// A version that is a number: a revision, a sequence, a counter.
    pub const fn number(number: u64) -> Self {
        Version(Form::Number(number))
    }

    /// A version that is opaque text: an ETag, a resource version, a UUID.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Version(Form::Text(text.into()))
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<u64> {
        match self.0 {
            Form::Number(number) => Some(number),
            Form::Text(_) => None,
        }
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.0 {
            Form::Number(_) => None,
            Form::Text(text) => Some(text),
        }
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Number(number) => write!(f, "v{number}"),
            Form::Text(text) => write!(f, "v{text:?}"),
        }
    }
}

/// Which life of a store a number comes from: a cluster id, a stream's creation time. A store that was wiped or made anew has another, and
/// its numbers cannot be compared with the old ones (SAFETY 18).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Incarnation(NonZeroU64);

impl Incarnation {
    /// The incarnation with this id; 0 is taken as 1.
    pub const fn new(id: u64) -> Self {
        match NonZeroU64::new(id) {
            Some(id) => Incarnation(id),
            None => Incarnation(NonZeroU64::MIN),
        }
    }

    /// The id itself.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::runs;

    #[test]
    fn a_tenure_id_survives_its_text_form() {
        let id = TenureId::new(0xfeed_0000_0000_0001, 7);
        assert_eq!(id.to_string(), "feed0000000000010000000000000007");
        assert_eq!(id.to_string().parse::<TenureId>().unwrap(), id);
        for wrong in
            ["", "feed", "FEED0000000000010000000000000007", "+eed0000000000010000000000000007", "äääääääääääääääa"]
        {
            assert_eq!(wrong.parse::<TenureId>().unwrap_err().kind(), ErrorKind::Corrupt, "{wrong}");
        }
        let error = "a".repeat(100_000).parse::<TenureId>().unwrap_err();
        assert!(error.to_string().len() < 200, "the message itself stays short");
    }

    proptest! {
        #![proptest_config(runs(1000))]

        #[test]
        fn every_tenure_id_survives_its_text_form(nonce in any::<u64>(), count in any::<u64>()) {
            let id = TenureId::new(nonce, count);
            prop_assert_eq!(id.to_string().parse::<TenureId>().unwrap(), id);
        }

        #[test]
        fn no_two_texts_are_one_tenure_id(text in "[0-9a-f]{31,33}|[0-9a-fA-F+ -]{32}") {
            match text.parse::<TenureId>() {
                Ok(id) => prop_assert_eq!(id.to_string(), text),
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Corrupt),
            }
        }
    }
}
