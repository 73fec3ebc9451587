//! Running for an office: SEEDS 9, 10, 36, 39, 40, 43; the three goals.

use super::*;

fn waits(rig: &mut Rig, outcome: &Outcome, attempts: usize) -> Vec<f64> {
    (0..attempts)
        .map(|_| {
            let sent = rig.in_flight().attempt.sent;
            rig.step_at(sent, Input::Answer { attempt: rig.in_flight().attempt.id, outcome: outcome.clone() });
            let wake = rig.wakes_at();
            rig.step_at(wake, Input::Wake);
            wake.since(sent).as_secs_f64()
        })
        .collect()
}

#[test]
fn backoff_takes_the_count_of_failed_attempts() {
    // SEEDS 39
    let setup = Setup::new().timing(|timing| timing.backoff = Some(Backoff::exponential(secs(1.0), secs(8.0))));
    for outcome in [occupied(held(1)), TRANSIENT, REFUSED] {
        let mut rig = setup.rig();
        rig.random = MIDDLE;
        rig.start(0.0);
        assert_eq!(waits(&mut rig, &outcome, 5), [1.0, 2.0, 4.0, 8.0, 8.0], "{outcome:?}");
    }
}

#[test]
fn backoff_starts_again_on_a_win() {
    // SEEDS 39
    let setup = Setup::new().timing(|timing| timing.backoff = Some(Backoff::exponential(secs(1.0), secs(8.0))));
    let mut rig = setup.rig();
    rig.random = MIDDLE;
    rig.start(0.0);
    waits(&mut rig, &occupied(held(1)), 4);
    assert!(rig.elect(15.0, 1).began());
    rig.step(21.0, Input::Resign);
    rig.step(21.0, Input::WorkStopped);
    rig.answer(21.0, Outcome::Withdrew);
    rig.hang_until(23.0);
    assert_eq!(waits(&mut rig, &occupied(held(1)), 2), [1.0, 2.0]);
}

#[test]
fn backoff_starts_again_with_a_campaign() {
    // SEEDS 37, 39
    let setup = Setup::new().timing(|timing| timing.backoff = Some(Backoff::exponential(secs(1.0), secs(8.0))));
    let mut rig = setup.rig();
    rig.random = MIDDLE;
    rig.start(0.0);
    waits(&mut rig, &occupied(held(1)), 4);
    rig.answer(15.0, occupied(held(1)));
    rig.step(15.0, Input::Stop);
    rig.start(20.0);
    assert_eq!(waits(&mut rig, &occupied(held(1)), 2), [1.0, 2.0]);
}

#[test]
fn a_win_that_is_unknown_or_cannot_be_used_counts_as_a_failed_attempt() {
    // SEEDS 39
    let setup = Setup::new().timing(|timing| timing.backoff = Some(Backoff::exponential(secs(1.0), secs(8.0))));
    for how in ["unknown", "another's", "too short", "barred"] {
        let mut rig = setup.rig();
        rig.random = MIDDLE;
        rig.start(0.0);
        let mut sent = Vec::new();
        rig.live_until(16.0, |call| {
            if call.op == Op::Withdraw {
                return Some(Outcome::Withdrew);
            }
            sent.push(call.attempt.sent.since(Moment::ZERO).as_secs());
            let grant = grant(call.tenure, 1);
            Some(match how {
                "unknown" => UNKNOWN,
                "another's" => elected(Grant { tenure: TenureId::new(1, 1), ..grant }),
                "too short" => elected(Grant { cover: Cover::Own { ttl: NANO }, ..grant }),
                _ => elected(Grant { token: Some(0), ..grant }),
            })
        });
        assert_eq!(sent, [0, 1, 3, 7, 15], "{how}");
    }
}

#[test]
fn failed_bids_do_not_count_as_failed_renewals_nor_the_other_way_round() {
    // SEEDS 16, 39
    let setup = Setup::new().timing(|timing| {
        timing.tolerance = Tolerance::FailuresLose(3);
        timing.backoff = Some(Backoff::exponential(secs(1.0), secs(8.0)));
    });
    let mut rig = setup.rig();
    rig.random = MIDDLE;
    rig.start(0.0);
    waits(&mut rig, &TRANSIENT, 2);
    assert!(rig.elect(3.0, 1).began());
    let kept = rig.live_until(10.0, |_| Some(TRANSIENT));
    assert_eq!(kept.ended(), Some(Ending::RenewalsFailed));
    assert_eq!(kept.0.iter().filter(|action| **action == Action::Emit(Note::RenewalFailed)).count(), 3);
    rig.step(10.0, Input::WorkStopped);
    rig.answer(10.0, Outcome::Withdrew);
    assert_eq!(rig.wakes_at(), at(11.0), "the first wait");
}

