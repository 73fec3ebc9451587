//! Tenures as their holders live them: guarded work, loss, resignation, endings.

mod common;

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use common::{SECOND, World, eventually};
use tenure::backend::memory::{MemoryBackend, Operation, Times};
use tenure::{Clock, Election, Ending, ErrorKind, Event, Fence, Moment, Tolerance};

/// A clock whose hands can be moved while everybody sleeps: what a process sees that was stopped, before anything of it ran.
#[derive(Clone, Debug, Default)]
struct StoppedProcess(Arc<AtomicU64>);

impl StoppedProcess {
    fn new() -> Self {
        StoppedProcess(Arc::new(AtomicU64::new(1_000_000_000_000)))
    }

    fn jump(&self, span: Duration) {
        self.0.fetch_add(span.as_nanos() as u64, Ordering::SeqCst);
    }
}

impl Clock for StoppedProcess {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.0.load(Ordering::SeqCst))
    }

    fn wait_until<'a>(&'a self, _: Moment) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(pending())
    }
}

#[tokio::test]
async fn a_process_that_wakes_from_a_long_stop_is_not_leader() {
    // SAFETY 7
    let clock = StoppedProcess::new();
    let election = Election::new(MemoryBackend::with_clock(clock.clone()), "office").unwrap();
    let campaign = election.candidate("pod-1").clock(clock.clone()).build().unwrap().start().unwrap();
    let leadership = campaign.wait_for_leadership().await.unwrap();
    let guard = leadership.guard().expect("leading");
    clock.jump(SECOND * 10);
    assert!(campaign.is_leader() && leadership.is_held());
    clock.jump(SECOND);
    assert!(!campaign.is_leader(), "before any thread of tenure had its turn");
    assert!(!leadership.is_held());
    assert!(leadership.deadline().is_none() && leadership.guard().is_none(), "nothing starts after the deadline");
    drop(guard);
}

#[tokio::test]
async fn whoever_listens_hears_of_every_extension() {
    let world = World::new();
    let tenure = world.candidate("pod-1").0.build().unwrap().campaign().await.unwrap();
    let mut events = tenure.events();
    let mut known = tenure.deadline().expect("it leads");
    for _ in 0..3 {
        world.pass(SECOND * 5);
        let (deadline, expiry) = loop {
            if let Some(Event::Extended { deadline, expiry }) = events.next().await {
                break (deadline, expiry);
            }
        };
        assert!(deadline > known, "a renewal moves it on");
        assert_eq!(expiry.since(deadline), SECOND * 2, "the grace lies between the two");
        known = deadline;
    }
}

