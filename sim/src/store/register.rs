//! A store that only reads and writes conditionally, as Kubernetes, DynamoDB and object stores do: contenders judge expiry, and the library's own
//! adapter does the rest.

use std::hash::{Hash, Hasher};

use tenure::Moment;
use tenure::adapter::{RegisterRecord, Writing};
use tenure::backend::{Hint, Sight, Vacancy, Version};

use super::{Present, Push, Reply, Request, Store, Truth};

/// One record with a version; it never expires.
#[derive(Clone, Debug)]
pub struct RegisterStore {
    record: Option<RegisterRecord>,
    version: u64,
    /// Whether changes are pushed with the record, as a Kubernetes watch does.
    pushed: bool,
    /// Whether a version is a digest of the content, as an ETag is.
    digests: bool,
    pushes: Vec<Push>,
}

impl RegisterStore {
    /// A register that pushes its changes.
    pub fn pushing() -> Self {
        RegisterStore::new(true, false)
    }

    /// A register that numbers its writes.
    pub fn numbering() -> Self {
        RegisterStore::new(false, false)
    }

    /// A register whose versions are digests.
    pub fn digesting() -> Self {
        RegisterStore::new(false, true)
    }

    fn new(pushed: bool, digests: bool) -> Self {
        RegisterStore { record: None, version: 0, pushed, digests, pushes: Vec::new() }
    }

    fn there(&self) -> Option<Version> {
        let record = self.record.as_ref()?;
        if !self.digests {
            return Some(Version::number(self.version));
        }
        let mut hasher = Digest::default();
        record.hash(&mut hasher);
        Some(Version::number(hasher.finish()))
    }

    fn put(&mut self, record: Option<RegisterRecord>) {
        self.record = record;
        self.version += 1;
        if self.pushed {
            let sight = match (&self.record, self.there()) {
                (Some(record), Some(version)) => record.sight(&version),
                _ => Sight::Vacant(Vacancy::Removed),
            };
            self.pushes.push((None, Hint::Seen(sight)));
        }
    }
}

/// FNV-1a, defined here: what the standard library hashes with may change from one release to the next, and a seed must not.
struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Store for RegisterStore {
    fn apply(&mut self, _: Moment, _: usize, _: usize, request: &Request) -> Reply {
        match request {
            Request::Read => {
                let found = self.record.clone().zip(self.there());
                Reply::Record(found.map(Box::new))
            }
            Request::Write(expected, record) => {
                if self.there() != *expected {
                    return Reply::Written(Writing::Conflict);
                }
                self.put(Some(RegisterRecord::clone(record)));
                Reply::Written(Writing::Written(self.there().expect("just written")))
            }
            other => unreachable!("{other:?} is not for this store"),
        }
    }

    fn truth(&mut self, _: &Present<'_>) -> Option<Truth> {
        let record = self.record.as_ref()?;
        let holder = record.holder.as_ref()?;
        Some(Truth { tenure: holder.tenure, token: holder.tenure.map(|_| record.term) })
    }

    fn pushes(&mut self) -> Vec<Push> {
        std::mem::take(&mut self.pushes)
    }

    fn next_expiry(&self, _: &Present<'_>) -> u64 {
        u64::MAX
    }

    fn remove(&mut self) {
        // Its term goes on: a record whose number starts again is a wipe, and that is another fault.
        if let Some(record) = &self.record {
            let emptied = RegisterRecord { term: record.term, write: record.write + 1, ..RegisterRecord::default() };
            self.put(Some(emptied));
        }
    }

    fn restart(&mut self, _: &Present<'_>, _: usize) {
        if self.pushed {
            self.pushes.push((None, Hint::Lagged));
        }
    }

    fn wipe(&mut self) {
        self.put(None);
    }

    fn backup(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }

    fn restored(&mut self, incarnation: u64) {
        // No version comes twice, as the contract of registers has it; a restore that repeats them needs a bump (SAFETY's table).
        self.version += incarnation;
        self.restart(&Present { time: 0, clocks: &[] }, 0);
    }
}
