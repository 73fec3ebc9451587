//! The generic elections over a TTL store: acquire, release, close.

mod common;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use common::SECOND;
use tenure::adapter::{Claim, MemoryTtl, TtlStore};
use tenure::{Elections, Ending, Error, ErrorKind, ManualClock};

const TTL: Duration = Duration::from_secs(15);

type Store = Faulty;
type Keys = Elections<&'static str, &'static str, Store>;

/// A store that can be told to fail, or never to answer.
#[derive(Clone, Debug)]
struct Faulty {
    inner: Arc<MemoryTtl<&'static str, Claim<&'static str>>>,
    fault: Arc<AtomicU8>,
}

impl Faulty {
    const WELL: u8 = 0;
    const FAILS: u8 = 1;
    const HANGS: u8 = 2;

    fn set(&self, fault: u8) {
        self.fault.store(fault, Ordering::SeqCst);
    }

    async fn suffer(&self) -> Result<(), Error> {
        match self.fault.load(Ordering::SeqCst) {
            Self::FAILS => Err(Error::unavailable("the store is away")),
            Self::HANGS => pending().await,
            _ => Ok(()),
        }
    }

    fn value(&self, key: &'static str) -> Option<&'static str> {
        self.inner.value(&key).map(Claim::into_value)
    }
}

impl TtlStore<&'static str, Claim<&'static str>> for Faulty {
    async fn insert_if_absent(
        &self,
        key: &&'static str,
        value: &Claim<&'static str>,
        ttl: Duration,
    ) -> Result<bool, Error> {
        self.suffer().await?;
        self.inner.insert_if_absent(key, value, ttl).await
    }

    async fn compare_and_swap(
        &self,
        key: &&'static str,
        old: &Claim<&'static str>,
        new: &Claim<&'static str>,
        ttl: Duration,
    ) -> Result<bool, Error> {
        self.suffer().await?;
        self.inner.compare_and_swap(key, old, new, ttl).await
    }

    async fn compare_and_delete(&self, key: &&'static str, value: &Claim<&'static str>) -> Result<bool, Error> {
        self.suffer().await?;
        self.inner.compare_and_delete(key, value).await
    }
}

struct World {
    clock: ManualClock,
    store: Store,
}

impl World {
    fn new() -> Self {
        let clock = ManualClock::new();
        let inner = Arc::new(MemoryTtl::with_clock(clock.clone()));
        World { store: Faulty { inner, fault: Arc::new(AtomicU8::new(Faulty::WELL)) }, clock }
    }

    /// What one process has: elections of its own in the one store.
    fn process(&self) -> Keys {
        let clock = self.clock.clone();
        Elections::configured(self.store.clone(), move |candidate| candidate.clock(clock.clone()))
    }