#[tokio::test]
async fn guarded_work_takes_no_step_after_the_deadline() {
    // SAFETY 5
    let clock = StoppedProcess::new();
    let election = Election::new(MemoryBackend::with_clock(clock.clone()), "office").unwrap();
    let tenure = election.candidate("pod-1").clock(clock.clone()).build().unwrap().campaign().await.unwrap();
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = steps.clone();
    let mut work = Box::pin(tenure.while_held(std::future::poll_fn(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Poll::<()>::Pending
    })));
    let mut poll = || work.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    assert!(poll().is_pending() && poll().is_pending());
    clock.jump(SECOND * 60);
    let Poll::Ready(Err(lost)) = poll() else { panic!("it must end") };
    assert_eq!(lost.kind(), ErrorKind::LeadershipLost);
    assert_eq!(steps.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn work_that_ends_in_time_gives_its_result() {
    let world = World::new();
    let (candidate, _client) = world.candidate("pod-1");
    let tenure = candidate.build().unwrap().campaign().await.unwrap();
    assert_eq!(tenure.while_held(async { 42 }).await.unwrap(), 42);
    assert!(tenure.is_held());
}

#[tokio::test]
async fn work_stops_then_the_office_is_given_up_then_resigning_returns() {
    // SEEDS 18, SAFETY 12
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let campaign = Arc::new(candidate.build().unwrap().start().unwrap());
    let leadership = campaign.wait_for_leadership().await.unwrap();
    let guard = leadership.guard().unwrap();
    let cancelled = leadership.cancellation();
    let resigning = tokio::spawn({
        let campaign = campaign.clone();
        async move { campaign.resign().await }
    });
    cancelled.cancelled().await;
    assert!(!campaign.is_leader(), "loss is signalled first");
    // The work takes its time; the office is kept, and renewed, as long as it does.
    world.pass(SECOND * 60);
    assert_eq!(client.calls().of(Operation::Withdraw), 0, "and the office is kept");
    assert!(client.calls().of(Operation::Renew) >= 10);
    assert!(!resigning.is_finished());
    drop(guard);
    resigning.await.unwrap().unwrap();
    assert_eq!(client.calls().of(Operation::Withdraw), 1);
}

#[tokio::test]
async fn guarded_work_is_dropped_before_the_office_is_handed_on() {
    // SAFETY 12
    struct Tells(Arc<Mutex<Vec<&'static str>>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.lock().unwrap().push("work stopped");
        }
    }
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let order = Arc::new(Mutex::new(Vec::new()));
    let campaign = Arc::new(first.build().unwrap().start().unwrap());
    let leadership = campaign.wait_for_leadership().await.unwrap();
    let work = tokio::spawn({
        let tells = Tells(order.clone());
        let leadership = leadership.clone();
        async move {
            leadership
                .while_held(async move {
                    let _tells = tells;
                    pending::<()>().await
                })
                .await
        }
    });
    let told = order.clone();
    let next = second.build().unwrap().start_with(move |_| told.lock().unwrap().push("next leads")).unwrap();
    eventually("the second waits", || next.incumbent().is_some());
    tokio::time::sleep(Duration::from_millis(20)).await;
    campaign.resign().await.unwrap();
    next.wait_for_leadership().await.unwrap();
    assert_eq!(work.await.unwrap().unwrap_err().kind(), ErrorKind::LeadershipLost);
    eventually("both were told", || order.lock().unwrap().len() == 2);
    assert_eq!(*order.lock().unwrap(), ["work stopped", "next leads"]);
}

#[tokio::test]
async fn a_failed_resignation_does_not_stay_leader_and_says_so() {
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let tenure = candidate.build().unwrap().campaign().await.unwrap();
    client.faults().on(Operation::Withdraw).refuse(ErrorKind::Denied, Times::UntilCleared);
    let leadership = tenure.clone();
    let error = tenure.resign().await.unwrap_err();
    assert!(!leadership.is_held());
    assert!(error.to_string().contains("falls vacant when the lease expires"), "{error}");
}

#[tokio::test]
async fn a_dropped_tenure_resigns_and_a_dropped_campaign_stops() {
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let (third, _three) = world.candidate("pod-3");
    drop(first.build().unwrap().campaign().await.unwrap());
    let campaign = second.build().unwrap().start().unwrap();
    campaign.wait_for_leadership().await.unwrap();
    drop(campaign);
    third.build().unwrap().campaign().await.unwrap();
}

#[tokio::test]
async fn a_campaign_that_its_caller_drops_leaves_nothing_behind() {
    // SAFETY 9: a cancelled attempt to win is withdrawn.
    let world = World::new();
    let (first, one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    one.faults().on(Operation::Stand).hang_answers(Times::Next(1));
    let first = first.build().unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(50), first.campaign()).await.is_err());
    // The bid landed and nobody waits for its answer: it is withdrawn, when it is given up or when the answer comes.
    one.faults().release();
    world.pass(SECOND * 8);
    second.build().unwrap().campaign().await.unwrap();
    eventually("the first is over", || !first.is_running());
}

#[tokio::test]
async fn three_transient_errors_and_then_success_keep_leadership() {
    // SEEDS 13
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let tenure = candidate.build().unwrap().campaign().await.unwrap();
    client.faults().on(Operation::Renew).fail(Times::Next(3));
    world.pass(SECOND * 60);
    assert!(tenure.is_held());
    assert!(client.calls().of(Operation::Renew) > 12);
}

#[tokio::test]
async fn errors_past_the_deadline_lose_leadership_before_the_store_expires_the_record() {
    // SEEDS 14
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let campaign = candidate.build().unwrap().start().unwrap();
    let leadership = campaign.wait_for_leadership().await.unwrap();
    client.faults().on(Operation::Renew).fail(Times::UntilCleared);
    client.faults().on(Operation::Withdraw).fail(Times::UntilCleared);
    let begin = world.clock.now();
    while leadership.is_held() {
        world.pass(SECOND / 4);
    }
    assert_eq!(leadership.ended().await, Ending::Expired);
    assert!(world.clock.now().since(begin) < SECOND * 15);
    let office = Election::new(world.store.client(), "office").unwrap();
    assert!(office.incumbent().await.unwrap().is_some(), "the store has not given it away yet");
}

