//! Names of elections and candidates, parsed once.

use std::fmt;
use std::sync::Arc;

use crate::{Error, ErrorKind};

/// The name of an election: the office that candidates run for.
///
/// 1 to 200 bytes of `[A-Za-z0-9._/-]`, in segments parted by `/`, none of them empty, `.` or `..`, so that a name is a safe file name,
/// key and path on every backend.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(Arc<str>);

impl Seat {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 200;

    /// Parses a name, and says what is wrong with it otherwise.
    pub fn new(name: &str) -> Result<Self, Error> {
        let refuse = |why: String| {
            Err(Error::new(ErrorKind::InvalidName, format!("{} is not an election name: {why}", shown(name))))
        };
        if name.is_empty() {
            return refuse("it is empty; give it 1 to 200 characters of A-Z a-z 0-9 . _ / -".into());
        }
        if name.len() > Self::MAX_BYTES {
            return refuse(format!("it has {} bytes, and {} are allowed", name.len(), Self::MAX_BYTES));
        }
        if let Some(wrong) = name.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '/' | '-')) {
            return refuse(format!("it has {wrong:?}; only A-Z a-z 0-9 . _ / - are allowed"));
        }
        if name.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return refuse("a segment between slashes is empty, '.' or '..'".into());
        }
        Ok(Seat(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The stable name of a candidate, such as a host or pod name: 1 to 200 bytes of UTF-8 without control characters.
///
/// It identifies nobody by itself: every campaign adds a random nonce of its own (SAFETY 11), so that two processes that share a name by
/// mistake never both lead.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CandidateName(Arc<str>);

impl CandidateName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 200;

    /// Parses a name, and says what is wrong with it otherwise.
    pub fn new(name: &str) -> Result<Self, Error> {
        let refuse = |why: String| {
            Err(Error::new(ErrorKind::InvalidName, format!("{} is not a candidate name: {why}", shown(name))))
        };
        if name.trim().is_empty() {
            return refuse("it is empty; use what is unique to this instance, such as its host or pod name".into());
        }
        if name.len() > Self::MAX_BYTES {
            return refuse(format!("it has {} bytes, and {} are allowed", name.len(), Self::MAX_BYTES));
        }
        if let Some(wrong) = name.chars().find(|c| c.is_control()) {
            return refuse(format!("it has the control character {wrong:?}"));
        }
        Ok(CandidateName(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl fmt::Display for CandidateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for CandidateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text from outside as an error message can bear it: escaped and cut.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Names arrive from the outside world as bytes too.
macro_rules! from_bytes {
    ($name:ident, $what:literal) => {
        impl TryFrom<&[u8]> for $name {
            type Error = Error;

            fn try_from(bytes: &[u8]) -> Result<Self, Error> {
                match std::str::from_utf8(bytes) {
                    Ok(text) => $name::new(text),
                    Err(_) => Err(Error::new(
                        ErrorKind::InvalidName,
                        format!("{} is not {}: it is not UTF-8", shown(&String::from_utf8_lossy(bytes)), $what),
                    )),
                }
            }
        }

        impl TryFrom<&str> for $name {
            type Error = Error;

            fn try_from(text: &str) -> Result<Self, Error> {
                $name::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;

            fn try_from(text: String) -> Result<Self, Error> {
                $name::new(&text)
            }
        }

        impl TryFrom<&String> for $name {
            type Error = Error;

            fn try_from(text: &String) -> Result<Self, Error> {
                $name::new(text)
            }
        }

        impl From<&$name> for $name {
            fn from(name: &$name) -> Self {
                name.clone()
            }
        }
    };
}

from_bytes!(Seat, "an election name");
from_bytes!(CandidateName, "a candidate name");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::runs;

    #[test]
    fn ordinary_names_are_taken() {
        for name in ["a", "nightly-report", "shard/17", "v1.2_x", &"n".repeat(200)] {
            assert_eq!(Seat::new(name).unwrap().as_str(), name);
        }
        CandidateName::new("pod-1 (zone ä)").unwrap();
    }

    #[test]
    fn every_bad_election_name_gets_a_sentence_that_says_why() {
        let ten_kilobytes = "x".repeat(10_240);
        let cases: [(&str, &str); 9] = [
            ("", "empty"),
            (&ten_kilobytes, "10240 bytes"),
            ("a\0b", "'\\0'"),
            ("a\nb", "'\\n'"),
            ("../etc/passwd", "'..'"),
            ("a//b", "empty"),
            ("/a", "empty"),
            ("./a", "'.'"),
            ("a b", "' '"),
        ];
        for (name, why) in cases {
            let error = Seat::new(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidName);
            assert!(error.to_string().contains(why), "{error}");
            assert!(error.to_string().len() < 300, "the message itself stays short");
        }
    }

    #[test]
    fn names_that_are_not_utf8_are_refused() {
        let error = Seat::try_from(&b"a\xff"[..]).unwrap_err();
        assert!(error.to_string().contains("not UTF-8"), "{error}");
        let error = CandidateName::try_from(&b"\xff"[..]).unwrap_err();
        assert!(error.to_string().contains("not UTF-8"), "{error}");
    }

    #[test]
    fn bad_candidate_names_are_refused() {
        for name in ["", "  ", "a\0b", "a\nb", &"x".repeat(10_240)] {
            assert_eq!(CandidateName::new(name).unwrap_err().kind(), ErrorKind::InvalidName);
        }
    }

    proptest! {
        #![proptest_config(runs(1000))]

        #[test]
        fn every_name_of_ordinary_segments_is_taken_as_it_is(
            segments in prop::collection::vec("[A-Za-z0-9_-][A-Za-z0-9._-]{0,23}", 1..8),
        ) {
            let name = segments.join("/");
            let seat = Seat::new(&name).unwrap();
            prop_assert_eq!(seat.as_str(), &name);
            prop_assert_eq!(Seat::try_from(seat.to_string()).unwrap(), seat);
        }

        #[test]
        fn every_printable_name_of_a_candidate_is_taken_as_it_is(name in "[^\\p{Cc}\\s][^\\p{Cc}]{0,49}") {
            let taken = CandidateName::new(&name).unwrap();
            prop_assert_eq!(taken.as_str(), &name);
            prop_assert_eq!(CandidateName::try_from(name.as_bytes()).unwrap(), taken);
        }

        #[test]
        fn a_bad_name_is_shown_cut_and_escaped(name in "\\PC{0,60}\\p{Cc}\\PC{0,300}") {
            for error in [Seat::new(&name).unwrap_err(), CandidateName::new(&name).unwrap_err()] {
                let said = error.to_string();
                prop_assert!(said.len() < 600 && !said.contains(char::is_control), "{said}");
            }
        }
    }
}
