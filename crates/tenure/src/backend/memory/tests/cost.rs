//! What elections cost the store.

use super::super::Operation;
use super::*;
use crate::backend::Due;

#[tokio::test]
async fn calls_are_counted_by_kind_for_one_client_and_for_all() {
    let store = MemorySessions::new();
    let other = store.client();
    let one = bid("office", 1);
    let won = grant(stand(&store, &one).await);
    let _ = stand(&other, &bid("office", 2)).await;
    let _ = renew(&store, &one, &won.version).await;
    store.inspect(one.seat()).await.unwrap();
    drop(store.watch(one.seat(), None).await.unwrap());
    store.heartbeat(session_of(&won), sent(Moment::ZERO)).await.unwrap();
    store.administer().unwrap().list("").await.unwrap();
    store.faults().sever();
    assert!(store.withdraw(&one).await.is_err(), "it counts all the same");
    for operation in Operation::ALL {
        assert_eq!(store.calls().of(operation), 1, "{operation:?}");
        let all = if operation == Operation::Stand { 2 } else { 1 };
        assert_eq!(store.calls_of_all().of(operation), all, "{operation:?}");
    }
    assert_eq!((store.calls().total(), other.calls().total(), other.calls_of_all().total()), (7, 1, 8));
}

#[tokio::test]
async fn a_batch_of_renewals_is_answered_in_order_and_counts_as_one_batch() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let mut due = Vec::new();
    for number in 0..5 {
        let bid = bid(&format!("seat/{number}"), number);
        let version = grant(stand(&store, &bid).await).version;
        due.push(Due { bid, version, attempt: sent(clock.now()) });
    }
    due[3].version = Version::number(999);
    due[4].bid = bid_for("seat/4", 4, Duration::ZERO);
    clock.jump(SECOND * 10);
    let answers = store.renew_many(&due).await;
    assert_eq!(answers.len(), 5);
    for (one, answer) in due.iter().zip(answers).take(3) {
        let renewed = extended(answer);
        assert_eq!(renewed.tenure, one.bid.tenure());
        assert_ne!(renewed.version, one.version);
    }
    let answers = store.renew_many(&due[3..]).await;
    assert!(matches!(&answers[0], Ok(Renewal::Mismatch(sight)) if sight.is_of(due[3].bid.tenure())));
    let error = answers[1].as_ref().unwrap_err();
    assert_eq!((error.election(), error.operation()), (Some("seat/4"), Some("renew")));
    assert_eq!((store.calls().of(Operation::Renew), store.calls().batches()), (7, 2));
    clock.jump(SECOND * 14);
    assert!(store.inspect(due[0].bid.seat()).await.unwrap().held().is_some());
    assert!(store.inspect(due[3].bid.seat()).await.unwrap().held().is_none());
}

#[tokio::test]
async fn names_that_are_used_once_do_not_add_up() {
    let clock = ManualClock::new();
    let (own, shared) = (MemoryBackend::with_clock(clock.clone()), MemorySessions::with_clock(clock.clone()));
    for number in 0..20_000 {
        let bid = bid_for(&format!("job/{number}"), 1, SECOND);
        for store in [&own as &dyn Backend, &shared] {
            grant(stand(store, &bid).await);
        }
        clock.jump(SECOND);
    }
    let size = own.inner().store().apply(|table, _, _| table.size());
    assert!(size <= 2_048, "{size}");
    let (queues, sessions) = shared.inner().store().apply(|table, _, _| table.size());
    assert!(queues <= 2_048 && sessions <= 1, "{queues} {sessions}");
}

#[tokio::test]
async fn a_word_of_release_is_forgotten_once_no_lease_can_have_lasted_that_long() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let one = bid("office", 1);
    grant(stand(&store, &one).await);
    store.withdraw(&one).await.unwrap();
    clock.jump(Timing::LONGEST_LEASE - NANO);
    assert_eq!(store.inspect(one.seat()).await.unwrap(), Sight::Vacant(Vacancy::Released { by: one.tenure() }));
    clock.jump(NANO);
    assert_eq!(store.inspect(one.seat()).await.unwrap(), Sight::Vacant(Vacancy::Free));
}
