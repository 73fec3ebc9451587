//! Stopping and timing out, in every phase: SAFETY 12; SEEDS 21, 22, 25, 32, 37, 38, 43.

use super::*;

#[test]
fn stopping_before_the_start_ends_at_once() {
    let mut rig = Rig::new();
    rig.step(0.0, Input::Stop).is_exactly(&[Action::Finish(Finish::Stopped)]);
    rig.step(0.0, Input::Stop).is_nothing();
}

#[test]
fn stopping_a_leader_tells_the_loss_once_and_the_end_last() {
    // SAFETY 12; SEEDS 32
    let mut rig = Rig::leading(&Setup::new());
    let seen = rig.step(1.0, Input::Stop);
    seen.is_exactly(&[Action::SetDeadline(None), Action::StopWork { by: at(3.0) }, Action::End(Ending::Stopped)]);
    rig.step(2.0, Input::WorkStopped);
    rig.withdrawing();
    let seen = rig.answer(2.5, Outcome::Withdrew);
    assert!(seen.noted(Note::Released));
    seen.is_exactly(&[Action::Finish(Finish::Stopped)]);
    for input in [Input::Stop, Input::Resign, Input::WorkStopped, Input::Wake, Input::Health(false), Input::CoverLost] {
        rig.step(3.0, input).is_nothing();
    }
}

#[test]
fn stopping_during_a_renewal_does_not_wait_for_it() {
    // SEEDS 21
    let mut rig = Rig::leading(&Setup::new());
    rig.wake(5.0);
    rig.step(5.1, Input::Stop);
    rig.step(5.2, Input::WorkStopped);
    rig.withdrawing();
    assert_eq!(rig.answer(5.3, Outcome::Withdrew).finished(), Some(Finish::Stopped));
}

#[test]
fn a_win_that_races_a_stop_is_withdrawn_and_never_announced() {
    // SEEDS 22: the bid is in flight when the stop comes.
    for (input, finish) in [(Input::Stop, Some(Finish::Stopped)), (Input::Health(false), None)] {
        let mut rig = Rig::new();
        rig.start(0.0);
        let bid = rig.standing();
        rig.step(0.1, input).is_nothing();
        let seen = rig.elect(0.2, 1);
        assert!(!seen.began());
        assert_eq!(rig.withdrawing(), bid);
        assert_eq!(rig.answer(0.3, Outcome::Withdrew).finished(), finish);
    }
}

#[test]
fn a_bid_that_a_stop_finds_in_flight_decides_by_its_answer_what_there_is_to_withdraw() {
    let queued = Outcome::Stood(Standing::Queued(Sight::Held(held(1)), None));
    for (outcome, withdraws) in
        [(occupied(held(1)), false), (TRANSIENT, false), (REFUSED, false), (UNKNOWN, true), (queued, true)]
    {
        let mut rig = Rig::new();
        rig.start(0.0);
        rig.step(0.1, Input::Stop);
        let seen = rig.answer(0.2, outcome.clone());
        if withdraws {
            rig.withdrawing();
            assert_eq!(rig.answer(0.3, Outcome::Withdrew).finished(), Some(Finish::Stopped), "{outcome:?}");
        } else {
            assert_eq!(seen.finished(), Some(Finish::Stopped), "{outcome:?}");
        }
    }
}

#[test]
fn stopping_while_waiting_ends_at_once_and_a_queued_bid_is_withdrawn_first() {
    let mut rig = Rig::new();
    rig.start(0.0);
    rig.answer(0.0, occupied(held(1)));
    assert_eq!(rig.step(0.5, Input::Stop).finished(), Some(Finish::Stopped));
    let mut rig = Rig::new();
    rig.start(0.0);
    let bid = rig.standing();
    rig.answer(0.0, Outcome::Stood(Standing::Queued(Sight::Held(held(1)), None)));
    assert_eq!(rig.step(0.5, Input::Stop).finished(), None);
    assert_eq!(rig.withdrawing(), bid);
    assert_eq!(rig.answer(0.6, Outcome::Withdrew).finished(), Some(Finish::Stopped));
}

