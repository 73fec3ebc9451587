//! Campaigns as their users run them: in the background, one shot, with a timeout, over several offices.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{SECOND, World, eventually};
use tenure::adapter::MemoryTtl;
use tenure::backend::memory::{MemoryBackend, MemorySessions, Operation, Times};
use tenure::{Change, Election, Elections, Ending, ErrorKind, Event, ForeignPeers, Promise, State, first_free};

#[tokio::test]
async fn a_campaign_leads_renews_for_a_hundred_intervals_and_stops() {
    // SEEDS 11, 28
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let campaign = candidate.build().unwrap().start().unwrap();
    let leadership = campaign.wait_for_leadership().await.unwrap();
    assert!(campaign.is_leader() && leadership.is_held());
    world.pass(SECOND * 500);
    assert!(campaign.is_leader(), "it is the same tenure after a hundred intervals");
    assert!(leadership.is_held());
    let renewals = client.calls().of(Operation::Renew);
    assert!((100..=120).contains(&renewals), "{renewals}");
    campaign.stop().await.unwrap();
    assert!(!campaign.is_leader());
    assert_eq!(leadership.ending(), Some(Ending::Stopped));
}

#[tokio::test]
async fn an_office_that_is_released_is_taken_without_waiting_for_the_lease() {
    // SEEDS 20
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let tenure = first.build().unwrap().campaign().await.unwrap();
    let campaign = second.build().unwrap().start().unwrap();
    eventually("the second sees the first", || {
        campaign.incumbent().is_some_and(|incumbent| incumbent.name() == "pod-1")
    });
    let old = tenure.token();
    tenure.resign().await.unwrap();
    // Not a nanosecond has passed on the clock.
    let leadership = campaign.wait_for_leadership().await.unwrap();
    assert!(leadership.token() > old);
}

