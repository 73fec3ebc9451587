//! A register over the wire, for the library's adapter.

use std::time::Duration;

use tenure::adapter::{Register, RegisterRecord, Writing};
use tenure::backend::{Promise, Traits, Vacancies, Version};
use tenure::{Error, Seat};

use super::Wire;
use crate::store::{Reply, Request};

/// One record on a server.
#[derive(Debug)]
pub(super) struct WiredRegister {
    pub(super) wire: Wire,
    /// Like Kubernetes: changes are pushed, and the record keeps whole seconds, rounded up (SAFETY 2a).
    pub(super) pushed: bool,
}

impl Register for WiredRegister {
    async fn read(&self, _: &Seat) -> Result<Option<(RegisterRecord, Version)>, Error> {
        match self.wire.ask(0, Request::Read).await? {
            Reply::Record(found) => Ok(found.map(|found| *found)),
            other => unreachable!("{other:?} to a read"),
        }
    }

    async fn write(&self, _: &Seat, expected: Option<&Version>, record: &RegisterRecord) -> Result<Writing, Error> {
        let mut record = record.clone();
        // For people only, and not the same in every run.
        record.since = None;
        if self.pushed {
            record.lease = Duration::from_secs(record.lease.as_nanos().div_ceil(1_000_000_000) as u64);
        }
        match self.wire.ask(0, Request::Write(expected.cloned(), Box::new(record))).await? {
            Reply::Written(writing) => Ok(writing),
            other => unreachable!("{other:?} to a write"),
        }
    }

    fn traits(&self) -> Traits {
        let mut traits = Traits::new(Promise::Fenced);
        traits.vacancies = if self.pushed { Vacancies::Pushed } else { Vacancies::Polled };
        traits
    }
}
