//! What watches tell, whom, and when.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Instant;

use futures_util::{FutureExt, StreamExt};
use tokio::task::JoinHandle;

use super::super::watchers::PATIENCE;
use super::*;
use crate::backend::{Hint, Watch};

/// A watch that has said that it stands.
async fn armed(store: &dyn Backend, seat: &Seat, bid: Option<&Bid>) -> Watch {
    let mut watch = store.watch(seat, bid).await.unwrap();
    assert_eq!(watch.next().await, Some(Hint::Armed), "the first hint");
    watch
}

/// What a watch has to say without waiting.
fn said(watch: &mut Watch) -> Vec<Hint> {
    let mut hints = Vec::new();
    while let Some(Some(hint)) = watch.next().now_or_never() {
        hints.push(hint);
    }
    hints
}

/// Reads in a task of its own until the office falls vacant.
fn reading(mut watch: Watch) -> JoinHandle<Vec<Hint>> {
    tokio::spawn(async move {
        let mut hints = Vec::new();
        while hints.last() != Some(&Hint::Vacant) {
            hints.extend(watch.next().await);
        }
        hints
    })
}

async fn heard(reader: JoinHandle<Vec<Hint>>) -> Vec<Hint> {
    tokio::time::timeout(SECOND * 10, reader).await.expect("nobody pushed the vacancy").unwrap()
}

/// Whether a watch has nothing to say now. Unlike `said` it leaves the waker of this task behind.
async fn is_silent(watch: &mut Watch) -> bool {
    poll_fn(|context| Poll::Ready(watch.as_mut().poll_next(context).is_pending())).await
}

#[tokio::test]
async fn a_watch_tells_of_wins_and_vacancies_and_not_of_renewals() {
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    let mut watch = armed(&store.client(), one.seat(), None).await;
    let mut elsewhere = armed(&store, &seat("other"), None).await;
    let won = grant(stand(&store, &one).await);
    let sight = store.inspect(one.seat()).await.unwrap();
    let Some(Hint::Seen(seen)) = said(&mut watch).pop() else { panic!("nobody told of the win") };
    assert_eq!(seen.held().map(|held| &held.version), sight.held().map(|held| &held.version));
    extended(renew(&store, &one, &won.version).await);
    assert_eq!(said(&mut watch), []);
    store.withdraw(&one).await.unwrap();
    assert_eq!(said(&mut watch), [Hint::Vacant]);
    store.withdraw(&one).await.unwrap();
    assert_eq!(said(&mut watch), [], "nothing happened");
    store.by_hand().overwrite(one.seat(), "intruder", LEASE);
    assert!(matches!(said(&mut watch)[..], [Hint::Seen(_)]));
    store.by_hand().remove(one.seat());
    assert_eq!(said(&mut watch), [Hint::Vacant]);
    assert_eq!(said(&mut elsewhere), []);
}

#[tokio::test]
async fn a_candidate_is_not_told_of_its_own_win() {
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    let mut watch = armed(&store, one.seat(), Some(&one)).await;
    grant(stand(&store, &one).await);
    assert_eq!(said(&mut watch), []);
}

#[tokio::test]
async fn an_expiry_is_pushed_when_it_comes_though_nobody_calls_the_store() {
    let lease = Duration::from_millis(30);
    for time in Time::both() {
        let (own, shared) = (time.store(), time.sessions());
        for store in [&own as &dyn Backend, &shared] {
            let one = bid_for("office", 1, lease);
            let mut watch = armed(store, one.seat(), None).await;
            let begun = Instant::now();
            grant(stand(store, &one).await);
            let mut hints = Vec::new();
            if let Time::Manual(clock) = &time {
                hints.extend(said(&mut watch));
                clock.jump(lease / 2);
                grant(stand(store, &one).await);
                clock.jump(lease / 2);
                assert!(is_silent(&mut watch).await, "the end has moved, and the watch with it");
                clock.jump(lease / 2);
            }
            while hints.last() != Some(&Hint::Vacant) {
                hints.extend(tokio::time::timeout(SECOND * 20, watch.next()).await.expect("nobody pushed the expiry"));
            }
            assert!(matches!(time, Time::Manual(_)) || begun.elapsed() >= lease, "not before its time");
            assert_eq!(store.inspect(one.seat()).await.unwrap(), Sight::Vacant(Vacancy::Free));
        }
    }
}

