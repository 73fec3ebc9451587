//! Records with a lease of their own.

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;

use super::*;
use crate::ErrorKind;
use crate::backend::{Expiry, Held};

#[tokio::test]
async fn of_many_concurrent_bids_on_an_absent_or_expired_record_exactly_one_wins() {
    // SEEDS 1
    const CANDIDATES: u64 = 8;
    for time in Time::both() {
        let store = time.store();
        for round in 0..3 {
            let barrier = Barrier::new(CANDIDATES as usize);
            let winners = thread::scope(|scope| {
                let candidates: Vec<_> = (1..=CANDIDATES)
                    .map(|nonce| {
                        let (client, barrier) = (store.client(), &barrier);
                        scope.spawn(move || {
                            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                            let bid = bid("office", nonce + round * CANDIDATES);
                            barrier.wait();
                            let standing = runtime.block_on(stand(&client, &bid)).unwrap();
                            matches!(standing, Standing::Elected(_))
                        })
                    })
                    .collect();
                candidates.into_iter().map(|candidate| candidate.join().unwrap()).filter(|won| *won).count()
            });
            assert_eq!(winners, 1, "round {round}");
            match &time {
                Time::Manual(clock) => clock.jump(LEASE),
                Time::Real => store.by_hand().expire(&seat("office")),
            }
        }
    }
}

#[tokio::test]
async fn a_renewal_needs_an_unexpired_match_and_sets_the_lease_anew() {
    // SEEDS 2
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let (one, other) = (bid("office", 1), bid("office", 2));
    let won = grant(stand(&store, &one).await);
    clock.jump(SECOND * 10);
    let renewed = extended(renew(&store, &one, &won.version).await);
    assert_ne!(renewed.version, won.version);
    assert_eq!((renewed.tenure, renewed.token, renewed.over), (won.tenure, won.token, won.over));
    clock.jump(SECOND * 14);
    let before = store.inspect(one.seat()).await.unwrap();
    assert!(before.is_of(one.tenure()), "it lives a full lease from the renewal: {before:?}");

    for (bid, version) in [(&one, &won.version), (&other, &renewed.version), (&one, &Version::text("x"))] {
        let Ok(Renewal::Mismatch(sight)) = renew(&store, bid, version).await else {
            panic!("{bid:?} with {version:?} must not renew")
        };
        assert!(sight.is_of(one.tenure()), "it is told what is there");
    }
    assert_eq!(store.inspect(one.seat()).await.unwrap(), before, "nothing was written");

    clock.jump(SECOND);
    let late = renew(&store, &one, &renewed.version).await.unwrap();
    assert_eq!(late, Renewal::Mismatch(Sight::Vacant(Vacancy::Free)));
}

#[tokio::test]
async fn a_renewal_never_creates_a_record() {
    // SAFETY 9
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let one = bid("office", 1);
    let vacant = Renewal::Mismatch(Sight::Vacant(Vacancy::Free));
    assert_eq!(renew(&store, &one, &Version::number(1)).await.unwrap(), vacant);
    let won = grant(stand(&store, &one).await);
    clock.jump(LEASE);
    assert_eq!(renew(&store, &one, &won.version).await.unwrap(), vacant);
    assert_eq!(store.inspect(one.seat()).await.unwrap(), Sight::Vacant(Vacancy::Free));
}

#[tokio::test]
async fn a_withdrawal_removes_its_own_unexpired_tenure_and_no_other() {
    // SEEDS 3, SEEDS 19
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let (one, other) = (bid("office", 1), bid("office", 2));
    store.withdraw(&one).await.unwrap();
    grant(stand(&store, &one).await);
    store.withdraw(&other).await.unwrap();
    assert!(store.inspect(one.seat()).await.unwrap().is_of(one.tenure()));
    clock.jump(LEASE);
    store.withdraw(&one).await.unwrap();
    assert_eq!(
        store.inspect(one.seat()).await.unwrap(),
        Sight::Vacant(Vacancy::Free),
        "it expired, nobody released it"
    );
    grant(stand(&store, &other).await);
    for _ in 0..2 {
        store.withdraw(&other).await.unwrap();
        let released = Sight::Vacant(Vacancy::Released { by: other.tenure() });
        assert_eq!(store.inspect(one.seat()).await.unwrap(), released);
    }
}

