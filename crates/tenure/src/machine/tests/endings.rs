//! How a tenure ends: SAFETY 12; SEEDS 18, 19, 20, 26, 32; I9.

use super::*;

/// Everything that ends a tenure of a leader whose renewal of 5 s is in flight, and how it is called.
fn endings() -> Vec<(Ending, Input)> {
    let rig = renewing();
    let (tenure, _) = rig.renewing();
    let answer = |outcome| Input::Answer { attempt: rig.in_flight().attempt.id, outcome };
    let asked = Grant { asked_to_resign: true, ..grant(tenure, 2) };
    let short = Grant { cover: Cover::Own { ttl: secs(1.0) }, ..grant(tenure, 2) };
    let replaced = Grant { incarnation: Some(Incarnation::new(2)), ..grant(tenure, 2) };
    vec![
        (Ending::Resigned, Input::Resign),
        (Ending::Stopped, Input::Stop),
        (Ending::AskedToResign, answer(extended(asked))),
        (Ending::Unhealthy, Input::Health(false)),
        (Ending::Deposed, answer(mismatch(Sight::Held(held(9))))),
        (Ending::GrantTooShort, answer(extended(short))),
        (Ending::TokenWentBack, answer(extended(replaced))),
    ]
}

fn renewing() -> Rig {
    let mut rig = Rig::new();
    rig.start(0.0);
    let won = Grant { incarnation: Some(Incarnation::new(1)), ..grant(rig.standing(), 1) };
    assert!(rig.answer(0.0, elected(won)).began());
    rig.wake(5.0);
    rig
}

#[test]
fn every_ending_retracts_the_deadline_then_stops_work_then_is_told() {
    // SAFETY 12; SEEDS 18
    for (ending, input) in endings() {
        let orders = renewing().step(5.5, input).orders();
        let place = |wanted: fn(&Action) -> bool| {
            orders.iter().position(wanted).unwrap_or_else(|| panic!("{ending}: {orders:?}"))
        };
        let retracted = place(|action| *action == Action::SetDeadline(None));
        let stopped = place(|action| matches!(action, Action::StopWork { .. }));
        let told = place(|action| matches!(action, Action::End(_)));
        assert!(retracted < stopped && stopped < told, "{ending}: {orders:?}");
        assert_eq!(orders[told], Action::End(ending));
    }
}

#[test]
fn work_stops_before_the_office_is_given_up() {
    // SAFETY 12: however long it takes.
    for (ending, input) in endings() {
        let mut rig = renewing();
        let first = rig.step(5.5, input);
        let later = rig.renew_until(60.0);
        for seen in [&first, &later] {
            assert!(!seen.calls().contains(&&Op::Withdraw), "{ending}");
            assert_eq!(seen.finished(), None, "{ending}");
        }
        let seen = rig.step(60.0, Input::WorkStopped);
        let withdraws = seen.calls() == [&Op::Withdraw];
        assert_eq!(withdraws, ending.leaves_record(), "{ending}: {seen:?}");
    }
}

#[test]
fn a_tenure_that_is_over_does_not_campaign_before_its_work_has_stopped() {
    // SAFETY 12; I1: the old work and the new tenure would be two leaders in one process.
    for (ending, input) in endings() {
        let mut rig = renewing();
        rig.step(5.5, input);
        rig.hint(6.0, Hint::Vacant);
        let seen = rig.renew_until(100.0);
        assert!(seen.calls().iter().all(|op| matches!(op, Op::Renew { .. })), "{ending}: {:?}", seen.calls());
        assert_eq!(rig.machine.state(), State::SteppingDown, "{ending}");
    }
}

#[test]
fn an_office_given_up_freely_is_renewed_until_work_has_stopped_and_a_lost_one_is_not() {
    for (ending, input) in endings() {
        let mut rig = renewing();
        rig.step(5.5, input);
        let seen = rig.renew_until(100.0);
        let answered_and_later = seen.calls().len();
        assert_eq!(answered_and_later >= 18, ending.is_voluntary(), "{ending}: {answered_and_later} renewals");
        // Renewals keep the office, and never the belief.
        assert!(seen.term().is_none() && seen.ended().is_none(), "{ending}");
        assert_eq!(seen.alarms().contains(&Alarm::WorkOverran), !ending.is_voluntary(), "{ending}");
    }
}

#[test]
fn work_has_the_grace_and_never_longer_than_expiry_to_stop() {
    // SAFETY 2e; I9
    let by = |now: f64, input: Input| {
        let mut rig = Rig::leading(&Setup::new());
        rig.step(now, input).stop_work_by().unwrap()
    };
    assert_eq!(by(1.0, Input::Resign), at(3.0));
    assert_eq!(by(10.25, Input::Stop), at(12.25));
    assert_eq!(
        by(11.0, Input::Wake),
        at(0.0).after(EXPIRY),
        "belief was over at 10.27 s, and only what is left counts"
    );
}