#[tokio::test]
async fn an_expiry_is_pushed_also_when_the_one_who_kept_the_time_has_left() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    grant(stand(&store, &bid("office", 1)).await);
    let mut keeper = armed(&store, &seat("office"), None).await;
    assert!(is_silent(&mut keeper).await);
    let other = reading(armed(&store, &seat("office"), None).await);
    tokio::task::yield_now().await;
    drop(keeper);
    tokio::task::yield_now().await;
    clock.jump(LEASE);
    assert_eq!(heard(other).await, [Hint::Vacant]);
}

#[tokio::test]
async fn a_timekeeper_that_is_not_read_is_relieved_by_the_next_call() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    grant(stand(&store, &bid("first", 1)).await);
    grant(stand(&store, &bid_for("later", 1, LEASE * 2)).await);
    let mut idle = armed(&store, &seat("first"), None).await;
    assert!(is_silent(&mut idle).await);
    let reader = reading(armed(&store, &seat("later"), None).await);
    tokio::task::yield_now().await;
    clock.jump(LEASE); // `idle` is to look now, and nobody reads it.
    store.inspect(&seat("elsewhere")).await.unwrap();
    tokio::task::yield_now().await;
    clock.jump(LEASE);
    assert_eq!(heard(reader).await, [Hint::Vacant]);
}

#[tokio::test]
async fn a_lease_that_ends_sooner_than_the_one_waited_for_is_pushed_in_its_time() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let long = bid("long", 1);
    let won = grant(stand(&store, &long).await);
    let keeper = reading(armed(&store, long.seat(), None).await);
    tokio::task::yield_now().await;
    let other = reading(armed(&store, &seat("short"), None).await);
    tokio::task::yield_now().await;
    grant(stand(&store, &bid_for("short", 2, SECOND)).await);
    tokio::task::yield_now().await;
    clock.jump(SECOND);
    assert!(matches!(heard(other).await[..], [Hint::Seen(_), Hint::Vacant]));
    extended(renew(&store.clone().granting(SECOND * 2), &long, &won.version).await);
    tokio::task::yield_now().await;
    clock.jump(SECOND * 2);
    assert_eq!(heard(keeper).await, [Hint::Vacant]);
}

#[tokio::test]
async fn only_the_next_in_line_is_told_that_the_office_is_its_own() {
    let store = MemorySessions::new();
    let clients = [store.client(), store.client(), store.client()];
    let bids = [bid("office", 1), bid("office", 2), bid("office", 3)];
    let mut watches = Vec::new();
    for (client, bid) in clients.iter().zip(&bids) {
        let _ = stand(client, bid).await.unwrap();
        watches.push(armed(client, bid.seat(), Some(bid)).await);
    }
    let mut observer = armed(&store, &seat("office"), None).await;
    clients[0].withdraw(&bids[0]).await.unwrap();
    assert_eq!(said(&mut watches[1]), [Hint::Vacant]);
    assert_eq!(said(&mut watches[2]), [], "no herd");
    assert!(matches!(&said(&mut observer)[..], [Hint::Seen(sight)] if sight.is_of(bids[1].tenure())));
    grant(stand(&clients[1], &bids[1]).await);

    clients[2].expire_sessions();
    assert_eq!(said(&mut watches[2]), [Hint::Changed], "its own place is gone");
    assert_eq!(said(&mut watches[1]), [], "which is nothing to the holder");
    clients[1].withdraw(&bids[1]).await.unwrap();
    assert_eq!(said(&mut watches[2]), [Hint::Vacant], "without a place, and nobody else has one");
    assert_eq!(said(&mut observer), [Hint::Vacant]);
}

#[tokio::test]
async fn an_observer_of_a_queue_hears_who_leads_and_not_who_waits() {
    let store = MemorySessions::new();
    let rival = store.client();
    let (one, other) = (bid("office", 1), bid("office", 2));
    let mut observer = armed(&store, one.seat(), None).await;
    grant(stand(&store, &one).await);
    assert!(matches!(&said(&mut observer)[..], [Hint::Seen(sight)] if sight.is_of(one.tenure())));
    queued(stand(&rival, &other).await);
    rival.withdraw(&other).await.unwrap();
    assert_eq!(said(&mut observer), []);
    store.administer().unwrap().ask_to_resign(one.seat()).await.unwrap();
    let asked = |sight: &Sight| sight.held().is_some_and(|held| held.asked_to_resign);
    assert!(matches!(&said(&mut observer)[..], [Hint::Seen(sight)] if asked(sight)));
    store.by_hand().overwrite(one.seat(), "intruder", LEASE);
    assert!(matches!(&said(&mut observer)[..], [Hint::Seen(Sight::Held(held))] if &*held.holder == "intruder"));
}