#[tokio::test]
async fn is_leader_does_not_block_during_a_hung_call_nor_inside_a_listener() {
    // SEEDS 27
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let campaign = Arc::new(candidate.build().unwrap().start().unwrap());
    campaign.wait_for_leadership().await.unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    campaign.on_change({
        let (campaign, asked) = (Arc::downgrade(&campaign), asked.clone());
        move |change| {
            if let Some(campaign) = campaign.upgrade() {
                // It answers at once; what it says may be newer than the change that is told.
                let _ = (campaign.is_leader(), change);
                asked.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    client.faults().on(Operation::Renew).hang_requests(Times::UntilCleared);
    world.pass(SECOND * 6);
    assert!(client.calls().of(Operation::Renew) > 0, "a renewal hangs");
    assert!(campaign.is_leader(), "and is_leader answers all the same");
    // SEEDS 17: the hung call loses leadership no later than the deadline, counted from the last good send.
    world.pass(SECOND * 5);
    assert!(!campaign.is_leader());
    eventually("gained and lost were heard", || asked.load(Ordering::SeqCst) == 2);
}

#[tokio::test]
async fn waiting_for_leadership_returns_at_once_when_leading_and_an_error_when_over() {
    // SEEDS 29
    let world = World::new();
    let (first, client) = world.candidate("pod-1");
    let (second, _) = world.candidate("pod-2");
    let leader = first.build().unwrap().start().unwrap();
    leader.wait_for_leadership().await.unwrap();
    leader.wait_for_leadership().await.unwrap();
    let follower = second.build().unwrap().start().unwrap();
    let waiting = async { follower.wait_for_leadership().await };
    let stopping = async {
        tokio::task::yield_now().await;
        follower.stop().await
    };
    let (waited, stopped) = tokio::join!(waiting, stopping);
    assert_eq!(waited.unwrap_err().kind(), ErrorKind::Closed);
    stopped.unwrap();
    // Never after leadership is gone again: the store is cut off and the deadline passes.
    client.faults().sever();
    world.pass(SECOND * 11);
    let gone = tokio::time::timeout(Duration::from_millis(50), leader.wait_for_leadership()).await;
    assert!(gone.is_err(), "it does not answer for a tenure that has ended");
}

#[tokio::test]
async fn listeners_hear_alternating_changes_and_a_late_one_the_current_state() {
    // SEEDS 30, 31, 32
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let heard = [Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new()))];
    let record = |heard: &Arc<Mutex<Vec<Change>>>| {
        let heard = heard.clone();
        move |change| heard.lock().unwrap().push(change)
    };
    let campaign = candidate.build().unwrap().start_with(record(&heard[0])).unwrap();
    campaign.wait_for_leadership().await.unwrap();
    campaign.on_change(record(&heard[1]));
    for _ in 0..3 {
        client.faults().sever();
        world.pass(SECOND * 14);
        assert!(!campaign.is_leader());
        client.faults().heal();
        world.pass(SECOND * 12);
        campaign.wait_for_leadership().await.unwrap();
    }
    campaign.stop().await.unwrap();
    for heard in &heard {
        eventually("everything was told", || heard.lock().unwrap().len() == 8);
        let heard = heard.lock().unwrap();
        let leading: Vec<_> = heard.iter().map(|change| change.is_leader()).collect();
        assert_eq!(leading, [true, false, true, false, true, false, true, false]);
        assert_eq!(heard[7], Change::Lost { ending: Ending::Stopped }, "lost is told once on shutdown while leading");
    }
}

#[tokio::test]
async fn a_follower_that_stops_never_hears_that_it_lost() {
    // SEEDS 32
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let _tenure = first.build().unwrap().campaign().await.unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = heard.clone();
    let follower = second
        .build()
        .unwrap()
        .start_with(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    let mut events = follower.events();
    eventually("it stands", || follower.incumbent().is_some());
    follower.stop().await.unwrap();
    while let Some(event) = events.next().await {
        assert!(!matches!(event, Event::Lost { .. } | Event::Elected { .. }), "{event:?}");
    }
    assert_eq!(heard.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_slow_or_panicking_listener_does_not_stop_renewal() {
    // SEEDS 33
    let world = World::new();
    let (candidate, _client) = world.candidate("pod-1");
    let blocked = Arc::new(AtomicBool::new(true));
    let held = blocked.clone();
    let campaign = candidate
        .build()
        .unwrap()
        .start_with(move |_| {
            while held.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            panic!("and then it panics");
        })
        .unwrap();
    campaign.on_change(|_| panic!("a careless listener"));
    campaign.wait_for_leadership().await.unwrap();
    world.pass(SECOND * 60);
    assert!(campaign.is_leader());
    blocked.store(false, Ordering::SeqCst);
}

#[tokio::test]
async fn events_begin_with_the_current_state_and_carry_the_state_before_each_attempt() {
    // SEEDS 31, 36
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    client.faults().on(Operation::Stand).fail(Times::Next(2));
    let campaign = candidate.build().unwrap().start().unwrap();
    let mut events = campaign.events();
    assert!(matches!(events.next().await, Some(Event::Currently { state: State::Candidate, token: None })));
    world.pass(SECOND * 10);
    let leadership = campaign.wait_for_leadership().await.unwrap();
    let mut attempts = 0;
    loop {
        match events.next().await.unwrap() {
            Event::Attempted { was } => {
                assert_eq!(was, State::Candidate);
                attempts += 1;
            }
            Event::Elected { token, .. } => {
                assert_eq!(token, leadership.token());
                break;
            }
            _ => {}
        }
    }
    assert!(attempts >= 1, "{attempts}");
    let mut late = campaign.events();
    let first = late.next().await;
    assert_eq!(first, Some(Event::Currently { state: State::Leader, token: leadership.token() }));
}

#[tokio::test]
async fn a_candidate_runs_once_at_a_time_and_again_after_it_stopped() {
    // SEEDS 37
    let world = World::new();
    let (candidate, _client) = world.candidate("pod-1");
    let candidate = candidate.build().unwrap();
    let campaign = candidate.start().unwrap();
    let again = candidate.start().unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AlreadyRunning);
    assert_eq!(candidate.campaign().await.unwrap_err().kind(), ErrorKind::AlreadyRunning);
    let first = campaign.wait_for_leadership().await.unwrap();
    campaign.stop().await.unwrap();
    assert!(!candidate.is_running());
    let second = candidate.start().unwrap();
    let second = second.wait_for_leadership().await.unwrap();
    assert_ne!(first.id(), second.id(), "another incarnation");
    assert!(second.token() > first.token());
}

#[tokio::test]
async fn cancelling_during_the_splay_makes_no_attempt() {
    // SEEDS 38
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    // The splay is random: a hundred years make it longer than this test in any case.
    let campaign = candidate.splay(SECOND * 3_600 * 24 * 365 * 100).build().unwrap().start().unwrap();
    world.pass(SECOND * 12);
    campaign.stop().await.unwrap();
    assert_eq!(client.calls().total(), 0);
}

#[tokio::test]
async fn a_store_that_is_down_at_the_start_is_tried_until_it_is_up_or_the_campaign_is_cancelled() {
    // SEEDS 43
    let world = World::new();
    let (first, one) = world.candidate("pod-1");
    let (second, two) = world.candidate("pod-2");
    one.faults().sever();
    two.faults().sever();
    let patient = first.build().unwrap().start().unwrap();
    let cancelled = second.build().unwrap().start().unwrap();
    world.pass(SECOND * 60);
    assert!(one.calls().of(Operation::Stand) > 10, "it tried again and again");
    assert!(patient.last_error().unwrap().is_transient());
    cancelled.stop().await.unwrap();
    one.faults().heal();
    world.pass(SECOND * 12);
    patient.wait_for_leadership().await.unwrap();
}

#[tokio::test]
async fn a_campaign_with_a_timeout_ends_with_its_own_error_at_its_deadline() {
    // SEEDS 25
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, two) = world.candidate("pod-2");
    let _tenure = first.build().unwrap().campaign().await.unwrap();
    let second = second.build().unwrap();
    let trying = tokio::spawn({
        let second = second.clone();
        async move { second.campaign_within(SECOND * 30).await }
    });
    while two.calls().of(Operation::Stand) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    world.pass(SECOND * 29);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!trying.is_finished());
    world.pass(SECOND * 2);
    let error = trying.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("office"), "{error}");
    assert!(!second.is_running());
}

#[tokio::test]
async fn one_try_says_held_at_once_and_a_failing_store_is_an_error() {
    // SEEDS 4, 9
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, two) = world.candidate("pod-2");
    let tenure = first.build().unwrap().try_campaign().await.unwrap().expect("it was free");
    let second = second.build().unwrap();
    assert!(second.try_campaign().await.unwrap().is_none());
    two.faults().sever();
    assert_eq!(second.try_campaign().await.unwrap_err().kind(), ErrorKind::Unavailable);
    two.faults().heal();
    tenure.resign().await.unwrap();
    assert!(second.try_campaign().await.unwrap().is_some());
}