#[tokio::test]
async fn a_record_that_another_overwrote_ends_leadership_and_is_left_alone() {
    // SEEDS 15
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let campaign = candidate.build().unwrap().start().unwrap();
    let leadership = campaign.wait_for_leadership().await.unwrap();
    let seat = tenure::Seat::new("office").unwrap();
    client.by_hand().overwrite(&seat, "somebody", SECOND * 600);
    world.pass(SECOND * 6);
    assert_eq!(leadership.ended().await, Ending::Deposed);
    world.pass(SECOND * 30);
    let office = Election::new(world.store.client(), "office").unwrap();
    assert_eq!(office.incumbent().await.unwrap().unwrap().name(), "somebody");
}

#[tokio::test]
async fn the_first_error_or_the_nth_can_be_chosen_to_lose() {
    // SEEDS 16
    for (tolerance, failures, lost) in [
        (Tolerance::FirstErrorLoses, 1, true),
        (Tolerance::FailuresLose(3), 2, false),
        (Tolerance::FailuresLose(3), 3, true),
        (Tolerance::UntilDeadline, 3, false),
    ] {
        let world = World::new();
        let (candidate, client) = world.candidate("pod-1");
        let campaign = candidate.tolerance(tolerance).build().unwrap().start().unwrap();
        let leadership = campaign.wait_for_leadership().await.unwrap();
        client.faults().on(Operation::Renew).fail(Times::Next(failures));
        world.pass(SECOND * 9);
        let expected = lost.then_some(Ending::RenewalsFailed);
        assert_eq!(leadership.ending(), expected, "{tolerance:?} after {failures}");
    }
}

