//! A store that reads one small record and writes it on condition.

use std::fmt::Debug;
use std::future::Future;

use super::RegisterRecord;
use crate::backend::{Incarnation, Promise, Traits, Version, Watch};
use crate::{Error, ErrorKind, Seat};

/// The answer to a conditional write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writing {
    /// It was written, and has this version now.
    Written(Version),
    /// The version was another one, and nothing was written.
    Conflict,
}

/// A store that keeps one small record a seat and writes it on condition of its version: two functions make it a backend
/// ([`RegisterBackend`](super::RegisterBackend)). Nobody expires the record: contenders judge by observation (SAFETY 4).
///
/// # Contract
/// - **Reads are linearizable** (SAFETY 16): a read that begins after a write was answered sees it.
/// - **A write is one atomic step** of the store: compare and write, not a read followed by a write. `expected: None` means that there is no
///   record yet. A record that vanished conflicts with every expected version, so that no renewal creates one.
/// - **Every write gives a version that the record never had** (SAFETY 10), also after it was deleted and made anew. A digest of the
///   content will do: no two [`RegisterRecord`]s that are written are equal.
/// - **A conflict is a value.** An error says that it is [indeterminate](Error::indeterminate) when the write may have landed; a write is not
///   retried, neither here nor in a client library.
/// - **The record comes back as it was written**, the lease not shorter. What cannot be understood is an error of
///   [`ErrorKind::Corrupt`], never an absent record.
/// - Records are not deleted: the term in them is the fencing token, and a deleted one starts again (SAFETY 14, 18).
pub trait Register: Debug + Send + Sync + 'static {
    /// Reads the record of a seat, with its version.
    fn read(&self, seat: &Seat) -> impl Future<Output = Result<Option<(RegisterRecord, Version)>, Error>> + Send;

    /// Writes the record if its version is `expected`; with `None`, if there is none.
    fn write(
        &self,
        seat: &Seat,
        expected: Option<&Version>,
        record: &RegisterRecord,
    ) -> impl Future<Output = Result<Writing, Error>> + Send;

    /// All records whose seat's name begins with `prefix`, by name, for operators; optional.
    fn list(&self, prefix: &str) -> impl Future<Output = Result<Vec<(Seat, RegisterRecord, Version)>, Error>> + Send {
        let _ = prefix;
        async { Err(Error::new(ErrorKind::Unsupported, "this store cannot list its elections")) }
    }

    /// Subscribes to changes of a record, as [`Backend::watch`](crate::Backend::watch) has it; asked only where [`Traits::vacancies`] says
    /// that they are pushed. [`RegisterRecord::sight`] makes a [`Hint::Seen`](crate::backend::Hint::Seen).
    fn watch(&self, seat: &Seat) -> impl Future<Output = Result<Watch, Error>> + Send {
        let _ = seat;
        async { Err(Error::new(ErrorKind::Unsupported, "this store pushes nothing")) }
    }

    /// The term after `last`: one more, unless a store can do better, such as the greater of that and a clock in microseconds, which survives
    /// that the record is lost (SAFETY 18).
    fn next_term(&self, last: u64) -> u64 {
        last.saturating_add(1)
    }

    /// What the store promises, which leases it takes and whether it pushes: by default it is fenced and pushes nothing.
    ///
    /// Promise less where an acknowledged write can be lost, or where foreign programs that show no term share the seat (SAFETY 20).
    fn traits(&self) -> Traits {
        Traits::new(Promise::Fenced)
    }

    /// Which life of the store its terms come from (SAFETY 18), where it can tell.
    fn incarnation(&self) -> Option<Incarnation> {
        None
    }

    /// The place in a form that may be shown: a URL without user info.
    fn place(&self) -> String {
        std::any::type_name::<Self>().to_owned()
    }
}
