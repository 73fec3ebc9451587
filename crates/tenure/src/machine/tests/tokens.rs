//! Fencing tokens never go back: SAFETY 18; I2.

use super::*;

/// Answers the stand in flight by a win with this native number.
fn win(rig: &mut Rig, seconds: f64, native: u64, incarnation: Option<u64>) -> Seen {
    let won =
        Grant { token: Some(native), incarnation: incarnation.map(Incarnation::new), ..grant(rig.standing(), native) };
    rig.answer(seconds, elected(won))
}

/// Resigns, gives the office up, and stands again at 10 s.
fn resign_and_stand(rig: &mut Rig) {
    rig.step(1.0, Input::Resign);
    rig.step(1.0, Input::WorkStopped);
    rig.answer(1.0, Outcome::Withdrew);
    rig.hang_until(3.0);
    rig.standing();
}

#[test]
fn the_token_is_the_base_plus_the_number_of_the_store() {
    // SAFETY 18
    let mut rig = Setup { base: 1000, ..Setup::new() }.rig();
    rig.start(0.0);
    assert_eq!(win(&mut rig, 0.0, 7, None).token(), Some(1007));
}

#[test]
fn a_token_that_went_back_is_refused_and_alarmed() {
    // SAFETY 18; I2: the same number twice is as bad.
    for offered in [6, 7] {
        let mut rig = Setup { base: 100, ..Setup::new() }.rig();
        rig.start(0.0);
        win(&mut rig, 0.0, 7, None);
        resign_and_stand(&mut rig);
        let bid = rig.standing();
        let seen = win(&mut rig, 3.0, offered, None);
        assert!(!seen.began());
        let seen_token = FencingToken::new(107).unwrap();
        assert_eq!(seen.alarms(), [Alarm::TokenWentBack { seen: seen_token, offered: 100 + offered }]);
        assert_eq!(rig.withdrawing(), bid);
        // It goes on trying at the pace of failed attempts, so that a store that is mended is used again.
        rig.answer(3.1, Outcome::Withdrew);
        rig.hang_until(5.0);
        assert_eq!(win(&mut rig, 5.0, 8, None).token(), Some(108));
    }
}

#[test]
fn a_campaign_for_one_tenure_is_barred_by_a_token_that_went_back() {
    // SAFETY 18
    for goal in [Goal::OneTenure, Goal::TryOnce] {
        let mut rig = Rig::new();
        rig.start_for(0.0, goal, None);
        win(&mut rig, 0.0, 7, None);
        rig.step(1.0, Input::Stop);
        rig.step(1.0, Input::WorkStopped);
        rig.answer(1.0, Outcome::Withdrew);
        rig.start_for(2.0, goal, None);
        win(&mut rig, 2.0, 7, None);
        rig.withdrawing();
        assert_eq!(rig.answer(2.1, Outcome::Withdrew).finished(), Some(Finish::Barred));
    }
}

#[test]
fn a_token_that_was_seen_in_anothers_hand_is_remembered() {
    // SAFETY 18; I2 across a wipe: a candidate that waited remembers for the store.
    let mut rig = Rig::new();
    rig.start(0.0);
    rig.answer(0.0, occupied(Held { token: Some(50), ..held(1) }));
    rig.hang_until(1.0);
    let seen = win(&mut rig, 1.0, 50, None);
    assert!(!seen.began() && matches!(seen.alarms()[..], [Alarm::TokenWentBack { .. }]));
}

#[test]
fn another_incarnation_of_the_store_is_refused_and_alarmed() {
    // SAFETY 18: its numbers cannot be compared, even if they are higher.
    let mut rig = Rig::new();
    rig.start(0.0);
    win(&mut rig, 0.0, 7, Some(1));
    resign_and_stand(&mut rig);
    let seen = win(&mut rig, 3.0, 1_000_000, Some(2));
    assert!(!seen.began());
    assert_eq!(seen.alarms(), [Alarm::StoreReplaced { seen: FencingToken::new(7) }]);
    rig.withdrawing();
    // The same life of the store is accepted, and so is a grant that names none.
    for incarnation in [Some(1), None] {
        let mut rig = Rig::new();
        rig.start(0.0);
        win(&mut rig, 0.0, 7, Some(1));
        resign_and_stand(&mut rig);
        assert!(win(&mut rig, 3.0, 8, incarnation).began());
    }
}

#[test]
fn a_store_replaced_under_a_leader_ends_its_tenure() {
    // SAFETY 18
    let mut rig = Rig::new();
    rig.start(0.0);
    win(&mut rig, 0.0, 7, Some(1));
    rig.wake(5.0);
    let renewed = Grant { incarnation: Some(Incarnation::new(2)), ..grant(rig.renewing().0, 8) };
    let seen = rig.answer(5.1, extended(renewed));
    assert_eq!(seen.ended(), Some(Ending::TokenWentBack));
    assert_eq!(seen.alarms(), [Alarm::StoreReplaced { seen: FencingToken::new(7) }]);
}

#[test]
fn a_store_replaced_while_work_stops_is_not_renewed_in_a_tight_loop() {
    let mut rig = Rig::new();
    rig.start(0.0);
    win(&mut rig, 0.0, 7, Some(1));
    rig.step(1.0, Input::Resign);
    let seen = rig.live_until(60.0, |call| {
        Some(extended(Grant { incarnation: Some(Incarnation::new(2)), ..grant(call.tenure, 8) }))
    });
    assert!(seen.calls().len() <= 2, "{} renewals", seen.calls().len());
}

#[test]
fn a_token_stays_within_what_every_database_can_keep() {
    // SAFETY 18
    let most = i64::MAX as u64;
    let mut rig = Setup { base: most - 7, ..Setup::new() }.rig();
    rig.start(0.0);
    assert_eq!(win(&mut rig, 0.0, 7, None).token(), Some(most));
    for (base, native) in [(most, 1), (u64::MAX, 1), (0, most + 1), (0, 0)] {
        let mut rig = Setup { base, ..Setup::new() }.rig();
        rig.start(0.0);
        let seen = win(&mut rig, 0.0, native, None);
        assert!(!seen.began(), "{base} + {native}");
        assert!(matches!(seen.alarms()[..], [Alarm::TokenWentBack { .. }]), "{base} + {native}");
    }
}

#[test]
fn a_store_without_numbers_gives_no_token() {
    let mut rig = Setup::new().traits(|traits| traits.promise = Promise::LeaseOnly).rig();
    rig.start(0.0);
    let won = Grant { token: None, ..grant(rig.standing(), 1) };
    let seen = rig.answer(0.0, elected(won));
    assert!(seen.began());
    assert_eq!(seen.token(), None);
}

#[test]
fn the_token_is_that_of_the_win_however_often_it_is_renewed() {
    let mut rig = Rig::new();
    rig.start(0.0);
    win(&mut rig, 0.0, 7, None);
    rig.renew_until(50.0);
    rig.step(50.0, Input::Resign);
    rig.step(50.0, Input::WorkStopped);
    rig.live_until(53.0, |call| (call.op == Op::Withdraw).then_some(Outcome::Withdrew));
    assert_eq!(win(&mut rig, 53.0, 8, None).token(), Some(8), "renewals raised versions, not tokens");
}
