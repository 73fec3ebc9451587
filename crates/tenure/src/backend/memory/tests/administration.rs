//! Listing, asking to resign, evicting.

use futures_util::{FutureExt, StreamExt};

use super::*;
use crate::backend::{Administer, Evicted, Expiry, Hint};

fn office(store: &dyn Backend) -> &dyn Administer {
    store.administer().expect("a memory store can be administered")
}

#[tokio::test]
async fn elections_are_listed_by_name_under_a_prefix() {
    let (own, shared) = (MemoryBackend::new(), MemorySessions::new());
    for store in [&own as &dyn Backend, &shared] {
        for name in ["b/2", "a/1", "b/1", "c"] {
            grant(stand(store, &bid(name, 1)).await);
        }
        store.withdraw(&bid("b/2", 1)).await.unwrap();
        let listed = office(store).list("b/").await.unwrap();
        let names: Vec<_> = listed.iter().map(|(seat, _)| seat.as_str()).collect();
        assert_eq!(names, ["b/1", "b/2"]);
        assert!(listed[0].1.is_of(TenureId::new(1, 1)));
        assert_eq!(listed[1].1, Sight::Vacant(Vacancy::Released { by: TenureId::new(1, 1) }));
        assert_eq!(office(store).list("").await.unwrap().len(), 4);
        assert_eq!(office(store).list("x").await.unwrap(), []);
    }
}

#[tokio::test]
async fn a_holder_that_is_asked_to_resign_finds_that_at_its_next_renewal() {
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    assert!(!office(&store).ask_to_resign(one.seat()).await.unwrap(), "nobody holds it");
    let won = grant(stand(&store, &one).await);
    assert!(!won.asked_to_resign);
    assert!(office(&store.client()).ask_to_resign(one.seat()).await.unwrap());
    let renewed = extended(renew(&store, &one, &won.version).await);
    assert!(renewed.asked_to_resign);
    assert!(extended(renew(&store, &one, &renewed.version).await).asked_to_resign, "the word stays");
    assert!(store.inspect(one.seat()).await.unwrap().held().unwrap().asked_to_resign);
    store.withdraw(&one).await.unwrap();
    assert!(!grant(stand(&store, &bid("office", 2)).await).asked_to_resign, "it was for the last holder");
}

#[tokio::test]
async fn a_holder_on_a_session_is_told_by_its_watch_that_it_was_asked() {
    let store = MemorySessions::new();
    let one = bid("office", 1);
    assert!(!office(&store).ask_to_resign(one.seat()).await.unwrap(), "nobody holds it");
    grant(stand(&store, &one).await);
    let mut watch = store.watch(one.seat(), Some(&one)).await.unwrap();
    assert_eq!(watch.next().await, Some(Hint::Armed));
    assert!(office(&store).ask_to_resign(one.seat()).await.unwrap());
    assert_eq!(watch.next().now_or_never(), Some(Some(Hint::Changed)));
    assert!(store.inspect(one.seat()).await.unwrap().held().unwrap().asked_to_resign);
    assert!(grant(stand(&store, &one).await).asked_to_resign);
}

#[tokio::test]
async fn an_evicted_office_stays_barred_for_the_rest_of_its_lease() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let (one, other) = (bid("office", 1), bid("office", 2));
    assert_eq!(office(&store).evict(one.seat()).await.unwrap(), Evicted::WasVacant);
    let won = grant(stand(&store, &one).await);
    clock.jump(SECOND * 4);
    let barred = |seconds: u32| Evicted::Barred { remaining: SECOND * seconds };
    assert_eq!(office(&store).evict(one.seat()).await.unwrap(), barred(11));

    let Ok(Renewal::Mismatch(sight)) = renew(&store, &one, &won.version).await else {
        panic!("an evicted holder renewed");
    };
    let bar = sight.held().expect("barred is not vacant");
    assert_eq!((bar.tenure, bar.token, &*bar.holder), (None, None, "(evicted: pod-1)"));
    assert_eq!(bar.expiry, Expiry::Store { remaining: Some(SECOND * 11) });
    store.withdraw(&one).await.unwrap();
    held(stand(&store, &one).await);
    held(stand(&store, &other).await);
    held(stand(&store, &displacing("office", 3, bar.version.clone())).await);
    assert!(!office(&store).ask_to_resign(one.seat()).await.unwrap(), "nobody is there to be asked");
    clock.jump(SECOND);
    assert_eq!(office(&store).evict(one.seat()).await.unwrap(), barred(10), "a second time changes nothing");

    clock.jump(SECOND * 10 - NANO);
    held(stand(&store, &other).await);
    clock.jump(NANO);
    let next = grant(stand(&store, &other).await);
    assert_eq!(next.over, Vacancy::Removed, "the evicted holder released nothing");
    assert!(next.token > won.token);
}

#[tokio::test]
async fn an_evicted_office_with_a_queue_stays_barred_for_what_its_session_had_left() {
    let clock = ManualClock::new();
    let store = MemorySessions::with_clock(clock.clone());
    let (rival, late) = (store.client(), store.client());
    let (one, other, third) = (bid("office", 1), bid("office", 2), bid_for("office", 3, SECOND * 60));
    assert_eq!(office(&store).evict(one.seat()).await.unwrap(), Evicted::WasVacant);
    let won = grant(stand(&store, &one).await);
    let kept = bid("kept", 1);
    clock.jump(SECOND * 5);
    queued(stand(&rival, &other).await);
    assert_eq!(office(&rival).evict(one.seat()).await.unwrap(), Evicted::Barred { remaining: SECOND * 10 });
    assert_eq!(office(&rival).evict(one.seat()).await.unwrap(), Evicted::Barred { remaining: SECOND * 10 });

    let sight = queued(stand(&rival, &other).await);
    assert_eq!(sight.held().map(|bar| bar.tenure), Some(None));
    grant(stand(&store, &kept).await); // The session lives on, with what else it carries.
    assert!(matches!(renew(&store, &one, &won.version).await, Ok(Renewal::Mismatch(_))));
    assert!(!office(&store).ask_to_resign(one.seat()).await.unwrap());
    queued(stand(&late, &third).await);
    rival.withdraw(&other).await.unwrap();

    clock.jump(SECOND * 10 - NANO);
    queued(stand(&late, &third).await);
    clock.jump(NANO);
    assert_eq!(grant(stand(&late, &third).await).over, Vacancy::Removed);
    assert!(store.inspect(kept.seat()).await.unwrap().is_of(kept.tenure()));
}