#[tokio::test]
async fn a_withdrawal_finds_a_renewal_whose_answer_was_lost() {
    // SAFETY 9: the version moved on and nobody knows; the tenure id did not.
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    let won = grant(stand(&store, &one).await);
    store.faults().lose_answers(super::super::Times::Next(1));
    assert!(renew(&store, &one, &won.version).await.unwrap_err().is_indeterminate());
    store.withdraw(&one).await.unwrap();
    assert_eq!(store.inspect(one.seat()).await.unwrap().held(), None);
}

#[tokio::test]
async fn losing_is_a_value_and_only_a_failure_is_an_error() {
    // SEEDS 4
    let store = MemoryBackend::new();
    let (one, other) = (bid("office", 1), bid("office", 2));
    let won = grant(stand(&store, &one).await);
    let sight = held(stand(&store, &other).await);
    assert!(sight.is_of(one.tenure()));
    assert!(matches!(renew(&store, &other, &won.version).await, Ok(Renewal::Mismatch(_))));
    store.withdraw(&other).await.unwrap();
    let error = stand(&store, &bid_for("office", 2, Duration::ZERO)).await.unwrap_err();
    assert_eq!((error.election(), error.operation()), (Some("office"), Some("stand")));
}

#[tokio::test]
async fn a_record_is_expired_at_exactly_its_expiry() {
    // SEEDS 5
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let (one, other) = (bid("office", 1), bid("office", 2));
    grant(stand(&store, &one).await);
    clock.jump(LEASE - NANO);
    assert!(held(stand(&store, &other).await).is_of(one.tenure()), "a nanosecond before");
    clock.jump(NANO);
    assert_eq!(store.inspect(one.seat()).await.unwrap(), Sight::Vacant(Vacancy::Free));
    grant(stand(&store, &other).await);
}

#[tokio::test]
async fn a_lease_of_nothing_is_refused_and_no_lease_is_cut() {
    // SEEDS 6
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let error = stand(&store, &bid_for("office", 1, Duration::ZERO)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(!error.is_indeterminate());
    assert_eq!(store.inspect(&seat("office")).await.unwrap(), Sight::Vacant(Vacancy::Free));
    let odd = Duration::from_millis(1500) + NANO;
    let won = grant(stand(&store, &bid_for("office", 1, odd)).await);
    assert_eq!(won.cover, Cover::Own { ttl: odd });
    clock.jump(odd - NANO);
    assert!(store.inspect(&seat("office")).await.unwrap().held().is_some());
}

#[tokio::test]
async fn after_a_release_another_wins_at_once_and_is_told_who_released() {
    // SEEDS 20
    let store = MemoryBackend::new();
    let (one, other) = (bid("office", 1), bid("office", 2));
    assert_eq!(grant(stand(&store, &one).await).over, Vacancy::Free);
    store.withdraw(&one).await.unwrap();
    let won = grant(stand(&store.client(), &other).await);
    assert_eq!(won.over, Vacancy::Released { by: one.tenure() });
}

#[tokio::test]
async fn independent_elections_do_not_disturb_each_other() {
    // SEEDS 24
    let store = MemoryBackend::new();
    let (one, other) = (bid("a", 1), bid("b", 2));
    let first = grant(stand(&store, &one).await);
    grant(stand(&store, &other).await);
    store.withdraw(&other).await.unwrap();
    let sight = store.inspect(one.seat()).await.unwrap();
    assert_eq!(sight.held().map(|held| &held.version), Some(&first.version));
    store.by_hand().remove(other.seat());
    extended(renew(&store, &one, &first.version).await);
}

#[tokio::test]
async fn standing_again_for_the_same_tenure_extends_it_and_is_the_same_win() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let one = bid("office", 1);
    let won = grant(stand(&store, &one).await);
    clock.jump(SECOND * 14);
    let again = grant(stand(&store, &one).await);
    assert_eq!((again.token, again.over), (won.token, won.over));
    clock.jump(SECOND * 14);
    assert!(store.inspect(one.seat()).await.unwrap().is_of(one.tenure()));
}

