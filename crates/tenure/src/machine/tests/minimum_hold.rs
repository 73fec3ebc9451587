//! A job that takes a second is not run again by the next host a second later: `at_least`.

use super::*;

fn for_a_minute() -> Setup {
    Setup::new().timing(|timing| timing.at_least = secs(60.0))
}

#[test]
fn an_office_is_kept_and_renewed_until_its_minimum_is_over() {
    for input in [Input::Resign, Input::Stop] {
        let mut rig = Rig::leading(&for_a_minute());
        let tenure = rig.machine.tenure().unwrap();
        assert!(rig.step(1.0, input.clone()).ended().is_some(), "leadership ends at once");
        assert!(rig.step(2.0, Input::WorkStopped).orders().is_empty());
        let seen = rig.renew_until(59.99);
        assert!(seen.calls().len() >= 10 && seen.calls().iter().all(|op| matches!(op, Op::Renew { .. })));
        assert!(seen.term().is_none() && seen.finished().is_none(), "the office is kept, not the leadership");
        assert_eq!(rig.machine.state(), State::SteppingDown);
        rig.hang_until(60.0);
        assert_eq!(rig.withdrawing(), tenure);
        let finish = (input == Input::Stop).then_some(Finish::Stopped);
        assert_eq!(rig.answer(60.1, Outcome::Withdrew).finished(), finish);
    }
}

#[test]
fn a_minimum_that_is_over_holds_nothing_back() {
    let mut rig = Rig::leading(&for_a_minute());
    rig.renew_until(61.0);
    rig.step(61.0, Input::Resign);
    rig.step(62.0, Input::WorkStopped);
    rig.withdrawing();
}

#[test]
fn the_minimum_counts_from_the_announcement() {
    let setup = for_a_minute().timing(|timing| timing.settle = Settle::For(secs(10.0)));
    let mut rig = setup.rig();
    rig.start(0.0);
    rig.elect(0.0, 1);
    assert!(rig.renew_until(11.0).began());
    rig.step(12.0, Input::Resign);
    rig.step(12.0, Input::WorkStopped);
    rig.renew_until(69.9);
    assert_eq!(rig.machine.state(), State::SteppingDown);
    rig.hang_until(70.0);
    rig.withdrawing();
}

#[test]
fn a_tenure_that_somebody_wants_over_ends_at_once() {
    let mut rig = Rig::leading(&for_a_minute());
    rig.step(1.0, Input::Health(false));
    rig.step(2.0, Input::WorkStopped);
    rig.withdrawing();
    let mut rig = Rig::leading(&for_a_minute());
    rig.wake(5.0);
    let asked = Grant { asked_to_resign: true, ..grant(rig.renewing().0, 2) };
    assert_eq!(rig.answer(5.0, extended(asked)).ended(), Some(Ending::AskedToResign));
    rig.step(6.0, Input::WorkStopped);
    rig.withdrawing();
}

#[test]
fn one_who_is_asked_to_resign_while_only_the_minimum_holds_the_office_gives_it_up() {
    for stopped_first in [true, false] {
        let mut rig = Rig::leading(&for_a_minute());
        rig.step(1.0, Input::Resign);
        if stopped_first {
            rig.step(2.0, Input::WorkStopped);
        }
        rig.hang_until(5.0);
        let asked = Grant { asked_to_resign: true, ..grant(rig.renewing().0, 2) };
        let seen = rig.answer(5.0, extended(asked));
        assert_eq!(seen.ended(), None, "its end was told already");
        if !stopped_first {
            assert!(rig.hang_until(6.0).calls().is_empty(), "SAFETY 12: work stops first");
            rig.step(6.0, Input::WorkStopped);
        }
        rig.hang_until(6.0);
        rig.withdrawing();
    }
}

#[test]
fn a_lost_office_is_not_held_for_any_minimum() {
    let mut rig = Rig::leading(&for_a_minute());
    rig.wake(5.0);
    rig.answer(5.0, mismatch(Sight::Held(held(9))));
    rig.step(6.0, Input::WorkStopped).is_nothing();
    rig.hang_until(8.0);
    rig.standing();
    // Nor one that was lost while it was held for its minimum.
    let mut rig = Rig::leading(&for_a_minute());
    rig.step(1.0, Input::Resign);
    rig.step(1.0, Input::WorkStopped);
    rig.hang_until(5.0);
    let seen = rig.answer(5.0, mismatch(Sight::Held(held(9))));
    assert!(seen.calls().is_empty() && seen.alarms().is_empty());
    rig.hang_until(7.0);
    rig.standing();
}

#[test]
fn a_minimum_that_cannot_be_renewed_ends_at_expiry() {
    let mut rig = Rig::leading(&for_a_minute());
    rig.step(1.0, Input::Resign);
    rig.step(1.0, Input::WorkStopped);
    let seen = rig.hang_until(13.0);
    assert_eq!(seen.alarms(), [], "no work runs any more");
    rig.withdrawing();
}

#[test]
fn a_minimum_under_a_grant_that_became_too_short_is_not_renewed_in_a_tight_loop() {
    let mut rig = Rig::leading(&for_a_minute());
    rig.step(1.0, Input::Resign);
    rig.step(1.0, Input::WorkStopped);
    let short = Cover::Own { ttl: secs(1.0) };
    let seen = rig.live_until(60.0, |call| match call.op {
        Op::Renew { .. } => Some(extended(Grant { cover: short, ..grant(call.tenure, 2) })),
        _ => None,
    });
    let renewals = seen.calls().iter().filter(|op| matches!(op, Op::Renew { .. })).count();
    assert!(renewals <= 3, "{renewals} renewals");
    assert!(seen.calls().contains(&&Op::Withdraw));
}