#[tokio::test]
async fn a_fenced_resource_refuses_the_former_leader() {
    // SAFETY 19
    let world = World::new();
    let (first, one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let fence = Fence::in_memory();
    let old = first.build().unwrap().campaign().await.unwrap();
    fence.raise(old.token().unwrap()).unwrap();
    one.faults().sever();
    let second = second.build().unwrap();
    let campaign = second.start().unwrap();
    world.pass(SECOND * 20);
    let new = campaign.wait_for_leadership().await.unwrap();
    fence.raise(new.token().unwrap()).unwrap();
    assert!(fence.admit(old.token().unwrap(), || ()).is_err());
}

#[tokio::test]
async fn the_office_is_held_for_its_minimum_although_the_work_was_done_sooner() {
    let world = World::new();
    let (first, one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let tenure = first.at_least(SECOND * 30).build().unwrap().campaign().await.unwrap();
    let next = second.build().unwrap().start().unwrap();
    let resigning = tokio::spawn(tenure.resign());
    world.pass(SECOND * 29);
    assert!(!next.is_leader() && !resigning.is_finished());
    assert!(one.calls().of(Operation::Renew) >= 5, "and it is renewed meanwhile");
    world.pass(SECOND * 2);
    resigning.await.unwrap().unwrap();
    next.wait_for_leadership().await.unwrap();
}

#[tokio::test]
async fn unguarded_work_has_the_whole_grace_before_the_office_is_handed_on() {
    // I1, grace included: nobody said when the work stopped.
    let world = World::new();
    let (first, one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let losing = first.build().unwrap().start().unwrap();
    let leadership = losing.wait_for_leadership().await.unwrap();
    let next = second.build().unwrap().start().unwrap();
    let led = Arc::new(AtomicBool::new(false));
    one.faults().on(Operation::Renew).fail(Times::UntilCleared);
    let mut lost_at = None;
    while !next.is_leader() {
        world.pass(SECOND / 10);
        if !leadership.is_held() {
            lost_at.get_or_insert(world.clock.now());
        }
    }
    led.store(true, Ordering::SeqCst);
    let waited = world.clock.now().since(lost_at.expect("the first lost before the second led"));
    assert!(waited >= SECOND * 19 / 10, "{waited:?}");
}

#[tokio::test]
async fn a_driver_that_panics_ends_every_tenure_and_nothing_hangs() {
    #[derive(Debug, Clone)]
    struct Bomb {
        clock: StoppedProcess,
        armed: Arc<AtomicBool>,
    }
    impl Clock for Bomb {
        fn now(&self) -> Moment {
            let driver = std::thread::current().name() == Some("tenure");
            assert!(!(driver && self.armed.load(Ordering::SeqCst)), "the clock breaks under the driver");
            self.clock.now()
        }
        fn wait_until<'a>(&'a self, moment: Moment) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
            self.clock.wait_until(moment)
        }
    }
    let clock = Bomb { clock: StoppedProcess::new(), armed: Arc::default() };
    let election = Election::new(MemoryBackend::new(), "office").unwrap();
    let candidate = election.candidate("pod-1").clock(clock.clone()).build().unwrap();
    let campaign = candidate.start().unwrap();
    let leadership = campaign.wait_for_leadership().await.unwrap();
    clock.armed.store(true, Ordering::SeqCst);
    campaign.set_healthy(true);
    assert_eq!(leadership.ended().await, Ending::DriverFailed);
    assert!(!campaign.is_leader());
    campaign.stop().await.unwrap();
    assert_eq!(campaign.wait_for_leadership().await.unwrap_err().kind(), ErrorKind::Closed);
    // Another driver serves whoever comes next.
    clock.armed.store(false, Ordering::SeqCst);
    let after = Election::new(MemoryBackend::new(), "office").unwrap();
    after.candidate("pod-1").clock(clock).build().unwrap().campaign().await.unwrap();
}

#[tokio::test]
async fn a_lost_tenure_is_won_again_with_a_higher_token() {
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let campaign = candidate.build().unwrap().start().unwrap();
    let mut last = None;
    for _ in 0..5 {
        let leadership = campaign.wait_for_leadership().await.unwrap();
        assert!(leadership.token() > last);
        last = leadership.token();
        client.faults().sever();
        world.pass(SECOND * 20);
        assert!(!leadership.is_held());
        client.faults().heal();
        world.pass(SECOND * 12);
    }
}

#[tokio::test]
async fn a_candidate_remembers_tokens_from_one_campaign_to_the_next() {
    // SAFETY 18
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let candidate = candidate.build().unwrap();
    for _ in 0..3 {
        candidate.campaign().await.unwrap().resign().await.unwrap();
    }
    client.by_hand().rewind(2);
    let refused = candidate.campaign().await.expect_err("it remembers a higher one");
    assert_eq!(refused.kind(), ErrorKind::TokenWentBack);
    // Once the numbers have passed what it remembers, it goes on.
    for _ in 0..3 {
        world.candidate("pod-2").0.build().unwrap().campaign().await.unwrap().resign().await.unwrap();
    }
    candidate.campaign().await.unwrap();
}

#[tokio::test]
async fn a_new_process_can_be_told_which_tokens_are_past() {
    // SAFETY 18
    let world = World::new();
    let seen = world.candidate("pod-1").0.build().unwrap().campaign().await.unwrap().token().unwrap();
    let (candidate, client) = world.candidate("pod-1");
    client.by_hand().rewind(1);
    let refused = candidate.above(seen).build().unwrap().campaign().await.expect_err("it was told of it");
    assert_eq!(refused.kind(), ErrorKind::TokenWentBack);
    assert!(world.candidate("pod-1").0.above(seen).build().unwrap().campaign().await.unwrap().token() > Some(seen));
}

#[tokio::test]
async fn a_wiped_store_is_refused_and_alarmed_by_those_who_remember() {
    // SAFETY 18
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let campaign = candidate.build().unwrap().start().unwrap();
    campaign.wait_for_leadership().await.unwrap();
    client.by_hand().wipe();
    world.pass(SECOND * 60);
    assert!(!campaign.is_leader());
    let error = campaign.last_error().expect("it says why");
    assert_eq!(error.kind(), ErrorKind::TokenWentBack);
    assert!(error.to_string().contains("token base"), "{error}");
    // A new process remembers nothing, and leads.
    let office = Election::new(world.store.client(), "office").unwrap().with_token_base(1_000_000);
    let based = office.candidate("pod-2").clock(world.clock.clone()).build().unwrap().campaign().await.unwrap();
    assert!(based.token().unwrap().get() > 1_000_000);
    assert_eq!(office.incumbent().await.unwrap().unwrap().token(), based.token(), "observers count the base in too");
}

#[tokio::test]
async fn work_on_a_cancellation_token_keeps_its_grace_although_other_work_used_a_guard() {
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let first = first.build().unwrap();
    let losing = first.start().unwrap();
    let leadership = losing.wait_for_leadership().await.unwrap();
    drop(leadership.guard().unwrap());
    let cancelled = leadership.cancellation();
    let next = second.build().unwrap().start().unwrap();
    eventually("the second waits", || next.incumbent().is_some());
    first.set_healthy(false);
    cancelled.cancelled().await;
    world.pass(SECOND * 3 / 2);
    assert!(!next.is_leader(), "the grace of two seconds is not over");
    world.pass(SECOND);
    next.wait_for_leadership().await.unwrap();
}

#[tokio::test]
async fn a_stop_that_leaves_a_record_behind_says_so() {
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    client.faults().on(Operation::Stand).hang_answers(Times::UntilCleared);
    client.faults().on(Operation::Withdraw).fail(Times::UntilCleared);
    let campaign = Arc::new(candidate.build().unwrap().start().unwrap());
    eventually("the bid is under way", || client.calls().of(Operation::Stand) == 1);
    let stopping = tokio::spawn({
        let campaign = campaign.clone();
        async move { campaign.stop().await }
    });
    while !stopping.is_finished() {
        world.pass(SECOND);
        tokio::task::yield_now().await;
    }
    let error = stopping.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("did not confirm"), "{error}");
}