#[test]
fn backoff_jitters() {
    // SEEDS 39
    for (random, wait) in [(0, 1.0), (MIDDLE, 2.0), (u64::MAX, 3.0)] {
        let mut rig = Rig::new();
        rig.random = random;
        rig.start(0.0);
        let first = waits(&mut rig, &occupied(held(1)), 1)[0];
        assert!((first - wait).abs() < 0.001, "{first}");
    }
}

#[test]
fn a_backoff_of_zero_does_no_harm() {
    // SEEDS 40
    let setup = Setup::new().timing(|timing| timing.backoff = Some(Backoff::constant(Duration::ZERO)));
    for outcome in [occupied(held(1)), TRANSIENT, UNKNOWN] {
        let mut rig = setup.rig();
        rig.start(0.0);
        let seen = rig.live_until(1.0, |call| match call.op {
            Op::Withdraw => Some(Outcome::Withdrew),
            _ => Some(outcome.clone()),
        });
        assert!(seen.calls().len() <= 401, "{outcome:?}: {} calls in a second", seen.calls().len());
    }
}

#[test]
fn a_store_that_is_down_at_the_start_is_tried_until_cancelled() {
    // SEEDS 43
    for goal in [Goal::Forever, Goal::OneTenure] {
        for outcome in [None, Some(TRANSIENT), Some(UNKNOWN)] {
            let mut rig = Rig::new();
            rig.start_for(0.0, goal, None);
            let seen = rig.live_until(600.0, |_| outcome.clone());
            assert_eq!(seen.finished(), None);
            assert!(seen.calls().iter().filter(|op| matches!(op, Op::Stand { .. })).count() > 20, "{outcome:?}");
            rig.live_until(640.0, |call| match call.op {
                Op::Withdraw => Some(Outcome::Withdrew),
                Op::Stand { .. } => Some(elected(grant(call.tenure, 1))),
                _ => Some(extended(grant(call.tenure, call.attempt.id.0))),
            });
            assert_eq!(rig.machine.state(), State::Leader, "{outcome:?}");
        }
    }
}

#[test]
fn a_refusal_ends_a_campaign_for_one_tenure_and_not_one_for_ever() {
    // SEEDS 9
    for (goal, finish) in [(Goal::OneTenure, Some(Finish::Refused)), (Goal::Forever, None)] {
        let mut rig = Rig::new();
        rig.start_for(0.0, goal, None);
        let seen = rig.answer(0.0, REFUSED);
        assert!(seen.noted(Note::AttemptFailed));
        assert_eq!(seen.finished(), finish);
    }
}

#[test]
fn trying_once_says_at_once_that_another_holds_the_office() {
    // SEEDS 9
    let mut rig = Rig::new();
    rig.start_for(0.0, Goal::TryOnce, None);
    let seen = rig.answer(0.1, occupied(held(1)));
    assert!(seen.noted(Note::NotElected));
    assert_eq!(seen.finished(), Some(Finish::NotElected));
    let mut rig = Rig::new();
    rig.start_for(0.0, Goal::TryOnce, None);
    let bid = rig.standing();
    let queued = Outcome::Stood(Standing::Queued(Sight::Held(held(1)), None));
    assert_eq!(rig.answer(0.1, queued).finished(), None);
    assert_eq!(rig.withdrawing(), bid);
    assert_eq!(rig.answer(0.2, Outcome::Withdrew).finished(), Some(Finish::NotElected));
}

#[test]
fn trying_once_stands_once_whatever_comes_of_it() {
    // SEEDS 9: an error of the store is an error, and never "held".
    let short = |rig: &Rig| elected(Grant { cover: Cover::Own { ttl: NANO }, ..grant(rig.standing(), 1) });
    for (how, withdraws) in
        [("down", false), ("refused", false), ("unknown", true), ("hung", true), ("too short", true)]
    {
        let mut rig = Rig::new();
        rig.start_for(0.0, Goal::TryOnce, None);
        let mut seen = match how {
            "down" => rig.answer(0.1, TRANSIENT),
            "refused" => rig.answer(0.1, REFUSED),
            "unknown" => rig.answer(0.1, UNKNOWN),
            "hung" => rig.hang_until(3.0),
            _ => rig.answer(0.1, short(&rig)),
        };
        if withdraws {
            rig.withdrawing();
            let now = rig.now.since(Moment::ZERO).as_secs_f64();
            seen = rig.answer(now, Outcome::Withdrew);
        }
        assert_eq!(seen.finished(), Some(Finish::Refused), "{how}");
    }
}