    fn pass(&self, span: Duration) {
        for _ in 0..span.as_millis() / 250 {
            self.clock.advance(Duration::from_millis(250));
        }
    }
}

#[tokio::test]
async fn acquiring_a_free_key_gives_a_live_handle_and_stores_the_value() {
    // SEEDS 8
    let world = World::new();
    let elections = world.process();
    let leadership = elections.acquire("key", "value", TTL).await.unwrap().expect("free");
    assert!(leadership.is_held());
    assert_eq!(world.store.value("key"), Some("value"));
    world.pass(SECOND * 120);
    assert!(leadership.is_held(), "it is renewed in the background");
}

#[tokio::test]
async fn a_held_key_says_so_at_once_a_failing_store_is_an_error_and_a_closed_one_is_closed() {
    // SEEDS 4, 9
    let world = World::new();
    let (one, other) = (world.process(), world.process());
    one.acquire("key", "one", TTL).await.unwrap().expect("free");
    assert!(other.acquire("key", "other", TTL).await.unwrap().is_none());
    world.store.set(Faulty::FAILS);
    assert_eq!(other.acquire("key", "other", TTL).await.unwrap_err().kind(), ErrorKind::Unavailable);
    world.store.set(Faulty::WELL);
    other.close().await.unwrap();
    assert_eq!(other.acquire("key", "other", TTL).await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(other.acquire("another", "other", TTL).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_second_acquire_in_one_process_fails_and_leaves_the_first_live() {
    // SEEDS 10
    let world = World::new();
    let elections = world.process();
    let first = elections.acquire("key", "value", TTL).await.unwrap().expect("free");
    assert!(elections.acquire("key", "value", TTL).await.unwrap().is_none());
    assert!(first.is_held());
    world.pass(SECOND * 60);
    assert!(first.is_held());
}

#[tokio::test]
async fn equal_values_of_two_processes_are_told_apart() {
    // SAFETY 11: a value that is only an address is no identity.
    let world = World::new();
    let (one, other) = (world.process(), world.process());
    let first = one.acquire("key", "same", TTL).await.unwrap().expect("free");
    assert!(other.acquire("key", "same", TTL).await.unwrap().is_none());
    one.release(&"key").await.unwrap();
    let second = other.acquire("key", "same", TTL).await.unwrap().expect("released");
    world.pass(SECOND * 60);
    assert!(second.is_held() && !first.is_held());
}

#[tokio::test]
async fn releasing_signals_loss_waits_for_guarded_work_deletes_and_returns() {
    // SEEDS 18
    let world = World::new();
    let elections = Arc::new(world.process());
    let leadership = elections.acquire("key", "value", TTL).await.unwrap().expect("free");
    let guard = leadership.guard().unwrap();
    let releasing = tokio::spawn({
        let elections = elections.clone();
        async move { elections.release(&"key").await }
    });
    assert_eq!(leadership.ended().await, Ending::Resigned);
    world.pass(SECOND * 30);
    assert!(!releasing.is_finished());
    assert_eq!(world.store.value("key"), Some("value"), "kept while work runs");
    drop(guard);
    releasing.await.unwrap().unwrap();
    assert_eq!(world.store.value("key"), None);
}

#[tokio::test]
async fn releasing_an_unknown_key_or_twice_does_nothing() {
    // SEEDS 19
    let world = World::new();
    let elections = world.process();
    elections.release(&"unknown").await.unwrap();
    elections.acquire("key", "value", TTL).await.unwrap().expect("free");
    elections.release(&"key").await.unwrap();
    elections.release(&"key").await.unwrap();
    let other = world.process();
    other.acquire("key", "other", TTL).await.unwrap().expect("SEEDS 20: without waiting for the TTL");
    elections.release(&"key").await.unwrap();
    assert_eq!(world.store.value("key"), Some("other"));
}

#[tokio::test]
async fn closing_ends_all_handles_deletes_all_keys_and_returns_also_while_the_store_hangs() {
    // SEEDS 21
    let world = World::new();
    let elections = world.process();
    let handles = [
        elections.acquire("a", "1", TTL).await.unwrap().unwrap(),
        elections.acquire("b", "2", TTL).await.unwrap().unwrap(),
    ];
    elections.close().await.unwrap();
    assert!(handles.iter().all(|handle| !handle.is_held()));
    assert_eq!((world.store.value("a"), world.store.value("b")), (None, None));

    let elections = Arc::new(world.process());
    let handle = elections.acquire("a", "1", TTL).await.unwrap().unwrap();
    world.store.set(Faulty::HANGS);
    world.pass(SECOND * 6);
    let closing = tokio::spawn({
        let elections = elections.clone();
        async move { elections.close().await }
    });
    assert_eq!(handle.ended().await, Ending::Resigned, "a renewal hangs, and the handle ends all the same");
    while !closing.is_finished() {
        world.pass(SECOND);
        tokio::task::yield_now().await;
    }
    let error = closing.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("did not confirm"), "{error}");
}

#[tokio::test]
async fn an_acquire_that_races_close_leaves_nothing_live() {
    // SEEDS 22
    let world = World::new();
    let elections = Arc::new(world.process());
    world.store.set(Faulty::HANGS);
    let acquiring = tokio::spawn({
        let elections = elections.clone();
        async move { elections.acquire("key", "value", TTL).await }
    });
    tokio::time::sleep(Duration::from_millis(30)).await;
    elections.close().await.unwrap();
    world.store.set(Faulty::WELL);
    while !acquiring.is_finished() {
        world.pass(SECOND);
        tokio::task::yield_now().await;
    }
    assert!(acquiring.await.unwrap().is_err());
    assert_eq!(world.store.value("key"), None);

    // And the other way round: the store answers, and only then everything is closed.
    for _ in 0..200 {
        let elections = Arc::new(world.process());
        let acquiring = tokio::spawn({
            let elections = elections.clone();
            async move { elections.acquire("key", "value", TTL).await }
        });
        tokio::task::yield_now().await;
        elections.close().await.unwrap();
        if let Ok(Some(leadership)) = acquiring.await.unwrap() {
            assert!(!leadership.is_held(), "a live handle after close");
        }
        assert_eq!(world.store.value("key"), None);
    }
}

#[tokio::test]
async fn a_stale_renewal_cannot_end_a_newer_leadership_of_the_same_key() {
    // SEEDS 23
    let world = World::new();
    let elections = world.process();
    let first = elections.acquire("key", "value", TTL).await.unwrap().unwrap();
    world.store.set(Faulty::HANGS);
    world.pass(SECOND * 14);
    assert!(!first.is_held());
    world.store.set(Faulty::WELL);
    world.pass(SECOND * 15);
    let second = elections.acquire("key", "value", TTL).await.unwrap().expect("the first has expired");
    world.pass(SECOND * 60);
    assert!(second.is_held() && !first.is_held());
    assert_eq!(first.ending(), Some(Ending::Expired));
}

#[tokio::test]
async fn independent_keys_do_not_disturb_each_other() {
    // SEEDS 24
    let world = World::new();
    let elections = world.process();
    let a = elections.acquire("a", "1", TTL).await.unwrap().unwrap();
    let b = elections.acquire("b", "2", TTL).await.unwrap().unwrap();
    elections.release(&"a").await.unwrap();
    world.store.inner.remove(&"a");
    world.pass(SECOND * 60);
    assert!(b.is_held() && !a.is_held());
    assert_eq!(world.store.value("b"), Some("2"));
}

#[tokio::test]
async fn a_deleted_key_ends_leadership_and_is_not_made_again() {
    // SEEDS 15
    let world = World::new();
    let elections = world.process();
    let leadership = elections.acquire("key", "value", TTL).await.unwrap().unwrap();
    world.store.inner.remove(&"key");
    world.pass(SECOND * 6);
    assert_eq!(leadership.ended().await, Ending::Deposed);
    assert_eq!(world.store.value("key"), None);
}

#[tokio::test]
async fn a_ttl_of_zero_is_refused_and_one_and_a_half_seconds_are_kept() {
    // SEEDS 6
    let world = World::new();
    let elections = world.process();
    let refused = elections.acquire("key", "value", Duration::ZERO).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::UnsafeTiming);
    let held = elections.acquire("key", "value", Duration::from_millis(1500)).await.unwrap().unwrap();
    let left = held.expiry().unwrap().since(tenure::Clock::now(&world.clock));
    assert!(left > Duration::from_secs(1), "{left:?}");
}