#[tokio::test]
async fn a_refusal_for_good_ends_a_one_shot_campaign_with_what_the_store_said() {
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    client.faults().on(Operation::Stand).refuse(ErrorKind::Denied, Times::UntilCleared);
    let error = candidate.build().unwrap().campaign().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert_eq!(error.election(), Some("office"));
}

#[tokio::test]
async fn the_first_free_of_several_offices_is_taken_and_the_others_are_left() {
    // SEEDS 25
    let world = World::new();
    let slot = |host: &str, number: usize| {
        let election = Election::new(world.store.client(), format!("slot/{number}")).unwrap();
        election.candidate(host).clock(world.clock.clone()).build().unwrap()
    };
    let slots = |host: &str| (0..3).map(|number| slot(host, number)).collect::<Vec<_>>();
    let mut taken = Vec::new();
    let mut tenures = Vec::new();
    for host in ["a", "b", "c"] {
        let (place, tenure) = first_free(&slots(host), Some(SECOND * 30)).await.unwrap();
        taken.push(place);
        tenures.push(tenure);
    }
    assert_eq!(taken, [0, 1, 2]);
    let late = slots("d");
    let fourth = tokio::spawn(async move { first_free(&late, Some(SECOND * 30)).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!fourth.is_finished());
    tenures.remove(1).resign().await.unwrap();
    let (place, _tenure) = fourth.await.unwrap().unwrap();
    assert_eq!(place, 1);
    let none = first_free(&[], None).await.unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidConfig);
}