#[test]
fn trying_once_and_winning_leads_for_one_tenure() {
    for goal in [Goal::TryOnce, Goal::OneTenure] {
        let mut rig = Rig::new();
        rig.start_for(0.0, goal, None);
        assert!(rig.elect(0.0, 1).began());
        rig.renew_until(100.0);
        rig.step(100.0, Input::Resign);
        rig.step(100.0, Input::WorkStopped);
        assert_eq!(rig.answer(100.1, Outcome::Withdrew).finished(), Some(Finish::TenureEnded));
    }
}

#[test]
fn trying_once_and_losing_while_settling_is_not_elected() {
    let setup = Setup::new().timing(|timing| timing.settle = Settle::For(secs(4.0)));
    let mut rig = setup.rig();
    rig.start_for(0.0, Goal::TryOnce, None);
    rig.elect(0.0, 1);
    rig.hang_until(4.0);
    let seen = rig.answer(4.0, mismatch(Sight::Held(held(9))));
    assert_eq!(seen.finished(), Some(Finish::NotElected));
}

#[test]
fn a_campaign_for_one_tenure_ends_with_it_however_it_ends() {
    let mut rig = Rig::new();
    rig.start_for(0.0, Goal::OneTenure, None);
    rig.elect(0.0, 1);
    rig.wake(5.0);
    rig.answer(5.0, mismatch(Sight::Held(held(9))));
    rig.step(5.5, Input::WorkStopped).is_exactly(&[Action::Finish(Finish::TenureEnded)]);
    let mut rig = Rig::new();
    rig.start_for(0.0, Goal::OneTenure, None);
    rig.elect(0.0, 1);
    rig.hang_until(11.0);
    rig.step(11.0, Input::WorkStopped);
    assert_eq!(rig.answer(11.5, REFUSED).finished(), Some(Finish::TenureEnded));
}

#[test]
fn a_campaign_for_ever_runs_again_after_every_tenure() {
    let mut rig = Rig::leading(&Setup::new());
    for round in 1..5 {
        let now = f64::from(round) * 20.0;
        rig.renew_until(now);
        rig.step(now, Input::Resign);
        rig.step(now, Input::WorkStopped);
        assert_eq!(rig.live_until(now, |_| Some(Outcome::Withdrew)).finished(), None);
        rig.hang_until(now + 2.0);
        assert!(rig.elect(now + 2.0, 100 * round as u64).began());
    }
}

#[test]
fn every_attempt_tells_the_state_before_it() {
    // SEEDS 36
    let mut rig = Rig::new();
    assert!(rig.start(0.0).noted(Note::Attempting(State::Candidate)));
    rig.answer(0.0, occupied(held(1)));
    assert!(rig.hang_until(1.0).noted(Note::Attempting(State::Candidate)));
    let place = |seen: &Seen, wanted: fn(&Action) -> bool| seen.0.iter().position(wanted).unwrap();
    let mut rig = Rig::new();
    let seen = rig.start(0.0);
    let told = place(&seen, |action| matches!(action, Action::Emit(Note::Attempting(_))));
    let called = place(&seen, |action| matches!(action, Action::Call { .. }));
    assert!(told < called, "it is told before the attempt is made");
}

#[test]
fn a_bid_that_did_not_win_is_made_again_under_the_same_id() {
    // SAFETY 9: standing is idempotent for a tenure id, and nothing is unknown about it.
    let mut rig = Rig::new();
    rig.start(0.0);
    let bid = rig.standing();
    rig.answer(0.0, occupied(held(1)));
    rig.hang_until(1.0);
    assert_eq!(rig.standing(), bid);
    rig.answer(1.0, TRANSIENT);
    rig.hang_until(3.0);
    assert_eq!(rig.standing(), bid);
}

#[test]
fn several_candidates_elect_one_and_fail_over_within_a_lease_and_a_poll() {
    // I8, SEEDS 10 at machine level
    for judge in [store::Judge::Store, store::Judge::Contenders] {
        let setups: Vec<_> = (1..=5).map(|nonce| Setup { nonce, ..Setup::new() }).collect();
        let mut world = store::World::new(judge, &setups);
        world.start(0.0);
        world.run_until(30.0);
        let [first] = world.leaders()[..] else { panic!("{:?}", world.leaders()) };
        assert_eq!(world.store.holder(), world.rigs[first].machine.tenure());
        world.cut_off = vec![first];
        world.run_until(30.0 + 15.0 + 3.0);
        assert_eq!(world.leaders().len(), 1);
        assert_ne!(world.leaders(), [first]);
    }
}
