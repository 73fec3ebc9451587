//! A register in this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Register, RegisterRecord, Writing};
use crate::backend::Version;
use crate::{Error, Seat};

/// A [`Register`] in this process: for tests, and as the model of what a register does. Clones share one store.
#[derive(Clone, Debug, Default)]
pub struct MemoryRegister {
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug, Default)]
struct Shelf {
    records: BTreeMap<Seat, (RegisterRecord, u64)>,
    /// One count for all records, so that one that is removed and made anew has no version twice.
    writes: u64,
}

impl MemoryRegister {
    /// An empty register.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes a record, as an operator might: behind the back of whoever holds the office (SAFETY 14).
    pub fn remove(&self, seat: &Seat) {
        self.shelf().records.remove(seat);
    }

    /// The record of a seat.
    pub fn record(&self, seat: &Seat) -> Option<RegisterRecord> {
        self.shelf().records.get(seat).map(|(record, _)| record.clone())
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Register for MemoryRegister {
    async fn read(&self, seat: &Seat) -> Result<Option<(RegisterRecord, Version)>, Error> {
        Ok(self.shelf().records.get(seat).map(|(record, version)| (record.clone(), Version::number(*version))))
    }

    async fn write(&self, seat: &Seat, expected: Option<&Version>, record: &RegisterRecord) -> Result<Writing, Error> {
        let mut shelf = self.shelf();
        let found = shelf.records.get(seat).map(|(_, version)| Version::number(*version));
        if found.as_ref() != expected {
            return Ok(Writing::Conflict);
        }
        shelf.writes += 1;
        let version = shelf.writes;
        shelf.records.insert(seat.clone(), (record.clone(), version));
        Ok(Writing::Written(Version::number(version)))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(Seat, RegisterRecord, Version)>, Error> {
        let shelf = self.shelf();
        let named = shelf.records.iter().filter(|(seat, _)| seat.as_str().starts_with(prefix));
        Ok(named.map(|(seat, (record, version))| (seat.clone(), record.clone(), Version::number(*version))).collect())
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_write_needs_the_very_version_it_expects() {
        let register = MemoryRegister::new();
        let seat = Seat::new("office").unwrap();
        let record = RegisterRecord::default();
        let Writing::Written(first) = register.write(&seat, None, &record).await.unwrap() else {
            panic!("there was none")
        };
        assert_eq!(register.write(&seat, None, &record).await.unwrap(), Writing::Conflict);
        let Writing::Written(second) = register.write(&seat, Some(&first), &record).await.unwrap() else {
            panic!("it was expected")
        };
        assert_ne!(first, second, "SAFETY 10: also when the content is the same");
        assert_eq!(register.write(&seat, Some(&first), &record).await.unwrap(), Writing::Conflict);
        assert_eq!(register.read(&seat).await.unwrap(), Some((record, second)));
    }

    #[tokio::test]
    async fn a_record_that_vanished_is_not_made_again_by_an_update() {
        // SAFETY 9, 10
        let register = MemoryRegister::new();
        let seat = Seat::new("office").unwrap();
        let record = RegisterRecord::default();
        let Writing::Written(first) = register.write(&seat, None, &record).await.unwrap() else {
            panic!("there was none")
        };
        register.remove(&seat);
        assert_eq!(register.write(&seat, Some(&first), &record).await.unwrap(), Writing::Conflict);
        let Writing::Written(anew) = register.write(&seat, None, &record).await.unwrap() else {
            panic!("there was none")
        };
        assert_ne!(first, anew);
    }
}
