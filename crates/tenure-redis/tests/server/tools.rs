//! Bids at the seam, and a runtime to make them in.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::backend::{Attempt, AttemptId, Bid, Grant, Standing, TenureId};
use tenure::machine::Plan;
use tenure::{Backend, BootClock, CandidateName, Clock, Error, Seat, TimingBuilder};
use tenure_redis::{RedisBackend, RedisBuilder};

/// What a lease is in these tests, unless they are about it.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

pub(crate) fn seat() -> Seat {
    Seat::new("office").expect("it is a name")
}

/// A bid of its own incarnation for the office.
pub(crate) fn bid(backend: &RedisBackend, lease: Duration) -> Bid {
    bid_for(backend, seat(), lease)
}

pub(crate) fn bid_for(backend: &RedisBackend, seat: Seat, lease: Duration) -> Bid {
    static NONCES: AtomicU64 = AtomicU64::new(1);
    let nonce = NONCES.fetch_add(1, Ordering::Relaxed);
    let timing = TimingBuilder { lease: Some(lease), ..TimingBuilder::default() }.build().expect("it is a sound lease");
    let name = CandidateName::new("one").expect("it is a name");
    let plan = Plan::new(seat, name, nonce, Arc::new(timing), backend.traits());
    Bid::new(Arc::new(plan), TenureId::new(nonce, 1), None)
}

pub(crate) fn attempt() -> Attempt {
    Attempt { id: AttemptId(1), sent: BootClock.now() }
}

pub(crate) async fn wins(backend: &RedisBackend, bid: &Bid) -> Grant {
    match backend.stand(bid, attempt()).await {
        Ok(Standing::Elected(grant)) => grant,
        other => panic!("the office was free: {other:?}"),
    }
}

/// What comes of a bid that is refused.
pub(crate) async fn refused(backend: &RedisBackend) -> Error {
    let bid = bid(backend, LEASE);
    let error = backend.stand(&bid, attempt()).await.expect_err("it is refused");
    assert!(!error.is_indeterminate(), "nothing was written, and that is known: {error:?}");
    error
}

pub(crate) fn backend(url: &str, more: impl FnOnce(RedisBuilder) -> RedisBuilder) -> RedisBackend {
    more(RedisBackend::builder(url).expect("the testbed's own address")).build().expect("it is a sound one")
}

pub(crate) fn plain(url: &str) -> RedisBackend {
    backend(url, |builder| builder)
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime can be had").block_on(work)
}
