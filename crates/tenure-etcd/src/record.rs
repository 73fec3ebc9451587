//! What stands in the value of a place.
//!
//! To etcd's own elections the value is the proposal, any text: ours is one line of JSON. It names the lease whose key it stands in, so that a
//! copy under another key is not taken for ours.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tenure::backend::{Bid, Expiry, Held, TenureId, Version};
use tenure::mutant::{Mutant, planted};

use crate::wire::message::KeyValue;

/// The only form there is so far.
const FORMAT: u64 = 1;

/// A place in a queue, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) kv: KeyValue,
    pub(crate) content: Content,
}

/// What a value says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Ours(Record),
    /// Keeps the office from everybody while a holder that was evicted may still believe.
    Bar {
        evicted: Arc<str>,
    },
    /// What `etcdctl elect` or another program proposes.
    Foreign(Arc<str>),
}

/// A candidate's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) tenure: TenureId,
    pub(crate) name: Arc<str>,
    pub(crate) advertise: Arc<[u8]>,
    pub(crate) asked_to_resign: bool,
}

impl Record {
    pub(crate) fn of(bid: &Bid) -> Self {
        let (tenure, name, advertise) = (bid.tenure(), bid.shared_name(), bid.advertise().clone());
        Record { tenure, name, advertise, asked_to_resign: false }
    }

    pub(crate) fn encode(&self, lease: i64) -> Vec<u8> {
        let mut fields = json!({
            "tenure": FORMAT,
            "id": self.tenure.to_string(),
            "lease": format!("{lease:x}"),
            "name": &*self.name,
        });
        if !self.advertise.is_empty() {
            match std::str::from_utf8(&self.advertise) {
                Ok(text) => fields["advertise"] = text.into(),
                Err(_) => fields["advertise-hex"] = hex(&self.advertise).into(),
            }
        }
        if self.asked_to_resign {
            fields["asked-to-resign"] = true.into();
        }
        fields.to_string().into_bytes()
    }

    fn decode(fields: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let advertise = match (text("advertise"), text("advertise-hex")) {
            (Some(text), _) => text.as_bytes().into(),
            (None, Some(hex)) => unhex(hex)?.into(),
            (None, None) => Arc::default(),
        };
        let asked_to_resign = fields.get("asked-to-resign").and_then(Value::as_bool).unwrap_or_default();
        Some(Record { tenure: text("id")?.parse().ok()?, name: text("name")?.into(), advertise, asked_to_resign })
    }
}

/// The value of a bar.
pub(crate) fn bar(evicted: &str, lease: i64) -> Vec<u8> {
    json!({ "tenure": FORMAT, "lease": format!("{lease:x}"), "evicted": evicted }).to_string().into_bytes()
}

impl Place {
    /// So much of a foreign value is shown as its holder's name.
    const SHOWN: usize = 200;

    pub(crate) fn read(kv: KeyValue) -> Self {
        let content = Self::content(&kv);
        Place { kv, content }
    }

    fn content(kv: &KeyValue) -> Content {
        let foreign = || {
            let leaf = kv.key.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let value = if kv.value.is_empty() { leaf } else { &kv.value[..kv.value.len().min(Self::SHOWN)] };
            Content::Foreign(String::from_utf8_lossy(value).trim().into())
        };
        let Ok(Value::Object(fields)) = serde_json::from_slice(&kv.value) else { return foreign() };
        let is_kept_by = |lease: &str| format!("{:x}", kv.lease) == lease;
        match fields.get("lease").and_then(Value::as_str) {
            Some(lease) if fields.get("tenure") == Some(&FORMAT.into()) && is_kept_by(lease) => {
                if let Some(evicted) = fields.get("evicted").and_then(Value::as_str) {
                    return Content::Bar { evicted: evicted.into() };
                }
                let named = kv.key.ends_with(format!("/{lease}").as_bytes());
                Record::decode(&fields).filter(|_| named).map_or_else(foreign, Content::Ours)
            }
            _ => foreign(),
        }
    }

    pub(crate) fn tenure(&self) -> Option<TenureId> {
        match &self.content {
            Content::Ours(record) => Some(record.tenure),
            Content::Bar { .. } | Content::Foreign(_) => None,
        }
    }

    pub(crate) fn is_of(&self, tenure: TenureId) -> bool {
        self.tenure() == Some(tenure)
    }

    pub(crate) fn is_bar(&self) -> bool {
        matches!(self.content, Content::Bar { .. })
    }

    pub(crate) fn asked_to_resign(&self) -> bool {
        matches!(&self.content, Content::Ours(record) if record.asked_to_resign)
    }