/// A backend that panics, in the call itself or in its watch.
#[derive(Debug)]
struct Panics(MemoryBackend);

impl tenure::Backend for Panics {
    fn traits(&self) -> tenure::backend::Traits {
        self.0.traits()
    }

    fn place(&self) -> String {
        self.0.place()
    }

    fn stand<'a>(
        &'a self,
        bid: &'a tenure::backend::Bid,
        attempt: tenure::backend::Attempt,
    ) -> tenure::backend::Answer<'a, tenure::backend::Standing> {
        self.0.stand(bid, attempt)
    }

    fn renew<'a>(
        &'a self,
        _: &'a tenure::backend::Bid,
        _: &'a tenure::backend::Version,
        _: tenure::backend::Attempt,
    ) -> tenure::backend::Answer<'a, tenure::backend::Renewal> {
        panic!("before there is a future")
    }

    fn withdraw<'a>(&'a self, bid: &'a tenure::backend::Bid) -> tenure::backend::Answer<'a, ()> {
        self.0.withdraw(bid)
    }

    fn inspect<'a>(&'a self, seat: &'a tenure::Seat) -> tenure::backend::Answer<'a, tenure::backend::Sight> {
        self.0.inspect(seat)
    }

    fn watch<'a>(
        &'a self,
        _: &'a tenure::Seat,
        _: Option<&'a tenure::backend::Bid>,
    ) -> tenure::backend::Answer<'a, tenure::backend::Watch> {
        let stream =
            futures_util::stream::poll_fn(|_| -> Poll<Option<tenure::backend::Hint>> { panic!("in its watch") });
        Box::pin(async { Ok(Box::pin(stream) as tenure::backend::Watch) })
    }
}

#[tokio::test]
async fn a_backend_that_panics_harms_nobody_else() {
    let world = World::new();
    let (healthy, _client) = world.candidate("pod-1");
    let healthy = healthy.build().unwrap().campaign().await.unwrap();
    let faulty = Election::new(Panics(world.store.client()), "other").unwrap();
    let leads = faulty.candidate("pod-2").clock(world.clock.clone()).build().unwrap().start().unwrap();
    let lost = leads.wait_for_leadership().await.unwrap();
    let rival = Election::new(Panics(world.store.client()), "other").unwrap();
    let _waits = rival.candidate("pod-3").clock(world.clock.clone()).build().unwrap().start().unwrap();
    world.pass(SECOND * 14);
    assert!(healthy.is_held(), "another's backend is not ours");
    assert_eq!(lost.ending(), Some(Ending::Expired), "and its own holder loses as if nobody answered");
}
