//! The number with which a resource refuses a former leader.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::{Error, ErrorKind};

/// A number that rises with every tenure of an election, whoever holds it.
///
/// Give it to the guarded resource with every write; a resource that remembers the highest number it has seen
/// ([`Fence`](crate::Fence)) refuses whoever comes with a lower one, however late the write arrives. At most `i64::MAX`, so that every
/// database can keep it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(NonZeroU64);

impl FencingToken {
    /// The highest token there is.
    pub const MAX: FencingToken = FencingToken(NonZeroU64::new(i64::MAX as u64).unwrap());

    /// The token with this number; `None` outside `1..=i64::MAX`.
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(nonzero) if number <= i64::MAX as u64 => Some(FencingToken(nonzero)),
            _ => None,
        }
    }

    /// The operator's base plus the store's own number (SAFETY 18); `None` when that leaves the range.
    pub(crate) fn based(base: u64, native: u64) -> Option<Self> {
        FencingToken::new(base.checked_add(native)?)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FencingToken({})", self.0)
    }
}

impl FromStr for FencingToken {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse().ok().and_then(FencingToken::new).ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidToken,
                format!("{text:?} is not a fencing token: a whole number from 1 to {}", i64::MAX),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_stay_within_what_every_database_can_keep() {
        assert_eq!(FencingToken::new(0), None);
        assert_eq!(FencingToken::new(i64::MAX as u64), Some(FencingToken::MAX));
        assert_eq!(FencingToken::new(i64::MAX as u64 + 1), None);
        assert_eq!(FencingToken::based(u64::MAX, 1), None);
        assert_eq!(FencingToken::based(40, 2).map(FencingToken::get), Some(42));
    }

    #[test]
    fn text_that_is_no_token_is_refused_by_name() {
        assert_eq!("42".parse::<FencingToken>().unwrap().get(), 42);
        for wrong in ["", "0", "-1", "x", "9223372036854775808"] {
            let error = wrong.parse::<FencingToken>().unwrap_err();
            assert!(error.to_string().contains(&format!("{wrong:?}")), "{error}");
        }
    }
}
