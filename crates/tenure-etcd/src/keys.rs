//! How elections are laid out in etcd: as its own `concurrency.Election` does it, so that `etcdctl elect` can take part.

use tenure::Seat;

use crate::wire::message::KeyValue;

/// The folder in which elections are held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    prefix: String,
}

impl Keys {
    /// Elections are named below this prefix. A slash stands between the two.
    pub(crate) fn below(prefix: &str) -> Self {
        let slash = if prefix.is_empty() || prefix.ends_with('/') { "" } else { "/" };
        Keys { prefix: format!("{prefix}{slash}") }
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What all keys of an election begin with.
    pub(crate) fn queue(&self, seat: &Seat) -> Vec<u8> {
        format!("{}{seat}/", self.prefix).into_bytes()
    }

    /// The place of a lease in the queue of an election.
    pub(crate) fn place(&self, seat: &Seat, lease: i64) -> Vec<u8> {
        format!("{}{seat}/{lease:x}", self.prefix).into_bytes()
    }

    /// The election that this key is a place of, if it can be one.
    pub(crate) fn seat_of(&self, kv: &KeyValue) -> Option<Seat> {
        let text = std::str::from_utf8(&kv.key).ok()?.strip_prefix(&self.prefix)?;
        let (seat, _) = text.rsplit_once('/')?;
        let queue = self.prefix.len() + seat.len() + 1;
        is_place(kv, queue).then(|| Seat::new(seat).ok()).flatten()
    }
}

/// Where the keys end that begin like this.
pub(crate) fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

/// Whether a key is a place in the queue whose keys begin with so many bytes: not one of an election whose name goes on after a slash, and not
/// a setting that somebody keeps there. A place is named by a lease or kept by one.
pub(crate) fn is_place(kv: &KeyValue, queue: usize) -> bool {
    let Some(leaf) = kv.key.get(queue..) else { return false };
    let hex = leaf.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    !leaf.is_empty() && !leaf.contains(&b'/') && (hex || kv.lease != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kv(key: &str, lease: i64) -> KeyValue {
        KeyValue { key: key.into(), lease, ..KeyValue::default() }
    }

    #[test]
    fn keys_are_those_of_etcds_own_elections() {
        let seat = Seat::new("team/report").unwrap();
        assert_eq!(Keys::below("").place(&seat, 0x694d_0000_0000_abcd), b"team/report/694d00000000abcd");
        assert_eq!(Keys::below("services").queue(&seat), b"services/team/report/");
        assert_eq!(Keys::below("/services/").queue(&seat), b"/services/team/report/");
    }

    #[test]
    fn an_election_whose_name_goes_on_is_another() {
        let keys = Keys::below("x");
        let queue = keys.queue(&Seat::new("a").unwrap()).len();
        assert!(is_place(&kv("x/a/1f", 0x1f), queue));
        assert!(
            is_place(&kv("x/a/1f", 0), queue),
            "somebody took its lease away: it is in the queue for Go's peers too"
        );
        assert!(is_place(&kv("x/a/other-program", 7), queue));
        assert!(!is_place(&kv("x/a/b/1f", 0x1f), queue));
        assert!(!is_place(&kv("x/a/settings", 0), queue));
        assert!(!is_place(&kv("x/a/", 1), queue));
        assert_eq!(keys.seat_of(&kv("x/a/b/1f", 0x1f)).unwrap().as_str(), "a/b");
        assert_eq!(keys.seat_of(&kv("y/a/1f", 0x1f)), None);
    }

    #[test]
    fn a_range_ends_where_another_prefix_begins() {
        assert_eq!(end_of(b"a/"), b"a0");
        assert_eq!(end_of(&[b'a', 0xff]), b"b");
        assert_eq!(end_of(&[0xff]), [0]);
        assert_eq!(end_of(b""), [0]);
    }
}