#[tokio::test]
async fn an_unfit_candidate_gives_the_office_up_and_runs_again_when_it_is_fit() {
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let first = first.build().unwrap();
    let sick = first.start().unwrap();
    let leadership = sick.wait_for_leadership().await.unwrap();
    let other = second.build().unwrap().start().unwrap();
    first.set_healthy(false);
    assert_eq!(leadership.ended().await, Ending::Unhealthy);
    world.pass(SECOND * 12);
    other.wait_for_leadership().await.unwrap();
    eventually("it rests", || sick.state() == State::Resting);
    other.stop().await.unwrap();
    world.pass(SECOND * 60);
    assert!(!sick.is_leader());
    first.set_healthy(true);
    world.pass(SECOND * 12);
    sick.wait_for_leadership().await.unwrap();
}

#[tokio::test]
async fn more_than_the_backend_promises_cannot_be_required() {
    // SAFETY 20
    let office = tenure::Seat::new("office").unwrap();
    let election = Election::new(MemoryBackend::new(), office).unwrap();
    election.candidate("pod-1").require(Promise::Fenced).build().unwrap();
    let shared = election.shared_with(ForeignPeers::StepDownInTime);
    assert_eq!(shared.promise(), Promise::LeaseOnly);
    let refused = shared.candidate("pod-1").require(Promise::Fenced).build().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PromiseTooWeak);
    shared.candidate("pod-1").require(Promise::LeaseOnly).build().unwrap();
}

#[tokio::test]
async fn the_same_election_twice_on_one_session_is_refused_with_a_reason() {
    // SAFETY 21
    let backend: Arc<dyn tenure::Backend> = Arc::new(MemorySessions::new());
    let election = Election::over(backend, "office").unwrap();
    let _first = election.candidate("pod-1").build().unwrap().campaign().await.unwrap();
    let error = election.candidate("pod-2").build().unwrap().campaign().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyRunning);
}

#[tokio::test]
async fn bad_settings_are_refused_when_the_candidate_is_built() {
    let election = Election::new(MemoryBackend::new(), "office").unwrap();
    let refused = |candidate: tenure::CandidateBuilder, kind: ErrorKind| {
        let error = candidate.build().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(error.election(), Some("office"), "{error}");
    };
    refused(election.candidate(""), ErrorKind::InvalidName);
    refused(election.candidate("a\0b"), ErrorKind::InvalidName);
    refused(election.candidate("pod").lease(Duration::ZERO), ErrorKind::UnsafeTiming);
    refused(election.candidate("pod").lease(Duration::from_millis(1)), ErrorKind::UnsafeTiming);
    refused(election.candidate("pod").lease(SECOND * 3_600 * 24 * 3_650), ErrorKind::UnsafeTiming);
    refused(election.candidate("pod").grace(SECOND * 15), ErrorKind::UnsafeTiming);
    refused(election.candidate("pod").renew_at_percent(100), ErrorKind::UnsafeTiming);
    refused(election.candidate("pod").advertise(vec![0; 1025]), ErrorKind::InvalidConfig);
    refused(election.clone().with_token_base(u64::MAX).candidate("pod"), ErrorKind::InvalidConfig);
    for name in ["", "../x", "a b", "a\nb"] {
        assert_eq!(Election::new(MemoryBackend::new(), name).unwrap_err().kind(), ErrorKind::InvalidName);
    }
}

