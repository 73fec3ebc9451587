//! The loop in a world of its own: time is tokio's, paused, and runs ahead when nothing else does.

use tokio::sync::mpsc;

use self::rig::{HANG, Plan, Plans, Rig};
use super::*;
use crate::reconcile::SourceFuture;

mod rig;

async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

fn cause(error: &ReconcileError) -> Option<String> {
    std::error::Error::source(error).map(ToString::to_string)
}

// SEEDS 44, 46
#[tokio::test(start_paused = true)]
async fn leadership_is_begun_once_and_ended_once() {
    let rig = Rig::start(Plans::default());
    for told in [State::Leader, State::Leader, State::NotLeader, State::NotLeader] {
        rig.tell(told).await;
        seconds(1).await;
    }
    let (result, log) = rig.end_of_input().await;
    assert_eq!(result.unwrap(), Outcome::SourceEnded);
    assert_eq!(log, [(0, "begin"), (2, "end"), (4, "relinquish")]);
}

// SEEDS 45
#[tokio::test(start_paused = true)]
async fn a_failing_begin_gives_the_office_up_and_runs_again_after_the_error_timeout() {
    let rig = Rig::start(Plans { begin: vec![Plan::Fail], ..Plans::default() });
    rig.tell(State::Leader).await;
    seconds(40).await;
    rig.tell(State::Leader).await;
    seconds(1).await;
    let expected = [(0, "begin"), (0, "error"), (0, "relinquish"), (30, "resume"), (40, "begin")];
    assert_eq!(rig.log(), expected);
}

// SEEDS 45
#[tokio::test(start_paused = true)]
async fn an_error_handler_that_takes_too_long_is_dropped_after_the_error_timeout() {
    let rig = Rig::start(Plans { error: vec![Plan::Take(45)], ..Plans::default() });
    rig.tell(State::Error).await;
    seconds(61).await;
    assert_eq!(rig.log(), [(0, "error"), (30, "relinquish"), (60, "resume")]);
}

// SEEDS 45
#[tokio::test(start_paused = true)]
async fn a_release_that_hangs_is_dropped_after_the_release_timeout() {
    let rig = Rig::start(Plans { relinquish: Some(HANG), ..Plans::default() });
    rig.tell(State::Error).await;
    seconds(33).await;
    assert_eq!(rig.log(), [(0, "error"), (0, "relinquish"), (32, "resume")]);
}

// SEEDS 47
#[tokio::test(start_paused = true)]
async fn an_end_that_keeps_failing_ends_the_run_and_the_office_is_kept() {
    let failures = || (0..12).map(|_| Plan::Fail).collect();
    let rig = Rig::leading(Plans { end: failures(), ..Plans::default() }).await;
    rig.tell(State::Error).await;
    let (result, log) = rig.result().await;
    let error = result.unwrap_err();
    assert_eq!(error.failure(), Some(Failure::EndKeptFailing));
    assert_eq!(cause(&error).as_deref(), Some("end is broken"));
    let tries = (0..12).map(|n| (n * 5, "end"));
    assert_eq!(log, [(0, "begin")].into_iter().chain(tries).collect::<Vec<_>>());
}

// SEEDS 46, 47
#[tokio::test(start_paused = true)]
async fn a_failing_end_is_tried_again_and_then_reported() {
    let rig = Rig::leading(Plans { end: vec![Plan::Fail], ..Plans::default() }).await;
    rig.tell(State::NotLeader).await;
    seconds(36).await;
    let log = rig.log();
    assert_eq!(log[1..], [(0, "end"), (5, "end"), (5, "error"), (5, "relinquish"), (35, "resume")]);
}

// SEEDS 44, 47, and the fault "a handler failure that deadlocks the loop"
#[tokio::test(start_paused = true)]
async fn a_panicking_handler_is_a_failing_handler() {
    let plans = Plans { begin: vec![Plan::Panic], end: vec![Plan::Panic], error: vec![Plan::Panic], relinquish: None };
    let rig = Rig::start(plans);
    rig.tell(State::Leader).await;
    seconds(31).await;
    rig.tell(State::Leader).await;
    seconds(1).await;
    rig.shutdown.cancel();
    let (result, log) = rig.result().await;
    let error = result.unwrap_err();
    assert_eq!(error.failure(), Some(Failure::EndFailed));
    assert_eq!(cause(&error).as_deref(), Some("the handler panicked: end is broken"));
    let names: Vec<_> = log.into_iter().map(|(_, what)| what).collect();
    assert_eq!(names, ["begin", "error", "relinquish", "resume", "begin", "end"]);
}