#[test]
fn work_that_runs_past_expiry_is_alarmed_once() {
    let mut rig = Rig::leading(&Setup::new());
    let seen = rig.hang_until(12.27);
    assert_eq!(seen.ended(), Some(Ending::Expired));
    assert_eq!(seen.alarms(), []);
    let seen = rig.hang_until(1000.0);
    assert_eq!(seen.alarms(), [Alarm::WorkOverran]);
    assert_eq!(rig.wake, None, "only the end of the work leads on");
    rig.step(1000.0, Input::WorkStopped);
    rig.withdrawing();
}

#[test]
fn a_freely_given_office_that_cannot_be_renewed_any_more_is_a_lost_one() {
    // The store hangs while work takes its time: no tight loop, one alarm, and a renewal that succeeds late keeps others out again.
    for outcome in [None, Some(TRANSIENT), Some(UNKNOWN)] {
        let mut rig = Rig::leading(&Setup::new());
        rig.step(1.0, Input::Resign);
        let seen = rig.live_until(60.0, |_| outcome.clone());
        assert_eq!(seen.alarms(), [Alarm::WorkOverran], "{outcome:?}");
        assert!(seen.calls().len() <= 70, "{outcome:?}: {} calls in a minute", seen.calls().len());
        let seen = rig.renew_until(70.0);
        assert!(seen.noted(Note::Renewed) && seen.term().is_none(), "{outcome:?}");
        rig.step(70.0, Input::WorkStopped);
        rig.withdrawing();
    }
}

#[test]
fn an_office_that_is_taken_while_work_stops_stops_it_at_once() {
    // I9: the time that was given to stop in counted on the record.
    let mut rig = Rig::leading(&Setup::new());
    rig.wake(5.0);
    assert_eq!(rig.step(5.1, Input::Resign).stop_work_by(), Some(at(7.1)));
    let seen = rig.answer(5.2, mismatch(Sight::Held(held(9))));
    assert_eq!(seen.stop_work_by(), Some(at(5.2)));
    assert_eq!(seen.ended(), None, "the end was told already");
    let seen = rig.step(5.3, Input::WorkStopped);
    assert!(seen.calls().is_empty(), "nothing of ours is left");
}

#[test]
fn an_end_of_work_that_was_not_asked_for_gives_up_nothing() {
    // SAFETY 12: it was said of an earlier tenure, or the deadline passed on its way; the work of this one runs.
    let mut rig = Rig::leading(&Setup::new());
    rig.step(1.0, Input::WorkStopped).is_nothing();
    let seen = rig.step(11.0, Input::WorkStopped);
    assert_eq!(seen.ended(), Some(Ending::Expired));
    assert!(seen.calls().is_empty(), "{seen:?}");
    rig.step(11.0, Input::WorkStopped);
    rig.withdrawing();
}

#[test]
fn a_second_ending_changes_nothing() {
    // SEEDS 19, 32: whatever ended it first is the ending, and it is told once.
    let again = [Input::Resign, Input::Stop, Input::Health(false), Input::Resign, Input::Stop];
    for (ending, input) in endings() {
        let mut rig = renewing();
        assert_eq!(rig.step(5.5, input).ended(), Some(ending));
        for input in again.clone() {
            let seen = rig.step(5.6, input.clone());
            assert!(seen.orders().is_empty(), "{ending}, then {input:?}: {seen:?}");
        }
        let seen = rig.hang_until(50.0);
        assert_eq!(seen.ended(), None, "{ending}");
    }
}

#[test]
fn resigning_without_an_office_is_a_harmless_no_op() {
    // SEEDS 19
    let mut rig = Rig::new();
    rig.step(0.0, Input::Resign).is_nothing();
    rig.start(0.0);
    rig.step(0.1, Input::Resign).is_nothing();
    rig.answer(0.2, occupied(held(1)));
    rig.step(0.3, Input::Resign).is_nothing();
    rig.step(0.3, Input::WorkStopped).is_nothing();
    let mut rig = Rig::leading(&Setup::new());
    rig.step(1.0, Input::WorkStopped).is_nothing();
    rig.step(1.0, Input::Resign);
    rig.step(1.0, Input::WorkStopped);
    rig.step(1.0, Input::Resign).is_nothing();
    rig.answer(1.5, Outcome::Withdrew);
    rig.step(1.6, Input::Resign).is_nothing();
}