#[tokio::test]
async fn an_observer_sees_the_holder_its_address_and_every_change() {
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let election = Election::new(world.store.client(), "office").unwrap();
    let mut observation = election.observe().unwrap();
    assert_eq!(observation.next().await, Some(None));
    let tenure = first.advertise("10.0.0.1:80").build().unwrap().campaign().await.unwrap();
    let seen = observation.next().await.unwrap().expect("held");
    assert_eq!((seen.name(), seen.address(), seen.token()), ("pod-1", Some("10.0.0.1:80"), tenure.token()));
    assert_eq!(election.incumbent().await.unwrap().as_ref(), Some(&seen));
    tenure.resign().await.unwrap();
    let _tenure = second.build().unwrap().campaign().await.unwrap();
    loop {
        match observation.next().await.unwrap() {
            Some(incumbent) if incumbent.name() == "pod-2" => break,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_holder_that_is_asked_to_resign_does_so_and_sits_out() {
    let world = World::new();
    let (first, one) = world.candidate("pod-1");
    let (second, _two) = world.candidate("pod-2");
    let asked = first.build().unwrap().start().unwrap();
    let leadership = asked.wait_for_leadership().await.unwrap();
    let next = second.build().unwrap().start().unwrap();
    eventually("the second waits", || next.incumbent().is_some());
    let election = Election::over(one, "office").unwrap();
    assert!(election.ask_to_resign().await.unwrap());
    // It hears of it with its next renewal, and its work has the grace to stop in.
    eventually("the next one leads", || {
        world.pass(SECOND / 4);
        next.is_leader()
    });
    assert_eq!(leadership.ended().await, Ending::AskedToResign);
    assert!(!asked.is_leader());
}

#[tokio::test]
async fn beside_peers_that_may_linger_a_winner_settles_for_a_whole_lease() {
    // SAFETY 14
    let world = World::new();
    let election = Election::new(world.store.client(), "office").unwrap().shared_with(ForeignPeers::MayLinger);
    let campaign = election.candidate("pod-1").clock(world.clock.clone()).build().unwrap().start().unwrap();
    eventually("it has won", || campaign.state() == State::Settling);
    world.pass(SECOND * 14);
    assert!(!campaign.is_leader());
    world.pass(SECOND * 2);
    campaign.wait_for_leadership().await.unwrap();
}

#[tokio::test]
async fn stopping_twice_or_closing_twice_does_nothing_more() {
    let closed = Elections::<&str, &str, _>::new(MemoryTtl::new());
    closed.acquire("key", "value", SECOND * 15).await.unwrap().expect("free");
    closed.close().await.unwrap();
    closed.close().await.unwrap();

    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = heard.clone();
    let campaign = candidate.build().unwrap().start_with(move |change| told.lock().unwrap().push(change)).unwrap();
    campaign.wait_for_leadership().await.unwrap();
    let (first, second) = tokio::join!(campaign.stop(), campaign.stop());
    first.unwrap();
    second.unwrap();
    campaign.stop().await.unwrap();
    drop(campaign);
    world.pass(SECOND * 30);
    assert_eq!(client.calls().of(Operation::Withdraw), 1);
    assert_eq!(heard.lock().unwrap().len(), 2, "gained and lost, once each");
}

#[tokio::test]
async fn when_stop_returns_the_listeners_have_heard_of_the_loss() {
    // SEEDS 32: a loss on shutdown is told before the program can end.
    let world = World::new();
    let (candidate, _client) = world.candidate("pod-1");
    let heard = Arc::new(AtomicUsize::new(0));
    let told = heard.clone();
    let campaign = candidate
        .build()
        .unwrap()
        .start_with(move |_| {
            std::thread::sleep(Duration::from_millis(50));
            told.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    campaign.wait_for_leadership().await.unwrap();
    campaign.stop().await.unwrap();
    assert_eq!(heard.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_listener_may_stop_its_own_campaign() {
    // A stop that waits for itself is one of the faults that must not come back.
    let world = World::new();
    let (candidate, _client) = world.candidate("pod-1");
    let campaign = Arc::new(tenure::blocking::Candidate::new(candidate.build().unwrap()).start().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    let itself = Arc::downgrade(&campaign);
    campaign.on_change(move |change| {
        if change.is_leader() {
            itself.upgrade().unwrap().stop().unwrap();
            sender.send(()).unwrap();
        }
    });
    receiver.recv_timeout(Duration::from_secs(20)).expect("stop returned inside the listener");
    assert!(!campaign.is_leader());
}

#[tokio::test]
async fn a_candidate_can_run_again_as_soon_as_resigning_has_returned() {
    // SEEDS 37
    let world = World::new();
    let (candidate, _client) = world.candidate("pod-1");
    let candidate = candidate.build().unwrap();
    for _ in 0..50 {
        candidate.campaign().await.unwrap().resign().await.unwrap();
    }
    candidate.start().unwrap().stop().await.unwrap();
}

#[tokio::test]
async fn a_follower_that_watches_asks_nothing_while_nothing_changes() {
    let world = World::new();
    let (first, _one) = world.candidate("pod-1");
    let (second, two) = world.candidate("pod-2");
    let _tenure = first.build().unwrap().campaign().await.unwrap();
    let follower = second.build().unwrap().start().unwrap();
    eventually("it waits", || follower.incumbent().is_some());
    world.pass(SECOND);
    let before = two.calls().total();
    world.pass(SECOND * 120);
    assert_eq!(two.calls().total(), before);
}

#[tokio::test]
async fn a_timeout_is_kept_although_the_store_hangs() {
    // SEEDS 25
    let world = World::new();
    let (candidate, client) = world.candidate("pod-1");
    client.faults().on(Operation::Stand).hang_requests(Times::UntilCleared);
    let candidate = candidate.build().unwrap();
    let trying = tokio::spawn({
        let candidate = candidate.clone();
        async move { candidate.campaign_within(SECOND * 2).await }
    });
    while client.calls().of(Operation::Stand) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    world.pass(SECOND * 2);
    let ended =
        tokio::time::timeout(Duration::from_secs(10), trying).await.expect("at its deadline, not after the call");
    assert_eq!(ended.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
    client.faults().clear();
    client.faults().release();
    world.pass(SECOND * 15);
    eventually("what was left is cleared up", || !candidate.is_running());
}

#[tokio::test]
async fn one_try_of_an_unfit_candidate_is_an_error_and_does_not_wait() {
    let world = World::new();
    let (candidate, _client) = world.candidate("pod-1");
    let candidate = candidate.build().unwrap();
    candidate.set_healthy(false);
    let error = candidate.try_campaign().await.unwrap_err();
    assert!(error.to_string().contains("unhealthy"), "{error}");
}

#[tokio::test]
async fn the_patience_for_several_offices_counts_once() {
    // SEEDS 25
    let world = World::new();
    let hung = world.store.client();
    hung.faults().on(Operation::Stand).hang_requests(Times::UntilCleared);
    let hung: Arc<dyn tenure::Backend> = Arc::new(hung);
    let slots: Vec<_> = (0..3)
        .map(|number| {
            let election = Election::over(hung.clone(), format!("slot/{number}")).unwrap();
            election.candidate("host").clock(world.clock.clone()).build().unwrap()
        })
        .collect();
    let begin = tenure::Clock::now(&world.clock);
    let searching = tokio::spawn(async move { first_free(&slots, Some(SECOND * 20)).await });
    while !searching.is_finished() {
        world.pass(SECOND / 2);
        tokio::task::yield_now().await;
    }
    assert_eq!(searching.await.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
    let took = tenure::Clock::now(&world.clock).since(begin);
    assert!(took < SECOND * 25, "{took:?}");
}

#[tokio::test]
async fn a_store_that_fails_is_not_taken_for_offices_that_are_held() {
    let world = World::new();
    let failing = world.store.client();
    failing.faults().on(Operation::Stand).refuse(ErrorKind::Unavailable, Times::UntilCleared);
    let failing: Arc<dyn tenure::Backend> = Arc::new(failing);
    let slots: Vec<_> = (0..2)
        .map(|number| {
            let election = Election::over(failing.clone(), format!("slot/{number}")).unwrap();
            election.candidate("host").clock(world.clock.clone()).build().unwrap()
        })
        .collect();
    let searching = tokio::spawn(async move { first_free(&slots, Some(SECOND * 20)).await });
    while !searching.is_finished() {
        world.pass(SECOND / 2);
        tokio::task::yield_now().await;
    }
    let error = searching.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("no office was won in the time given: election slot/"), "{error}");
}

#[tokio::test]
async fn a_backend_that_no_campaign_uses_any_more_is_let_go_of() {
    let world = World::new();
    let (first, client) = world.candidate("pod-1");
    let (kept, _client) = world.candidate("pod-2");
    let idle = Arc::downgrade(&client);
    first.build().unwrap().campaign().await.unwrap().resign().await.unwrap();
    drop((first, client));
    // It is looked for whenever another campaign begins.
    eventually("nobody keeps it", || {
        drop(kept.build().unwrap().start().unwrap());
        idle.upgrade().is_none()
    });
}
