//! A store that expires keys and compares values.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use crate::backend::{Incarnation, Promise, Traits, Watch};
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind};

/// What a look at a key found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look<V> {
    /// This store cannot be looked at.
    Blind,
    /// No value, or one that has expired.
    Absent,
    /// An unexpired value.
    Present {
        /// The value.
        value: V,
        /// What is left of its life, where the store tells.
        remaining: Option<Duration>,
    },
}

/// A store that expires keys by itself and changes them by comparing values: three functions make it a backend
/// ([`TtlBackend`](super::TtlBackend)).
///
/// # Contract
/// - **One wins.** Of any number of concurrent inserts on an absent or expired key exactly one is answered `true`, across processes
///   (SEEDS 1). Each operation is one atomic step of the store; a read followed by a write is not.
/// - **A swap** succeeds only on an unexpired value equal to `old`, and gives the key a full `ttl` anew. Otherwise it answers `false` and
///   has written nothing (SEEDS 2).
/// - **A delete** removes only an unexpired value equal to `value`; otherwise it answers `false` (SEEDS 3).
/// - **An error is never `false`**, nor the other way round (SEEDS 4). An error says that it is
///   [indeterminate](Error::indeterminate) when the write may have landed, and a store that is not sure says so. Writes are not retried,
///   neither here nor in a client library.
/// - **Expiry** is by one clock of the store, and a value is expired at exactly now = expiry (SEEDS 5).
/// - **A TTL of 0 is refused**, and none is ever cut: 1500 ms are not 1 s. A store that knows only whole units rounds up or refuses
///   (SEEDS 6); [`ttl_in_millis`] and [`ttl_in_seconds`] do so.
/// - **Values** are compared whole. What was stored comes back equal.
pub trait TtlStore<K, V>: Debug + Send + Sync + 'static {
    /// Stores `value` for `ttl` unless the key has an unexpired value; says whether it did.
    fn insert_if_absent(&self, key: &K, value: &V, ttl: Duration) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Replaces `old` by `new` and gives it a full `ttl`, if `old` is what the key has; says whether it did.
    fn compare_and_swap(
        &self,
        key: &K,
        old: &V,
        new: &V,
        ttl: Duration,
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Removes `value`, if that is what the key has; says whether it did.
    fn compare_and_delete(&self, key: &K, value: &V) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Reads the key: linearizable (SAFETY 16), and writing nothing. Always [`Look::Blind`] for a store that cannot.
    fn look(&self, key: &K) -> impl Future<Output = Result<Look<V>, Error>> + Send {
        let _ = key;
        async { Ok(Look::Blind) }
    }

    /// Draws the next number of a key, for fencing tokens; asked only where [`Traits::has_tokens`] is set.
    ///
    /// # Contract
    /// The numbers of a key rise with every draw, across processes and restarts, and outlive the key's value: a counter that expires with the
    /// value, or that a failover can set back, is none. A number that was drawn and not used is skipped.
    ///
    /// The adapter draws *after* an insert has won and then swaps the number into the value; only when that swap succeeds is it a token.
    /// Thus the holder still held when its number was already drawn, and whoever comes next inserts, and draws, later. A number
    /// drawn before the insert could be overtaken, and one that is not swapped in could be drawn by a holder whose key has long expired.
    fn next_token(&self, key: &K) -> impl Future<Output = Result<u64, Error>> + Send {
        let _ = key;
        async { Err(Error::new(ErrorKind::Unsupported, "this store draws no numbers")) }
    }

    /// Subscribes to changes of a key, as [`Backend::watch`](crate::Backend::watch) has it; asked only where [`Traits::vacancies`] says that
    /// they are pushed.
    fn watch(&self, key: &K) -> impl Future<Output = Result<Watch, Error>> + Send {
        let _ = key;
        async { Err(Error::new(ErrorKind::Unsupported, "this store pushes nothing")) }
    }

    /// What the store promises and which TTLs it takes: by default a lease without tokens, and nothing pushed.
    ///
    /// Set [`Traits::has_tokens`] where `next_token` is implemented; without it the promise is never more than
    /// [`Promise::LeaseOnly`], because values vanish with their keys and nothing else in such a store counts.
    fn traits(&self) -> Traits {
        Traits::new(Promise::LeaseOnly)
    }

    /// Which life of the store its numbers come from (SAFETY 18), where it can tell.
    fn incarnation(&self) -> Option<Incarnation> {
        None
    }

    /// The place in a form that may be shown: a URL without user info.
    fn place(&self) -> String {
        std::any::type_name::<Self>().to_owned()
    }
}

/// A TTL in whole milliseconds, rounded up; 0 is refused (SEEDS 6).
pub fn ttl_in_millis(ttl: Duration) -> Result<u64, Error> {
    whole_units(ttl, Duration::from_millis(1))
}

/// A TTL in whole seconds, rounded up: 1500 ms are 2 s; 0 is refused (SEEDS 6).
pub fn ttl_in_seconds(ttl: Duration) -> Result<u64, Error> {
    whole_units(ttl, Duration::from_secs(1))
}

fn whole_units(ttl: Duration, unit: Duration) -> Result<u64, Error> {
    if ttl.is_zero() && !planted(Mutant::TtlZeroTaken) {
        return Err(Error::new(ErrorKind::InvalidConfig, "a TTL of 0 would expire at once; give it some time to live"));
    }
    if planted(Mutant::TtlCut) {
        return Ok((ttl.as_nanos() / unit.as_nanos()) as u64);
    }
    u64::try_from(ttl.as_nanos().div_ceil(unit.as_nanos()))
        .map_err(|_| Error::new(ErrorKind::InvalidConfig, format!("a TTL of {ttl:?} is more than a store can count")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_rounded_up_and_never_cut() {
        // SEEDS 6
        assert_eq!(ttl_in_seconds(Duration::from_millis(1500)).unwrap(), 2);
        assert_eq!(ttl_in_seconds(Duration::from_secs(1)).unwrap(), 1);
        assert_eq!(ttl_in_millis(Duration::from_millis(1500)).unwrap(), 1500);
        assert_eq!(ttl_in_millis(Duration::from_nanos(1)).unwrap(), 1);
    }

    #[test]
    fn a_ttl_of_zero_or_beyond_counting_is_refused() {
        // SEEDS 6
        for refused in [ttl_in_millis(Duration::ZERO), ttl_in_seconds(Duration::ZERO), ttl_in_millis(Duration::MAX)] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidConfig);
        }
    }
}
