//! Between winning and leading: SAFETY 13, 14; SEEDS 32, 35, 42.

use super::*;

fn settling(seconds: f64) -> Setup {
    Setup::new().timing(|timing| timing.settle = Settle::For(secs(seconds)))
}

/// Has won at 0 s, and settles.
fn won(setup: &Setup) -> Rig {
    let mut rig = setup.rig();
    rig.start(0.0);
    let seen = rig.elect(0.0, 1);
    assert!(!seen.began() && seen.noted(Note::Settling));
    assert_eq!(rig.machine.state(), State::Settling);
    rig
}

/// Saw `last` in office at 0 s, and wins at 1 s over an office that fell vacant like that, with half a second to settle.
fn wins_after(last: Option<Held>, over: Vacancy) -> Seen {
    wins_settling(0.5, last, over).1
}

fn wins_settling(settle: f64, last: Option<Held>, over: Vacancy) -> (Rig, Seen) {
    let mut rig = settling(settle).rig();
    rig.start(0.0);
    if let Some(last) = last {
        rig.answer(0.0, occupied(last));
        rig.hang_until(1.0);
    }
    let won = Grant { over, ..grant(rig.standing(), 5) };
    let seen = rig.answer(1.0, elected(won));
    (rig, seen)
}

#[test]
fn a_settled_win_is_announced_only_after_a_renewal_sent_when_settling_was_over() {
    // SAFETY 14; SEEDS 35
    let mut rig = won(&settling(4.0));
    assert_eq!(rig.wake, Some((at(4.0), Duration::ZERO)), "to the instant: an earlier renewal proves nothing");
    rig.wake(3.99).is_nothing();
    let seen = rig.wake(4.0);
    assert!(!seen.began(), "the time alone does not announce");
    let seen = rig.extend(4.5, 2);
    assert!(seen.began());
    assert_eq!(seen.term().unwrap().deadline, at(4.0).after(DEADLINE));
}

#[test]
fn a_renewal_sent_before_settling_was_over_confirms_nothing() {
    // SEEDS 35: it was sent at 5 s, and answered after settling was over at 6 s.
    let mut rig = won(&settling(6.0));
    rig.hang_until(5.0);
    assert!(!rig.extend(6.5, 2).began());
    assert_eq!(rig.renewing().1, 2, "the one that counts is sent at once");
    assert!(rig.extend(6.6, 3).began());
}

#[test]
fn a_higher_token_seen_while_settling_refuses_the_win() {
    // SAFETY 18: the store was restored between that sight and this win, and its answers overtook each other.
    let mut rig = won(&settling(4.0));
    let rival = Held { token: Some(50), ..held(9) };
    rig.hint(1.0, Hint::Seen(Sight::Held(rival)));
    rig.wake(4.0);
    let seen = rig.extend(4.5, 2);
    assert!(!seen.began());
    assert!(matches!(seen.alarms()[..], [Alarm::TokenWentBack { .. }]), "{:?}", seen.alarms());
}

#[test]
fn a_win_that_was_lost_while_settling_is_never_announced() {
    // SEEDS 32, 35
    for how in ["deposed", "removed", "expired", "stopped"] {
        let mut rig = won(&settling(4.0));
        rig.wake(4.0);
        let (tenure, _) = rig.renewing();
        let confirms = rig.in_flight().attempt.id;
        let seen = match how {
            "deposed" => rig.answer(4.5, mismatch(Sight::Held(held(9)))),
            "removed" => rig.answer(4.5, mismatch(Sight::Vacant(Vacancy::Removed))),
            "expired" => rig.hang_until(10.5),
            _ => rig.step(4.5, Input::Stop),
        };
        assert!(!seen.began() && seen.ended().is_none(), "{how}: neither gained nor lost is told: {seen:?}");
        assert_ne!(rig.machine.state(), State::Settling, "{how}");
        let late = Input::Answer { attempt: confirms, outcome: extended(grant(tenure, 3)) };
        assert!(!rig.step_at(rig.now, late).began(), "{how}");
    }
}

#[test]
fn a_win_that_is_given_up_while_settling_is_withdrawn_without_any_work_to_stop() {
    let inputs = [Input::Stop, Input::Resign, Input::Health(false)];
    for input in inputs {
        let mut rig = won(&settling(4.0));
        let tenure = rig.machine.tenure();
        let seen = rig.step(1.0, input.clone());
        assert_eq!(seen.stop_work_by(), None, "{input:?}");
        assert_eq!(Some(rig.withdrawing()), tenure, "{input:?}");
    }
}

#[test]
fn one_who_resigns_while_settling_sits_out_too() {
    let mut rig = won(&settling(4.0));
    rig.step(1.0, Input::Resign);
    rig.answer(1.0, Outcome::Withdrew);
    assert!(rig.hang_until(2.9).calls().is_empty());
    rig.hang_until(3.0);
    rig.standing();
}

