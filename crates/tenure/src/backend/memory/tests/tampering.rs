//! What is done to a store by hand.

use futures_util::StreamExt;

use super::*;
use crate::backend::{Beat, Hint};

#[tokio::test]
async fn a_wiped_store_has_no_records_a_new_incarnation_and_starts_counting_again() {
    // SAFETY 18
    let (own, shared) = (MemoryBackend::new(), MemorySessions::new());
    for (store, hand) in [(&own as &dyn Backend, own.by_hand()), (&shared, shared.by_hand())] {
        let one = bid("office", 1);
        let before = grant(stand(store, &one).await);
        let mut watch = store.watch(one.seat(), Some(&one)).await.unwrap();
        hand.wipe();
        assert_eq!(store.inspect(one.seat()).await.unwrap(), Sight::Vacant(Vacancy::Free));
        assert_eq!((watch.next().await, watch.next().await), (Some(Hint::Armed), Some(Hint::Vacant)));
        assert!(matches!(renew(store, &one, &before.version).await, Ok(Renewal::Mismatch(Sight::Vacant(_)))));
        let after = grant(stand(store, &bid("office", 2)).await);
        assert_ne!(after.incarnation, before.incarnation);
        assert_eq!(after.token, before.token, "both were the first write of their store");
        if let Cover::Shared { session, .. } = before.cover {
            assert_eq!(store.heartbeat(session, sent(Moment::ZERO)).await.unwrap(), Beat::Lost);
        }
    }
}

#[tokio::test]
async fn a_rewound_store_is_the_same_but_for_its_counter() {
    // SAFETY 18
    let (own, shared) = (MemoryBackend::new(), MemorySessions::new());
    for (store, hand) in [(&own as &dyn Backend, own.by_hand()), (&shared, shared.by_hand())] {
        grant(stand(store, &bid("kept", 1)).await);
        let before = grant(stand(store, &bid("office", 1)).await);
        store.withdraw(&bid("office", 1)).await.unwrap();
        hand.rewind(u64::MAX);
        let after = grant(stand(store, &bid("office", 1)).await);
        assert!(after.token < before.token);
        assert_eq!(after.incarnation, before.incarnation);
        assert!(store.inspect(&seat("kept")).await.unwrap().is_of(TenureId::new(1, 1)));
    }
}

#[tokio::test]
async fn a_record_removed_by_hand_is_no_release() {
    // SAFETY 14
    let (own, shared) = (MemoryBackend::new(), MemorySessions::new());
    let other = shared.client();
    grant(stand(&own, &bid("office", 1)).await);
    own.by_hand().remove(&seat("office"));
    assert_eq!(grant(stand(&own, &bid("office", 2)).await).over, Vacancy::Removed);

    grant(stand(&shared, &bid("office", 1)).await);
    queued(stand(&other, &bid("office", 2)).await);
    shared.by_hand().remove(&seat("office"));
    assert_eq!(grant(stand(&other, &bid("office", 2)).await).over, Vacancy::Removed);

    for hand in [own.by_hand(), shared.by_hand()] {
        hand.remove(&seat("nobody"));
        hand.expire(&seat("nobody"));
    }
    assert_eq!(own.inspect(&seat("nobody")).await.unwrap(), Sight::Vacant(Vacancy::Free));
    assert_eq!(shared.inspect(&seat("nobody")).await.unwrap(), Sight::Vacant(Vacancy::Free));
}

#[tokio::test]
async fn an_overwritten_record_blocks_the_office_until_it_expires() {
    // SEEDS 60
    let clock = ManualClock::new();
    let (own, shared) = (MemoryBackend::with_clock(clock.clone()), MemorySessions::with_clock(clock.clone()));
    for (store, hand) in [(&own as &dyn Backend, own.by_hand()), (&shared, shared.by_hand())] {
        let one = bid_for("office", 1, SECOND * 60);
        let won = grant(stand(store, &one).await);
        hand.overwrite(one.seat(), "intruder", LEASE);
        let Ok(Renewal::Mismatch(Sight::Held(held))) = renew(store, &one, &won.version).await else {
            panic!("it was overwritten");
        };
        assert_eq!((held.tenure, held.token, &*held.holder), (None, None, "intruder"));
        assert_ne!(held.version, won.version);
        store.withdraw(&one).await.unwrap();
        clock.jump(LEASE - NANO);
        assert!(!matches!(stand(store, &one).await.unwrap(), Standing::Elected(_)));
        clock.jump(NANO);
        assert!(grant(stand(store, &one).await).token > won.token);
    }
}

#[tokio::test]
async fn expiring_an_office_ends_the_session_that_covers_it() {
    let (own, shared) = (MemoryBackend::new(), MemorySessions::new());
    grant(stand(&own, &bid("a", 1)).await);
    own.by_hand().expire(&seat("a"));
    assert_eq!(own.inspect(&seat("a")).await.unwrap(), Sight::Vacant(Vacancy::Free));
    grant(stand(&shared, &bid("a", 1)).await);
    grant(stand(&shared, &bid("b", 1)).await);
    shared.by_hand().expire(&seat("a"));
    assert_eq!(shared.inspect(&seat("b")).await.unwrap(), Sight::Vacant(Vacancy::Free));
}

#[tokio::test]
async fn a_bar_can_be_lifted_by_hand() {
    let (own, shared) = (MemoryBackend::new(), MemorySessions::new());
    for lift_by_removal in [true, false] {
        for (store, hand) in [(&own as &dyn Backend, own.by_hand()), (&shared, shared.by_hand())] {
            let one = bid("office", 1);
            grant(stand(store, &one).await);
            store.administer().unwrap().evict(one.seat()).await.unwrap();
            if lift_by_removal {
                hand.remove(one.seat())
            } else {
                hand.expire(one.seat())
            }
            assert_eq!(grant(stand(store, &one).await).over, Vacancy::Removed);
            store.withdraw(&one).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_foreign_hand_overwrites_a_bar_too_and_those_who_wait_keep_their_places() {
    let store = MemorySessions::new();
    let next = store.client();
    let (one, other) = (bid("office", 1), bid("office", 2));
    grant(stand(&store, &one).await);
    queued(stand(&next, &other).await);
    store.administer().unwrap().evict(one.seat()).await.unwrap();
    store.by_hand().overwrite(one.seat(), "intruder", LEASE);
    let sight = store.inspect(one.seat()).await.unwrap();
    assert_eq!(sight.held().map(|held| &*held.holder), Some("intruder"));
    store.by_hand().remove(one.seat());
    assert!(store.inspect(one.seat()).await.unwrap().is_of(other.tenure()));
}