#[tokio::test]
async fn a_record_is_displaced_only_in_the_very_version_that_was_named() {
    // SAFETY 4
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    let first = grant(stand(&store, &one).await);
    let second = extended(renew(&store, &one, &first.version).await);
    held(stand(&store, &displacing("office", 2, first.version)).await);
    let won = grant(stand(&store, &displacing("office", 2, second.version)).await);
    assert_eq!(won.over, Vacancy::Removed, "a displaced holder has released nothing");
    assert!(won.token > first.token);
}

#[tokio::test]
async fn tokens_rise_whatever_becomes_of_the_records() {
    // SAFETY 18, I2
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let mut last = None;
    for count in 1..=12 {
        let bid = nth_bid("office", 1, count);
        let won = grant(stand(&store, &bid).await);
        assert!(won.token.is_some() && won.token > last, "{:?} after {last:?}", won.token);
        assert_eq!(won.incarnation, grant(stand(&store, &nth_bid("other", 1, 1)).await).incarnation);
        last = won.token;
        match count % 4 {
            0 => store.withdraw(&bid).await.unwrap(),
            1 => clock.jump(LEASE),
            2 => store.by_hand().remove(bid.seat()),
            _ => store.by_hand().expire(bid.seat()),
        }
    }
    assert_ne!(
        grant(stand(&store, &bid("x", 1)).await).incarnation,
        grant(stand(&MemoryBackend::new(), &bid("x", 1)).await).incarnation,
        "two stores are two"
    );
}

#[tokio::test]
async fn what_others_see_of_a_record_is_what_its_holder_wrote() {
    // SEEDS 8
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let advertised: Arc<[u8]> = Arc::from(*b"10.0.0.1:80");
    let plan = Arc::new(Plan::clone(&plan("office", 1, LEASE)).advertising(advertised.clone()));
    let won = grant(stand(&store, &Bid::new(plan, TenureId::new(1, 1), None)).await);
    clock.jump(SECOND * 4);
    let Sight::Held(Held { version, tenure, holder, token, since, advertise, asked_to_resign, expiry }) =
        store.client().inspect(&seat("office")).await.unwrap()
    else {
        panic!("vacant");
    };
    assert_eq!((version, tenure, token), (won.version, Some(won.tenure), won.token));
    assert_eq!((&*holder, advertise, asked_to_resign), ("pod-1", advertised, false));
    assert_eq!(expiry, Expiry::Store { remaining: Some(SECOND * 11) });
    assert!(since.is_some());
}

#[tokio::test]
async fn a_store_can_grant_another_lease_than_was_asked() {
    // SAFETY 2a
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone()).granting(SECOND * 5);
    let one = bid("office", 1);
    let won = grant(stand(&store, &one).await);
    assert_eq!(won.cover, Cover::Own { ttl: SECOND * 5 });
    let store = store.granting(SECOND * 7);
    let renewed = extended(renew(&store.client(), &one, &won.version).await);
    assert_eq!(renewed.cover, Cover::Own { ttl: SECOND * 7 });
    clock.jump(SECOND * 7);
    assert_eq!(store.inspect(one.seat()).await.unwrap().held(), None);
    assert!(stand(&store.granting(Duration::ZERO), &one).await.is_err());
}

#[tokio::test]
async fn no_version_comes_twice() {
    // SAFETY 10
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    let mut version = grant(stand(&store, &one).await).version;
    let mut seen = HashSet::from([version.clone()]);
    for round in 0..20 {
        version = match round % 3 {
            0 => grant(stand(&store, &one).await).version,
            _ => extended(renew(&store, &one, &version).await).version,
        };
        assert!(seen.insert(version.clone()), "{version:?}");
    }
}