// The fault "a handler failure that deadlocks the loop"
#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_before_it_returns_its_future_is_a_failing_handler() {
    struct Rash;
    impl Handler for Rash {
        fn begin(&self) -> HandlerFuture<'_> {
            panic!("too early")
        }
        fn end(&self) -> HandlerFuture<'_> {
            unreachable!("nothing was begun")
        }
    }
    let (election, source) = mpsc::channel(1);
    election.send(State::Leader).await.unwrap();
    drop(election);
    let mut reconcile = Reconcile::new(source, Rash, Policy::default());
    let outcome = timeout(Duration::from_secs(3_600), reconcile.run()).await;
    assert_eq!(outcome.unwrap().unwrap(), Outcome::SourceEnded);
}

// SEEDS 44, 46
#[tokio::test(start_paused = true)]
async fn the_source_is_heard_while_a_handler_runs() {
    let rig = Rig::leading(Plans { begin: vec![Plan::Take(10)], ..Plans::default() }).await;
    let spoken = Instant::now();
    for _ in 0..50 {
        rig.tell(State::Leader).await;
        rig.tell(State::NotLeader).await;
    }
    assert!(spoken.elapsed() < Duration::from_secs(1), "nobody listened");
    seconds(11).await;
    assert_eq!(rig.log(), [(0, "begin"), (10, "done"), (10, "end")]);
}

// SEEDS 44
#[tokio::test]
async fn a_source_that_never_stops_talking_does_not_starve_a_handler() {
    struct Chatter(u32);
    impl Source for Chatter {
        fn next(&mut self) -> SourceFuture<'_, Option<State>> {
            self.0 += 1;
            let told = (self.0 < 100_000).then_some(State::Leader);
            Box::pin(std::future::ready(Ok(told)))
        }
        fn relinquish(&mut self) -> SourceFuture<'_, ()> {
            Box::pin(std::future::ready(Ok(())))
        }
        fn resume(&mut self) {}
    }
    struct NeedsTheThread(CancellationToken);
    impl Handler for NeedsTheThread {
        fn begin(&self) -> HandlerFuture<'_> {
            Box::pin(async {
                tokio::spawn(async {}).await?;
                self.0.cancel();
                Ok(())
            })
        }
        fn end(&self) -> HandlerFuture<'_> {
            Box::pin(std::future::ready(Ok(())))
        }
    }
    let begun = CancellationToken::new();
    let mut reconcile = Reconcile::new(Chatter(0), NeedsTheThread(begun.clone()), Policy::default());
    let shutdown = reconcile.shutdown_token();
    let stop_once_begun = async {
        begun.cancelled().await;
        shutdown.cancel();
        std::future::pending().await
    };
    let outcome = tokio::select! {
        outcome = reconcile.run() => outcome,
        () = stop_once_begun => unreachable!("it waits for ever"),
    };
    assert_eq!(outcome.unwrap(), Outcome::ShutDown, "the source came to its end first");
}

// SEEDS 49
#[tokio::test(start_paused = true)]
async fn an_error_of_the_source_ends_the_work_and_the_run_with_that_error() {
    let rig = Rig::leading(Plans::default()).await;
    rig.election.send(Err("etcd is gone".into())).await.unwrap();
    let (result, log) = rig.result().await;
    let error = result.unwrap_err();
    assert!(matches!(error, ReconcileError::Source { failure: None, .. }), "{error:?}");
    assert_eq!(cause(&error).as_deref(), Some("etcd is gone"));
    assert_eq!(log, [(0, "begin"), (0, "end"), (0, "relinquish")]);
}

// SEEDS 49
#[tokio::test(start_paused = true)]
async fn an_error_of_the_source_does_not_hide_that_end_failed() {
    let rig = Rig::leading(Plans { end: vec![Plan::Fail], ..Plans::default() }).await;
    rig.election.send(Err("etcd is gone".into())).await.unwrap();
    let (result, log) = rig.result().await;
    let error = result.unwrap_err();
    assert_eq!(error.failure(), Some(Failure::EndFailed));
    assert_eq!(cause(&error).as_deref(), Some("etcd is gone"));
    assert_eq!(log, [(0, "begin"), (0, "end")]);
}

