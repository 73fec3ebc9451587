//! The number with which a resource refuses a former leader.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::name::shown;
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
        // A sign is no digit, though the standard library takes one.
        let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        digits.and_then(|digits| digits.parse().ok()).and_then(FencingToken::new).ok_or_else(|| {
            let message = format!("{} is not a fencing token: a whole number from 1 to {}", shown(text), i64::MAX);
            Error::new(ErrorKind::InvalidToken, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::{numbers, runs};

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
        for wrong in ["", "0", "-1", "+1", "x", "9223372036854775808"] {
            let error = wrong.parse::<FencingToken>().unwrap_err();
            assert!(error.to_string().contains(&format!("{wrong:?}")), "{error}");
        }
        let error = "1".repeat(100_000).parse::<FencingToken>().unwrap_err();
        assert!(error.to_string().len() < 200, "the message itself stays short");
    }

    proptest! {
        #![proptest_config(runs(1000))]

        #[test]
        fn every_number_is_a_token_or_refused_whichever_way_it_comes(number in numbers(), zeros in 0..5_usize) {
            let token = FencingToken::new(number);
            prop_assert_eq!(token.is_some(), (1..=i64::MAX as u64).contains(&number));
            prop_assert_eq!(token.map_or(number, FencingToken::get), number);
            for text in [number.to_string(), format!("{}{number}", "0".repeat(zeros))] {
                prop_assert_eq!(text.parse::<FencingToken>().ok(), token);
            }
            prop_assert_eq!(token.map(|token| token.to_string()), token.map(|_| number.to_string()));
        }

        #[test]
        fn a_base_never_wraps_a_number_around(base in numbers(), native in numbers()) {
            // SAFETY 18
            let sum = u128::from(base) + u128::from(native);
            let token = FencingToken::based(base, native);
            prop_assert_eq!(token.map(|token| u128::from(token.get())), (1..=i64::MAX as u128).contains(&sum).then_some(sum));
        }
    }
}
