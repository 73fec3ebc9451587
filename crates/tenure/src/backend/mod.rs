//! The seam: what a store has to do so that elections can be held in it.
//!
//! Most stores need not implement [`Backend`] themselves: one that expires keys becomes a backend through
//! [`TtlBackend`](crate::adapter::TtlBackend) by three functions, and one that writes conditionally through
//! [`RegisterBackend`](crate::adapter::RegisterBackend) by two.

mod administer;
mod bid;
#[cfg(feature = "file")]
pub mod file;
mod grant;
mod id;
pub mod memory;
pub mod network;
mod sight;
mod traits;

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use futures_util::future::join_all;

pub use administer::{Administer, Evicted};
pub use bid::{Attempt, AttemptId, Bid, Due};
#[cfg(feature = "file")]
pub use file::FileBackend;
pub use grant::{Beat, Cover, Grant, Renewal, SessionId, Standing};
pub use id::{Incarnation, TenureId, Version};
pub use sight::{Expiry, Held, Hint, Sight, Vacancy};
pub use traits::{ForeignPeers, Promise, Traits, Vacancies};

use crate::{Error, ErrorKind, Seat};

/// The answer to a call: a boxed future, so that backends are object-safe.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// The answers to many calls, in their order.
pub type Answers<'a, T> = Pin<Box<dyn Future<Output = Vec<Result<T, Error>>> + Send + 'a>>;

/// A stream of hints about one election, as [`Backend::watch`] gives it.
pub type Watch = Pin<Box<dyn futures_core::Stream<Item = Hint> + Send>>;

/// A store that can run elections.
///
/// # Contract
/// Everything that decides (deadlines, retries, when a silent holder may be displaced) is the caller's. A backend does what it is told,
/// once, and reports what it saw.
///
/// - **Losing is a value, not an error.** [`Standing::Held`] and [`Renewal::Mismatch`] are ordinary answers. An `Err` means that the answer
///   is not known; it says by [`Error::is_indeterminate`] whether the write may have landed, and a backend that is not sure says that it may.
/// - **Versions.** Every write gives the record a version that it never had before (SAFETY 10). A store that can only compare values puts
///   a fresh number into every value.
/// - **Two ids.** The tenure id stays for a whole tenure, the version changes with each write (SAFETY 9). `renew` is conditional on the
///   version, `withdraw` on the tenure id.
/// - **Reads are linearizable** (SAFETY 16); a read that may be stale is not an answer.
/// - **No retry of a write** that is not idempotent, neither by the backend nor inside its client library.
/// - **No blocking.** Calls run on the thread that renews every election of the process; what blocks goes to a thread of its own. They are
///   polled inside a tokio runtime with I/O and time, so a backend connects lazily, in its first call.
/// - **A call is never dropped half-way** by the driver, but its answer may come after anybody cared.
/// - The names and bytes a backend reads from the store are untrusted.
///
/// # Upgrade
/// Required methods are few and stay. What is added later has a default.
pub trait Backend: Debug + Send + Sync + 'static {
    /// What this store promises, whose clock expires a record, what it pushes and which leases it takes.
    fn traits(&self) -> Traits;

    /// The place in a form that may be shown: a URL without user info.
    fn place(&self) -> String;

    /// What clones of this value have in common, so that elections on them share heartbeats and batches, and the same election on two of them is
    /// refused where they share a session; `None`: each value is one of its own. No two backends that live have the same.
    fn identity(&self) -> Option<usize> {
        None
    }

    /// Tries to win `bid.seat()` for `bid.tenure()`.
    ///
    /// Idempotent for a tenure id: a record that carries it already is answered by [`Standing::Elected`] with the record as it is, extended to
    /// a full lease. A record of another is displaced only if its version is exactly `bid.displace()`. A queueing store may enqueue the
    /// bid and answer [`Standing::Queued`]; there is one entry a session and seat:
    /// a later bid of the same incarnation replaces it, an earlier one that comes late never does
    /// ([`TenureId::is_earlier_than`]), for the office may be held by then. A session whose time is over by *this process's* clock is dead to it,
    /// whatever the store still knows of it: bids are made under another. The place that an answer speaks of is one under the session that it
    /// names; an entry of the same tenure under a former session is none.
    fn stand<'a>(&'a self, bid: &'a Bid, attempt: Attempt) -> Answer<'a, Standing>;

    /// Extends the record by a full lease if its version is still `version`, and writes nothing otherwise. Never creates a record.
    ///
    /// A mismatch is answered with what is there, so that the caller can tell its own late write from another holder.
    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, attempt: Attempt) -> Answer<'a, Renewal>;

    /// Removes whatever record or queue entry carries `bid.tenure()`, leaving word of the release where the store can keep it
    /// ([`Vacancy::Released`]). Idempotent; touches no other tenure; succeeds when there is nothing to remove.
    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()>;

    /// Who holds the office now. Linearizable; writes nothing.
    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight>;

    /// Subscribes to changes of an election, for a candidate (`bid`) or an observer.
    ///
    /// The first hint is [`Hint::Armed`], sent once nothing can be missed any more. The stream never ends silently: when it can no longer be
    /// relied on it says [`Hint::Lagged`] and ends. A candidate's watch need not report that candidate's own renewals.
    /// A store that pushes nothing ([`Vacancies::Polled`]) is never asked.
    fn watch<'a>(&'a self, seat: &'a Seat, bid: Option<&'a Bid>) -> Answer<'a, Watch> {
        let _ = (seat, bid);
        Box::pin(async { Err(Error::new(ErrorKind::Unsupported, "this backend pushes nothing")) })
    }

    /// Renews many elections at once; answers stand in the order of `due`. By default the renewals run side by side.
    fn renew_many<'a>(&'a self, due: &'a [Due]) -> Answers<'a, Renewal> {
        Box::pin(join_all(due.iter().map(|one| self.renew(&one.bid, &one.version, one.attempt))))
    }

    /// Extends a session that covers several elections ([`Cover::Shared`]).
    ///
    /// The answer is to this very request or to a later one: where answers carry no number, the backend counts them off against what it sent.
    fn heartbeat<'a>(&'a self, session: SessionId, attempt: Attempt) -> Answer<'a, Beat> {
        let _ = (session, attempt);
        Box::pin(async { Err(Error::new(ErrorKind::Unsupported, "this backend has no sessions")) })
    }

    /// Listing, asking to resign and evicting, where the store can do it.
    fn administer(&self) -> Option<&dyn Administer> {
        None
    }
}