#[test]
fn the_office_is_renewed_while_settling_lasts_longer_than_a_lease() {
    let mut rig = won(&settling(40.0));
    let seen = rig.renew_until(39.9);
    assert!(!seen.began() && seen.calls().len() >= 7);
    let seen = rig.renew_until(40.0);
    assert!(seen.began());
    assert!(seen.term().unwrap().deadline == at(40.0).after(DEADLINE));
}

#[test]
fn no_deadline_is_published_while_settling() {
    let mut rig = won(&settling(40.0));
    assert!(rig.renew_until(39.9).orders().iter().all(|action| !matches!(action, Action::SetDeadline(_))));
}

#[test]
fn settling_is_skipped_after_a_release_that_names_the_last_seen_tenure() {
    // SAFETY 14
    let other = held(1).tenure.unwrap();
    let seen = wins_after(Some(held(1)), Vacancy::Released { by: other });
    assert!(seen.began() && seen.noted(Note::SettleSkipped));
}

#[test]
fn a_release_after_a_short_time_in_office_vouches_for_nobody_before() {
    // SAFETY 14: after a wipe, one may win, find its win unusable and give it up in due form, all while the leader from before the wipe believes.
    let other = held(1).tenure.unwrap();
    let (mut rig, seen) = wins_settling(4.0, Some(held(1)), Vacancy::Released { by: other });
    assert!(!seen.began() && seen.noted(Note::Settling));
    assert_eq!(rig.wake, Some((at(4.0), Duration::ZERO)), "what is left of it: it was in office for a second");
    rig.wake(4.0);
    assert!(rig.extend(4.1, 6).began());
}

#[test]
fn settling_is_not_skipped_after_a_release_by_anybody_else() {
    // SAFETY 14: the last seen holder may still believe; that somebody else came and went in between proves nothing about it.
    let stranger = TenureId::new(0xc0, 1);
    assert!(!wins_after(Some(held(1)), Vacancy::Released { by: stranger }).began());
    assert!(!wins_after(None, Vacancy::Released { by: stranger }).began(), "nobody was seen, so nobody is named");
}

#[test]
fn settling_is_never_skipped_after_a_foreign_holder() {
    // SAFETY 14
    let foreign = Held { tenure: None, ..held(1) };
    for over in [Vacancy::Free, Vacancy::Removed, Vacancy::Released { by: held(1).tenure.unwrap() }] {
        assert!(!wins_after(Some(foreign.clone()), over).began(), "{over:?}");
    }
}

#[test]
fn a_deleted_record_is_no_release() {
    // SAFETY 14
    for over in [Vacancy::Removed, Vacancy::Free] {
        assert!(!wins_after(Some(held(1)), over).began(), "{over:?}");
        assert!(!wins_after(None, over).began(), "{over:?}");
    }
}

#[test]
fn an_own_release_is_a_release() {
    let mut rig = settling(4.0).rig();
    rig.start(0.0);
    let own = rig.standing();
    rig.elect(0.0, 1);
    rig.hang_until(4.0);
    assert!(rig.extend(4.0, 2).began());
    rig.step(4.5, Input::Resign);
    rig.step(4.5, Input::WorkStopped);
    rig.answer(4.5, Outcome::Withdrew);
    rig.hang_until(7.0);
    let again = Grant { over: Vacancy::Released { by: own }, ..grant(rig.standing(), 3) };
    assert!(rig.answer(7.0, elected(again)).began());
}

#[test]
fn without_a_settle_time_a_win_is_announced_at_once() {
    let mut rig = Rig::new();
    rig.start(0.0);
    let seen = rig.elect(0.0, 1);
    assert!(seen.began() && !seen.noted(Note::Settling) && !seen.noted(Note::SettleSkipped));
}

#[test]
fn announcing_late_waits_for_one_interval_and_one_renewal() {
    // SEEDS 35
    let setup = Setup::new().timing(|timing| timing.settle = Settle::OneInterval);
    let mut rig = won(&setup);
    rig.hang_until(5.0);
    assert_eq!(rig.in_flight().attempt.sent, at(5.0));
    assert!(rig.extend(5.1, 2).began());
}

#[test]
fn a_failed_confirmation_is_tried_again_and_announces_nothing() {
    let mut rig = won(&settling(4.0));
    rig.wake(4.0);
    assert!(!rig.answer(4.1, TRANSIENT).began());
    rig.hang_until(6.0);
    assert!(rig.extend(6.0, 2).began());
}

#[test]
fn deleting_the_record_again_and_again_never_makes_two_announced_leaders() {
    // SEEDS 42, with ten members: a settle time of a lease outlasts every belief in a deleted record.
    let mut world = store::World::new(
        store::Judge::Store,
        &(0..10).map(|nonce| Setup { nonce, ..settling(15.0) }).collect::<Vec<_>>(),
    );
    world.start(0.0);
    let mut led = 0;
    for round in 1..40 {
        world.run_until(f64::from(round) * 13.7);
        led += world.leaders().len();
        if round % 3 == 0 {
            world.store.wipe();
        }
    }
    assert!(led > 5, "somebody leads between the deletions");
}