// SEEDS 49
#[tokio::test(start_paused = true)]
async fn a_release_that_fails_ends_the_run_with_that_error() {
    let rig = Rig::start(Plans { relinquish: Some(Plan::Fail), ..Plans::default() });
    rig.tell(State::Error).await;
    let (result, log) = rig.result().await;
    assert_eq!(cause(&result.unwrap_err()).as_deref(), Some("etcd is gone"));
    assert_eq!(log, [(0, "error"), (0, "relinquish")]);
}

// SEEDS 49
#[tokio::test(start_paused = true)]
async fn a_second_run_is_an_error() {
    let (election, source) = mpsc::channel::<State>(1);
    drop(election);
    struct Idle;
    impl Handler for Idle {
        fn begin(&self) -> HandlerFuture<'_> {
            unreachable!("nothing was said")
        }
        fn end(&self) -> HandlerFuture<'_> {
            unreachable!("nothing was begun")
        }
    }
    let mut reconcile = Reconcile::new(source, Idle, Policy::default());
    let outcome = timeout(Duration::from_secs(3_600), reconcile.run()).await;
    assert_eq!(outcome.unwrap().unwrap(), Outcome::SourceEnded);
    assert!(matches!(reconcile.run().await, Err(ReconcileError::AlreadyRan)));
}

// SEEDS 53
#[tokio::test(start_paused = true)]
async fn the_end_of_the_source_runs_end_when_leading() {
    let rig = Rig::leading(Plans { end: vec![Plan::Take(3)], ..Plans::default() }).await;
    let (result, log) = rig.end_of_input().await;
    assert_eq!(result.unwrap(), Outcome::SourceEnded);
    assert_eq!(log, [(0, "begin"), (0, "end"), (3, "done"), (3, "relinquish")]);
}

// SEEDS 52
#[tokio::test(start_paused = true)]
async fn shutdown_runs_end_once_gives_the_office_up_and_returns() {
    let rig = Rig::leading(Plans { end: vec![Plan::Take(3)], ..Plans::default() }).await;
    seconds(1).await;
    rig.shutdown.cancel();
    let (result, log) = rig.result().await;
    assert_eq!(result.unwrap(), Outcome::ShutDown);
    assert_eq!(log, [(0, "begin"), (1, "end"), (4, "done"), (4, "relinquish")]);
}

// SEEDS 52
#[tokio::test(start_paused = true)]
async fn shutdown_with_an_end_that_fails_returns_an_error_without_release() {
    let rig = Rig::leading(Plans { end: vec![Plan::Fail], ..Plans::default() }).await;
    rig.shutdown.cancel();
    let (result, log) = rig.result().await;
    let error = result.unwrap_err();
    assert_eq!(error.failure(), Some(Failure::EndFailed));
    assert_eq!(cause(&error).as_deref(), Some("end is broken"));
    assert_eq!(log, [(0, "begin"), (0, "end")]);
}

// SEEDS 52
#[tokio::test(start_paused = true)]
async fn shutdown_is_over_within_ten_seconds_whatever_hangs() {
    for (plans, failure) in [
        (Plans { begin: vec![HANG], ..Plans::default() }, Failure::StopTimedOut),
        (Plans { end: vec![HANG], ..Plans::default() }, Failure::StopTimedOut),
        (Plans { end: vec![Plan::Take(6)], relinquish: Some(HANG), ..Plans::default() }, Failure::ReleaseTimedOut),
    ] {
        let rig = Rig::leading(plans).await;
        rig.shutdown.cancel();
        let asked = Instant::now();
        let (result, log) = rig.result().await;
        assert_eq!(result.unwrap_err().failure(), Some(failure));
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        let released = log.iter().any(|(_, what)| *what == "relinquish");
        assert_eq!(released, failure == Failure::ReleaseTimedOut);
    }
}

// SEEDS 52
#[tokio::test(start_paused = true)]
async fn a_release_that_takes_too_long_is_not_blamed_on_an_end_that_failed_before() {
    let plans = Plans { end: vec![Plan::Fail], error: vec![Plan::Take(3)], relinquish: Some(HANG), ..Plans::default() };
    let rig = Rig::leading(plans).await;
    rig.tell(State::Error).await;
    seconds(6).await;
    rig.shutdown.cancel();
    let (result, _) = rig.result().await;
    let error = result.unwrap_err();
    assert_eq!(error.failure(), Some(Failure::ReleaseTimedOut));
    assert_eq!(cause(&error), None);
}
