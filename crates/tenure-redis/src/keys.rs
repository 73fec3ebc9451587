//! The names that an election has on the server.

use tenure::{Error, ErrorKind, Seat};

/// What stands before the names of elections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(String);

impl Prefix {
    pub(crate) const DEFAULT: &'static str = "tenure:";

    /// One script names a record and its counter, so a cluster has to keep them on one server. What decides that is the part of a
    /// name between the first `{` and the `}` after it, or else the whole name.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| {
            let message = format!(
                "the prefix {text:?} {why}: write it without braces, or with one hash tag such as app{{elections}}:"
            );
            Err(Error::new(ErrorKind::InvalidConfig, message))
        };
        if text.len() > 200 || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return wrong("is longer than 200 bytes or has blanks in it");
        }
        if text.contains(['{', '}']) && tag(text).is_none() {
            return wrong(
                "has a brace and no hash tag, so that a cluster would keep records and counters on different servers",
            );
        }
        Ok(Prefix(text.to_owned()))
    }

    /// A pattern for all records, with what is special in patterns made plain.
    pub(crate) fn pattern(&self, names: &str) -> String {
        let mut pattern = String::new();
        for c in self.0.chars().chain(names.chars()) {
            if matches!(c, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern.push('*');
        pattern
    }

    /// The election whose record has this key.
    pub(crate) fn seat(&self, key: &str) -> Option<Seat> {
        Seat::new(key.strip_prefix(&self.0)?).ok()
    }
}

impl Default for Prefix {
    fn default() -> Self {
        Prefix(Self::DEFAULT.to_owned())
    }
}

/// The keys and channels of one election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// The record: a plain `SET NX PX` locker takes the same.
    pub(crate) record: String,
    /// The last token, in the same slot.
    pub(crate) counter: String,
    /// Where tenure says what it did.
    pub(crate) channel: String,
    /// Where the server says what became of the record, if it was told to.
    pub(crate) events: String,
}

impl Keys {
    pub(crate) fn of(prefix: &Prefix, seat: &Seat, database: i64) -> Self {
        let record = format!("{}{seat}", prefix.0);
        let counter = match tag(&record) {
            Some(_) => format!("{record}:token"),
            None => format!("{{{record}}}:token"),
        };
        let channel = format!("{record}:told");
        let events = format!("__keyspace@{database}__:{record}");
        Keys { record, counter, channel, events }
    }

    /// The slot of a cluster in which both keys lie.
    pub(crate) fn slot(&self) -> u16 {
        slot(&self.record)
    }
}

/// The part of a name that decides its slot, where that is not the whole.
fn tag(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('{')?;
    let (tag, _) = rest.split_once('}')?;
    (!tag.is_empty()).then_some(tag)
}

/// Where a cluster keeps a key: CRC-16 (XMODEM) of its hash tag, modulo the number of slots.
fn slot(key: &str) -> u16 {
    let hashed = tag(key).unwrap_or(key);
    let crc = hashed.bytes().fold(0_u16, |crc, byte| {
        (0..8)
            .fold(crc ^ (u16::from(byte) << 8), |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 })
    });
    crc % 16_384
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(prefix: &str) -> Keys {
        Keys::of(&Prefix::new(prefix).unwrap(), &Seat::new("nightly/report").unwrap(), 0)
    }

    #[test]
    fn slots_are_those_of_the_server() {
        // As CLUSTER KEYSLOT answers.
        for (key, expected) in [("123456789", 12_739), ("foo", 12_182), ("{foo}:token", 12_182), ("a{b}c", slot("b"))] {
            assert_eq!(slot(key), expected, "{key}");
        }
        assert_eq!(slot("{}x"), slot("{}x"), "an empty tag is none");
    }

    #[test]
    fn a_record_and_its_counter_lie_in_one_slot_whatever_the_prefix() {
        for prefix in ["tenure:", "", "lock:", "app{elections}:", "{a}", "a{b}c{d}:"] {
            let keys = keys(prefix);
            assert_eq!(slot(&keys.record), slot(&keys.counter), "{keys:?}");
            assert_ne!(keys.record, keys.counter);
        }
    }

    #[test]
    fn a_prefix_that_would_part_them_is_refused() {
        for prefix in ["a{", "a}", "}{", "{}a", "a b", &"x".repeat(201)] {
            let refused = Prefix::new(prefix).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidConfig);
            assert!(refused.to_string().contains("hash tag such as"), "{refused}");
        }
    }

    #[test]
    fn a_key_is_read_back_as_its_election_and_a_counter_as_none() {
        let prefix = Prefix::new("tenure:").unwrap();
        assert_eq!(prefix.seat("tenure:nightly/report"), Some(Seat::new("nightly/report").unwrap()));
        assert_eq!(prefix.seat(&keys("tenure:").counter), None);
        assert_eq!(prefix.seat("other:nightly"), None);
        assert_eq!(Prefix::new("{t}:").unwrap().seat("{t}:a:token"), None);
    }

    #[test]
    fn a_pattern_takes_its_prefix_literally() {
        assert_eq!(Prefix::new("a*[b]?:").unwrap().pattern("x-"), "a\\*\\[b\\]\\?:x\\-*");
    }
}
