//! Faults on calls.

use futures_util::{FutureExt, StreamExt};

use super::super::{Operation, Times};
use super::*;
use crate::ErrorKind;
use crate::backend::{Due, Hint};

#[tokio::test]
async fn a_failing_call_writes_nothing_and_says_so() {
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    store.faults().on(Operation::Stand).fail(Times::Next(2));
    for _ in 0..2 {
        let error = stand(&store, &one).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.is_transient() && !error.is_indeterminate());
        assert_eq!((error.election(), error.operation()), (Some("office"), Some("stand")));
        assert_eq!(store.inspect(one.seat()).await.unwrap(), Sight::Vacant(Vacancy::Free));
    }
    grant(stand(&store, &one).await);
    store.faults().refuse(ErrorKind::Denied, Times::UntilCleared);
    for _ in 0..3 {
        let error = store.withdraw(&one).await.unwrap_err();
        assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Denied, false));
    }
    store.faults().clear();
    assert!(store.inspect(one.seat()).await.unwrap().is_of(one.tenure()));
}

#[tokio::test]
async fn a_fault_strikes_the_client_and_the_operation_it_is_set_for() {
    let store = MemoryBackend::new();
    let (same, other) = (store.clone(), store.client());
    let one = bid("office", 1);
    store.faults().on(Operation::Renew).fail(Times::UntilCleared);
    let won = grant(stand(&store, &one).await);
    assert!(renew(&store, &one, &won.version).await.is_err());
    assert!(renew(&same, &one, &won.version).await.is_err(), "a clone is the same client");
    let won = extended(renew(&other, &one, &won.version).await);
    store.faults_for_all().on(Operation::Inspect).fail(Times::Next(2));
    assert!(store.inspect(one.seat()).await.is_err());
    assert!(other.inspect(one.seat()).await.is_err());
    assert!(other.inspect(one.seat()).await.is_ok());
    store.faults().on(Operation::Stand).clear();
    assert!(renew(&store, &one, &won.version).await.is_err(), "another kind of fault was cleared");
    store.faults().on(Operation::Renew).clear();
    extended(renew(&store, &one, &won.version).await);
}

#[tokio::test]
async fn a_lost_request_and_a_lost_answer_look_alike_to_the_caller() {
    // SAFETY 9
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    store.faults().on(Operation::Stand).lose_requests(Times::Next(1));
    store.faults().on(Operation::Stand).lose_answers(Times::Next(1));
    let unsent = stand(&store, &one).await.unwrap_err();
    assert_eq!(store.inspect(one.seat()).await.unwrap(), Sight::Vacant(Vacancy::Free));
    let unheard = stand(&store, &one).await.unwrap_err();
    assert!(store.inspect(one.seat()).await.unwrap().is_of(one.tenure()));
    assert_eq!(unsent.to_string(), unheard.to_string());
    assert!(unsent.is_indeterminate() && unheard.is_indeterminate());
    grant(stand(&store, &one).await);
}

#[tokio::test]
async fn a_delayed_request_is_applied_late_by_the_clock_of_the_store() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let one = bid("office", 1);
    store.faults().on(Operation::Stand).delay_requests(SECOND * 4);
    let mut late = stand(&store, &one);
    assert!(late.as_mut().now_or_never().is_none());
    clock.jump(SECOND * 3);
    assert!(late.as_mut().now_or_never().is_none());
    assert_eq!(store.inspect(one.seat()).await.unwrap(), Sight::Vacant(Vacancy::Free));
    clock.jump(SECOND);
    grant(late.now_or_never().unwrap());
    clock.jump(LEASE - NANO);
    let sight = store.inspect(one.seat()).await.unwrap();
    assert!(sight.is_of(one.tenure()), "its lease began when it was applied, not when it was sent");
}

#[tokio::test]
async fn a_delayed_answer_is_applied_at_once() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let one = bid("office", 1);
    store.faults().on(Operation::Stand).delay_answers(SECOND * 4);
    let mut late = stand(&store, &one);
    assert!(late.as_mut().now_or_never().is_none());
    assert!(store.inspect(one.seat()).await.unwrap().is_of(one.tenure()));
    clock.jump(SECOND * 4);
    grant(late.now_or_never().unwrap());
}

#[tokio::test]
async fn a_delay_passes_on_the_real_clock_too() {
    let store = MemoryBackend::new();
    store.faults().delay_requests(Duration::from_millis(10));
    let started = std::time::Instant::now();
    grant(stand(&store, &bid("office", 1)).await);
    assert!(started.elapsed() >= Duration::from_millis(10));
}

#[tokio::test]
async fn a_hanging_call_is_done_and_answered_when_it_is_released() {
    // SEEDS 17
    let store = MemoryBackend::new();
    let (one, other) = (bid("a", 1), bid("b", 1));
    store.faults().on(Operation::Stand).hang_requests(Times::Next(1));
    let mut unsent = stand(&store, &one);
    assert!(unsent.as_mut().now_or_never().is_none());
    store.faults().on(Operation::Stand).hang_answers(Times::Next(1));
    let mut unheard = stand(&store, &other);
    assert!(unheard.as_mut().now_or_never().is_none());
    assert!(store.inspect(one.seat()).await.unwrap().held().is_none());
    assert!(store.inspect(other.seat()).await.unwrap().held().is_some());
    grant(stand(&store, &bid("c", 1)).await);

    store.faults().on(Operation::Renew).release();
    assert!(unsent.as_mut().now_or_never().is_none(), "another kind of call was released");
    store.faults().release();
    grant(unsent.now_or_never().unwrap());
    grant(unheard.now_or_never().unwrap());
}