#[tokio::test]
async fn the_next_in_line_is_told_when_a_bar_is_over() {
    let clock = ManualClock::new();
    let store = MemorySessions::with_clock(clock.clone());
    let rival = store.client();
    let (one, other) = (bid("office", 1), bid_for("office", 2, SECOND * 60));
    grant(stand(&store, &one).await);
    queued(stand(&rival, &other).await);
    let mut holder = armed(&store, one.seat(), Some(&one)).await;
    let mut next = armed(&rival, other.seat(), Some(&other)).await;
    let mut observer = armed(&rival, other.seat(), None).await;
    store.administer().unwrap().evict(one.seat()).await.unwrap();
    assert_eq!(said(&mut holder), [Hint::Changed]);
    assert_eq!(said(&mut next), []);
    assert!(matches!(&said(&mut observer)[..], [Hint::Seen(Sight::Held(bar))] if bar.tenure.is_none()));
    clock.jump(LEASE);
    assert_eq!(said(&mut next), [Hint::Vacant]);
    assert!(matches!(&said(&mut observer)[..], [Hint::Seen(sight)] if sight.is_of(other.tenure())));
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_told_that_it_lags() {
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    let mut watch = armed(&store, one.seat(), None).await;
    let mut quick = armed(&store, one.seat(), None).await;
    for _ in 0..PATIENCE {
        grant(stand(&store, &one).await);
        store.withdraw(&one).await.unwrap();
        assert_eq!(said(&mut quick).len(), 2);
    }
    assert_eq!(said(&mut watch), [Hint::Lagged]);
    assert_eq!(watch.next().await, None, "then it ends");
    assert_eq!(watch.next().await, None);
    store.inner().store().apply(|_, watchers, _| assert_eq!(watchers.count(), 1, "and nothing is left of it"));
}

#[tokio::test]
async fn a_watch_that_has_ended_is_nothing_to_those_that_came_after_it() {
    let store = MemoryBackend::new();
    let mut ended = armed(&store, &seat("office"), None).await;
    store.faults().sever();
    assert_eq!(said(&mut ended), [Hint::Lagged]);
    assert_eq!(ended.next().now_or_never(), Some(None));
    store.faults().heal();
    let mut watch = armed(&store, &seat("office"), None).await;
    grant(stand(&store, &bid("office", 1)).await);
    assert_eq!(ended.next().await, None);
    drop(ended);
    assert!(matches!(said(&mut watch)[..], [Hint::Seen(_)]));
    store.by_hand().remove(&seat("office"));
    assert_eq!(said(&mut watch), [Hint::Vacant]);
}

#[tokio::test]
async fn hints_of_one_kind_are_told_once_with_the_latest_news() {
    let store = MemoryBackend::new();
    let mut watch = armed(&store, &seat("office"), None).await;
    for nonce in 0..100 {
        store.by_hand().overwrite(&seat("office"), &format!("intruder-{nonce}"), LEASE);
    }
    assert!(matches!(&said(&mut watch)[..], [Hint::Seen(Sight::Held(held))] if &*held.holder == "intruder-99"));
}

#[tokio::test]
async fn a_watch_that_is_dropped_is_unsubscribed() {
    let (own, shared) = (MemoryBackend::new(), MemorySessions::new());
    let (one, two) = (armed(&own, &seat("a"), None).await, armed(&own, &seat("a"), None).await);
    let three = armed(&shared, &seat("a"), None).await;
    let counts = || {
        let own = own.inner().store().apply(|_, watchers, _| (watchers.count(), watchers.watches(&seat("a"))));
        (own, shared.inner().store().apply(|_, watchers, _| watchers.count()))
    };
    assert_eq!(counts(), ((2, true), 1));
    drop(one);
    assert_eq!(counts(), ((1, true), 1));
    drop((two, three));
    assert_eq!(counts(), ((0, false), 0));
}