#[test]
fn stopping_with_a_store_that_hangs_ends_after_two_tries_to_withdraw() {
    // SEEDS 21: a hung call is bounded; what is left in the store expires by itself.
    let timeout = Timing::default().call_timeout().as_secs_f64();
    for stop_at in [0.5, 3.5, 5.5] {
        let mut rig = Rig::new();
        rig.start(0.0);
        rig.hang_until(stop_at);
        rig.step(stop_at, Input::Stop);
        let seen = rig.hang_until(stop_at + 4.0 * timeout + 0.1);
        assert_eq!(seen.finished(), Some(Finish::Stopped), "stopped at {stop_at} s");
    }
    let mut rig = Rig::leading(&Setup::new());
    rig.step(1.0, Input::Stop);
    rig.step(1.0, Input::WorkStopped);
    let seen = rig.hang_until(1.0 + 3.0 * timeout + 0.1);
    assert!(seen.noted(Note::ReleaseUnconfirmed));
    assert_eq!(seen.finished(), Some(Finish::Stopped));
}

#[test]
fn stopping_tries_at_once_what_waits_to_be_withdrawn() {
    let mut rig = Rig::new();
    rig.start(0.0);
    rig.wake(3.0);
    rig.answer(3.0, TRANSIENT);
    rig.idle();
    rig.step(3.1, Input::Stop);
    rig.withdrawing();
}

#[test]
fn being_unfit_does_not_hasten_a_withdrawal() {
    // Nobody waits for the end: what may have landed is withdrawn for as long as it may stand there.
    let mut rig = Rig::new();
    rig.start(0.0);
    rig.wake(3.0);
    rig.withdrawing();
    rig.step(3.1, Input::Health(false));
    rig.hang_until(17.0);
    rig.withdrawing();
}

#[test]
fn start_while_running_does_nothing() {
    // SEEDS 37
    let start = || Input::Start { goal: Goal::TryOnce, patience: Some(NANO) };
    let mut rig = Rig::new();
    rig.start(0.0);
    rig.step(0.1, start()).is_nothing();
    rig.answer(0.2, occupied(held(1)));
    rig.step(0.3, start()).is_nothing();
    let mut rig = Rig::leading(&Setup::new());
    rig.step(0.1, start()).is_nothing();
    rig.step(0.2, Input::Resign);
    rig.step(0.3, start()).is_nothing();
    rig.step(0.4, Input::WorkStopped);
    rig.step(0.5, start()).is_nothing();
    rig.answer(0.6, Outcome::Withdrew);
    rig.step(0.7, start()).is_nothing();
    assert_eq!(rig.machine.state(), State::Candidate);
}

#[test]
fn start_after_stop_runs_again_under_new_ids() {
    // SEEDS 37
    let mut rig = Rig::new();
    rig.start(0.0);
    let first = rig.standing();
    rig.answer(0.0, occupied(held(1)));
    rig.step(1.0, Input::Stop);
    rig.start(2.0);
    assert_ne!(rig.standing(), first);
    let seen = rig.elect(2.0, 2);
    assert!(seen.began());
    rig.hang_until(7.0);
    rig.renewing();
}

#[test]
fn a_campaign_with_a_timeout_ends_at_its_deadline() {
    // SEEDS 25
    let patient = Some(secs(7.5));
    let mut rig = Rig::new();
    rig.start_for(0.0, Goal::OneTenure, patient);
    let seen = rig.live_until(7.49, |_| Some(occupied(held(1))));
    assert_eq!(seen.finished(), None);
    assert_eq!(rig.wakes_at(), at(7.5));
    assert_eq!(rig.wake(7.5).finished(), Some(Finish::TimedOut));
}