    pub(crate) fn version(&self) -> Version {
        Version::number(self.kv.mod_revision.unsigned_abs())
    }

    pub(crate) fn has_version(&self, version: &Version) -> bool {
        self.version() == *version
    }

    /// The create revision: a number that rises with every tenure, whoever holds the office and by which program.
    pub(crate) fn token(&self) -> u64 {
        if planted(Mutant::EtcdModRevisionToken) {
            return self.kv.mod_revision.unsigned_abs();
        }
        self.kv.create_revision.unsigned_abs()
    }

    pub(crate) fn name(&self) -> Arc<str> {
        match &self.content {
            Content::Ours(record) => record.name.clone(),
            Content::Bar { evicted } => format!("(evicted: {evicted})").into(),
            Content::Foreign(text) => text.clone(),
        }
    }

    pub(crate) fn seen(&self) -> Held {
        Held {
            version: self.version(),
            tenure: self.tenure(),
            holder: self.name(),
            token: Some(self.token()),
            // A place is written when its candidate joins the queue; when it came to lead, nobody writes down.
            since: None,
            advertise: match &self.content {
                Content::Ours(record) => record.advertise.clone(),
                Content::Bar { .. } | Content::Foreign(_) => Arc::default(),
            },
            asked_to_resign: self.asked_to_resign(),
            // A lease's end is nothing to wait for: it moves with every keepalive, and the next in line is told.
            expiry: Expiry::Store { remaining: None },
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: i64 = 0x694d;

    fn place(value: impl Into<Vec<u8>>) -> Place {
        let (create_revision, mod_revision) = (7, 9);
        Place::read(KeyValue {
            key: b"a/694d".into(),
            value: value.into(),
            lease: LEASE,
            create_revision,
            mod_revision,
        })
    }

    fn record(advertise: &[u8]) -> Record {
        let (tenure, name) = (TenureId::new(0xfeed, 3), "pod-1".into());
        Record { tenure, name, advertise: advertise.into(), asked_to_resign: false }
    }

    #[test]
    fn a_record_is_one_line_that_does_not_change() {
        // A golden value: two versions of tenure contend with each other.
        let golden = r#"{"advertise":"10.0.0.7:8080","id":"000000000000feed0000000000000003","lease":"694d","name":"pod-1","tenure":1}"#;
        assert_eq!(String::from_utf8(record(b"10.0.0.7:8080").encode(LEASE)).unwrap(), golden);
        let read = place(golden);
        assert_eq!(read.content, Content::Ours(record(b"10.0.0.7:8080")));
        assert_eq!((read.token(), read.version()), (7, Version::number(9)));
        // What a later version adds is not in the way.
        let later = golden.replace("{", r#"{"zone":"b","#);
        assert_eq!(place(later).content, Content::Ours(record(b"10.0.0.7:8080")));
    }

    #[test]
    fn every_byte_that_is_advertised_comes_back() {
        let every: Vec<u8> = (0..=255).collect();
        for bytes in [&b""[..], b"\"\\\n\0{}", &every] {
            assert_eq!(place(record(bytes).encode(LEASE)).content, Content::Ours(record(bytes)));
        }
    }

    #[test]
    fn what_others_propose_is_a_holder_without_a_tenure() {
        for (value, shown) in [
            ("host-7", "host-7"),
            ("", "694d"),
            (r#"{"leader":"x"}"#, r#"{"leader":"x"}"#),
            (r#"{"tenure":2,"id":"x"}"#, r#"{"tenure":2,"id":"x"}"#),
        ] {
            let place = place(value);
            assert_eq!((place.tenure(), &*place.name()), (None, shown));
            assert_eq!(place.token(), 7, "its create revision is a token all the same");
        }
        assert!(place([0xff; 5000]).name().len() < 1000);
    }

    #[test]
    fn a_copy_under_another_key_or_lease_is_not_ours() {
        let value = record(b"").encode(LEASE);
        let kv = |key: &str, lease| KeyValue { key: key.into(), value: value.clone(), lease, ..KeyValue::default() };
        assert!(Place::read(kv("a/694d", LEASE)).tenure().is_some());
        for copy in [kv("a/1f", LEASE), kv("a/1f", 0x1f), kv("a/694d", 0x1f), kv("a/694d", 0)] {
            assert_eq!(Place::read(copy).tenure(), None);
        }
    }

    #[test]
    fn a_bar_is_nobodys() {
        let place = place(bar("pod-1", LEASE));
        assert!(place.is_bar() && place.tenure().is_none());
        assert_eq!(&*place.name(), "(evicted: pod-1)");
    }
}