#[tokio::test]
async fn clearing_the_faults_lets_hanging_calls_go_and_mends_the_connection() {
    let store = MemoryBackend::new();
    store.faults().hang_requests(Times::UntilCleared);
    let (one, other) = (bid("a", 1), bid("b", 1));
    let (mut first, mut second) = (stand(&store, &one), stand(&store, &other));
    assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
    store.faults().sever();
    store.faults().clear();
    grant(first.now_or_never().unwrap());
    grant(second.now_or_never().unwrap());
    assert!(!store.inner().is_disturbed());
}

#[tokio::test]
async fn delays_add_up_and_a_call_can_be_late_and_lost() {
    let clock = ManualClock::new();
    let store = MemoryBackend::with_clock(clock.clone());
    let one = bid("office", 1);
    store.faults().delay_requests(SECOND);
    store.faults_for_all().delay_requests(SECOND);
    store.faults().on(Operation::Stand).lose_answers(Times::Next(1));
    let mut call = stand(&store, &one);
    for _ in 0..2 {
        assert!(call.as_mut().now_or_never().is_none());
        clock.jump(SECOND);
    }
    assert!(call.now_or_never().unwrap().unwrap_err().is_indeterminate());
    store.faults().clear();
    store.faults_for_all().clear();
    assert!(store.inspect(one.seat()).await.unwrap().is_of(one.tenure()));
}

#[tokio::test]
async fn a_severed_client_is_cut_off_until_it_is_healed_and_others_are_not() {
    let (own, shared) = (MemoryBackend::new(), MemorySessions::new());
    let others = (own.client(), shared.client());
    let pairs =
        [(&own as &dyn Backend, own.faults(), &others.0 as &dyn Backend), (&shared, shared.faults(), &others.1)];
    for (store, faults, other) in pairs {
        let one = bid("office", 1);
        grant(stand(store, &one).await);
        let mut watch = store.watch(one.seat(), None).await.unwrap();
        let mut elsewhere = other.watch(one.seat(), None).await.unwrap();
        faults.sever();
        let error = store.inspect(one.seat()).await.unwrap_err();
        assert_eq!((error.kind(), error.is_indeterminate()), (ErrorKind::Unavailable, false));
        assert!(store.administer().unwrap().list("").await.is_err());
        assert!(store.watch(one.seat(), None).await.is_err());
        for hint in [Some(Hint::Armed), Some(Hint::Lagged), None] {
            assert_eq!(watch.next().now_or_never(), Some(hint), "then it ends");
        }
        assert_eq!(elsewhere.next().await, Some(Hint::Armed));
        assert!(elsewhere.next().now_or_never().is_none(), "the others' watches stand");
        assert!(other.inspect(one.seat()).await.unwrap().is_of(one.tenure()));
        faults.heal();
        assert!(store.inspect(one.seat()).await.is_ok());
    }
}

#[tokio::test]
async fn a_store_that_is_down_is_down_for_all() {
    let store = MemoryBackend::new();
    let other = store.client();
    let mut watch = other.watch(&seat("office"), None).await.unwrap();
    store.faults_for_all().sever();
    assert!(stand(&store, &bid("office", 1)).await.is_err());
    assert!(stand(&other, &bid("office", 1)).await.is_err());
    assert_eq!(watch.next().now_or_never(), Some(Some(Hint::Armed)));
    assert_eq!(watch.next().now_or_never(), Some(Some(Hint::Lagged)));
    other.faults_for_all().clear();
    grant(stand(&other, &bid("office", 1)).await);
}

#[tokio::test]
async fn a_call_under_way_when_the_connection_is_cut_has_an_unknown_outcome() {
    let store = MemoryBackend::new();
    let one = bid("office", 1);
    store.faults().hang_answers(Times::Next(1));
    let mut call = stand(&store, &one);
    assert!(call.as_mut().now_or_never().is_none());
    store.faults().sever();
    store.faults().release();
    assert!(call.now_or_never().unwrap().unwrap_err().is_indeterminate());
}

#[tokio::test]
async fn a_fault_strikes_one_renewal_of_a_batch_like_one_alone() {
    let store = MemoryBackend::new();
    let bids: Vec<_> = (0..4).map(|number| bid(&format!("seat/{number}"), 1)).collect();
    let mut due = Vec::new();
    for bid in &bids {
        let version = grant(stand(&store, bid).await).version;
        due.push(Due { bid: bid.clone(), version, attempt: sent(Moment::ZERO) });
    }
    store.faults().on(Operation::Renew).fail(Times::Next(1));
    let answers = store.renew_many(&due).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 1);
    assert_eq!(answers.len(), 4);
}