#[test]
fn a_timeout_with_a_bid_in_flight_ends_as_soon_as_nothing_of_it_is_left() {
    // SEEDS 25; SAFETY 9: a bid that may still win is withdrawn first; however it is answered, it does not win any more.
    let mut rig = Rig::new();
    rig.start_for(0.0, Goal::OneTenure, Some(secs(1.0)));
    let (bid, stale) = (rig.standing(), rig.in_flight().attempt.id);
    assert_eq!(rig.wakes_at(), at(1.0));
    assert_eq!(rig.wake(1.0).finished(), None);
    assert_eq!(rig.withdrawing(), bid);
    rig.step(1.1, Input::Answer { attempt: stale, outcome: elected(grant(bid, 1)) }).is_nothing();
    let mut hangs = rig.clone();
    assert_eq!(rig.answer(1.2, Outcome::Withdrew).finished(), Some(Finish::TimedOut));
    assert_eq!(hangs.hang_until(10.1).finished(), Some(Finish::TimedOut));
}

#[test]
fn a_timeout_reaches_every_phase_before_the_win_and_none_after() {
    // SEEDS 25: the splay, settling and not being fit count as waiting.
    let splay = Setup::new().timing(|timing| timing.splay = secs(100.0));
    let mut rig = splay.rig();
    rig.random = MIDDLE;
    rig.start_for(0.0, Goal::OneTenure, Some(secs(1.0)));
    assert_eq!(rig.hang_until(1.0).finished(), Some(Finish::TimedOut));

    let mut rig = Setup::new().timing(|timing| timing.settle = Settle::For(secs(4.0))).rig();
    rig.start_for(0.0, Goal::OneTenure, Some(secs(1.0)));
    rig.elect(0.0, 1);
    rig.hang_until(1.0);
    rig.withdrawing();
    assert_eq!(rig.answer(1.0, Outcome::Withdrew).finished(), Some(Finish::TimedOut));

    let mut rig = Rig::new();
    rig.step(0.0, Input::Health(false));
    rig.start_for(0.0, Goal::OneTenure, Some(secs(1.0)));
    assert_eq!(rig.hang_until(1.0).finished(), Some(Finish::TimedOut));

    let mut rig = Rig::new();
    rig.start_for(0.0, Goal::Forever, Some(secs(1.0)));
    assert!(rig.elect(0.0, 1).began());
    assert_eq!(rig.renew_until(100.0).finished(), None);
    rig.step(100.0, Input::Resign);
    rig.step(100.0, Input::WorkStopped);
    assert_eq!(rig.live_until(110.0, |_| Some(Outcome::Withdrew)).finished(), None, "nor after the first tenure");
}

#[test]
fn a_splay_delays_the_first_attempt_and_stopping_during_it_makes_none() {
    // SEEDS 38
    let setup = Setup::new().timing(|timing| timing.splay = secs(5.0));
    for (random, first) in [(0, 0.0), (MIDDLE, 2.5), (u64::MAX, 5.0)] {
        let mut rig = setup.rig();
        rig.random = random;
        rig.start(0.0);
        rig.hang_until(first);
        let sent = rig.in_flight().attempt.sent.since(Moment::ZERO).as_secs_f64();
        assert!((sent - first).abs() < 0.001, "{sent}");
    }
    let mut rig = setup.rig();
    rig.random = MIDDLE;
    assert!(rig.start(0.0).calls().is_empty());
    rig.step(1.0, Input::Stop).is_exactly(&[Action::Finish(Finish::Stopped)]);
    assert!(rig.hang_until(60.0).calls().is_empty());
    // Off unless asked for.
    let mut rig = Rig::new();
    rig.random = MIDDLE;
    assert_eq!(rig.start(0.0).calls().len(), 1);
    // An absurd one is a long one: in 64 bits, so many nanoseconds are none.
    let absurd = Duration::from_nanos(u64::MAX) + Duration::from_nanos(1);
    let mut rig = Setup::new().timing(|timing| timing.splay = absurd).rig();
    rig.random = MIDDLE;
    assert!(rig.start(0.0).calls().is_empty());
}