#[test]
fn after_a_release_another_candidate_wins_without_waiting_for_the_lease() {
    // SEEDS 20
    for judge in [store::Judge::Store, store::Judge::Contenders] {
        let mut world =
            store::World::new(judge, &[Setup { nonce: 1, ..Setup::new() }, Setup { nonce: 2, ..Setup::new() }]);
        world.start(0.0);
        world.run_until(20.0);
        let first = world.leaders()[0];
        let now = world.rigs[first].now;
        world.rigs[first].step_at(now, Input::Resign);
        world.run_until(21.5);
        assert_eq!(world.leaders(), [1 - first], "one poll later, and the one that resigned sits out");
    }
}

#[test]
fn one_who_resigned_sits_out_for_a_retry_interval() {
    let asked = endings().into_iter().find(|(ending, _)| *ending == Ending::AskedToResign).unwrap().1;
    for (input, waits) in [(Input::Resign, true), (asked, true)] {
        let mut rig = renewing();
        rig.step(5.5, input.clone());
        rig.step(5.5, Input::WorkStopped);
        let seen = rig.answer(6.0, Outcome::Withdrew);
        assert!(seen.noted(Note::Released));
        let seen = rig.hang_until(7.99);
        assert_eq!(seen.calls().is_empty(), waits, "{input:?}");
        rig.hang_until(8.0);
        rig.standing();
    }
}

#[test]
fn a_lost_office_is_run_for_again_after_a_failed_attempts_pace() {
    let mut rig = Rig::leading(&Setup::new());
    rig.wake(5.0);
    rig.answer(5.0, mismatch(Sight::Held(held(9))));
    rig.step(5.5, Input::WorkStopped);
    assert!(rig.hang_until(6.49).calls().is_empty());
    rig.hang_until(6.5);
    rig.standing();
}

#[test]
fn the_process_is_killed_only_if_work_has_not_stopped_in_time() {
    // SEEDS 26
    let setup = Setup::new().timing(|timing| timing.kill_after = Some(secs(4.0)));
    let mut rig = Rig::leading(&setup);
    rig.hang_until(10.5);
    let mut stops = rig.clone();
    assert!(!rig.hang_until(14.27).killed());
    assert!(rig.hang_until(14.28).killed());
    assert!(!rig.hang_until(100.0).killed(), "once");
    stops.step(14.0, Input::WorkStopped);
    assert!(!stops.hang_until(100.0).killed());
    let next = stops.live_until(200.0, |call| match call.op {
        Op::Withdraw => Some(Outcome::Withdrew),
        Op::Stand { .. } => Some(elected(grant(call.tenure, 1000))),
        _ => Some(extended(grant(call.tenure, call.attempt.id.0))),
    });
    assert!(next.began() && !next.killed(), "nor in a later tenure");
}

#[test]
fn giving_up_freely_arms_no_kill_until_the_office_is_lost() {
    // SEEDS 26: a set time after *loss*.
    let setup = Setup::new().timing(|timing| timing.kill_after = Some(secs(4.0)));
    for input in [Input::Resign, Input::Stop, Input::Health(false)] {
        let mut rig = Rig::leading(&setup);
        rig.step(1.0, input.clone());
        assert!(!rig.renew_until(100.0).killed(), "{input:?}: it is still held");
        let taken = rig.live_until(105.0, |_| Some(mismatch(Sight::Held(held(9)))));
        assert_eq!(taken.stop_work_by(), Some(at(105.0)), "{input:?}");
        assert!(!rig.hang_until(108.9).killed(), "{input:?}");
        assert!(rig.hang_until(109.0).killed(), "{input:?}");
        let mut rig = Rig::leading(&setup);
        rig.step(1.0, input.clone());
        let expiry = EXPIRY.as_secs_f64();
        assert!(!rig.hang_until(expiry + 3.9).killed(), "{input:?}");
        assert!(rig.hang_until(expiry + 4.1).killed(), "{input:?}");
    }
}

#[test]
fn an_office_that_is_renewed_after_all_is_not_lost() {
    let setup = Setup::new().timing(|timing| timing.kill_after = Some(secs(4.0)));
    let mut rig = Rig::leading(&setup);
    rig.step(1.0, Input::Resign);
    assert_eq!(rig.hang_until(13.0).alarms(), [Alarm::WorkOverran]);
    let seen = rig.renew_until(100.0);
    assert!(!seen.killed() && seen.alarms().is_empty());
    // What lapses a second time is told a second time.
    let seen = rig.hang_until(120.0);
    assert_eq!(seen.alarms(), [Alarm::WorkOverran]);
    assert!(seen.killed());
}
