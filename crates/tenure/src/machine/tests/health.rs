//! Only a candidate that is fit runs and leads.

use super::*;

#[test]
fn an_unfit_candidate_does_not_run_until_it_is_fit() {
    let mut rig = Rig::new();
    rig.step(0.0, Input::Health(false)).is_nothing();
    let seen = rig.start(1.0);
    assert!(seen.calls().is_empty() && seen.noted(Note::Resting));
    assert_eq!(rig.machine.state(), State::Resting);
    assert!(rig.hang_until(100.0).0.is_empty());
    rig.step(100.0, Input::Health(true));
    rig.standing();
}

#[test]
fn health_before_the_start_starts_nothing() {
    for healthy in [[false, true], [true, false]] {
        let mut rig = Rig::new();
        for health in healthy {
            rig.step(0.0, Input::Health(health)).is_nothing();
        }
        assert_eq!(rig.machine.state(), State::Idle);
        rig.start(1.0);
        assert_eq!(rig.machine.is_calling(), healthy[1]);
    }
}

#[test]
fn a_leader_that_becomes_unfit_steps_down_and_rests() {
    let mut rig = Rig::leading(&Setup::new());
    assert_eq!(rig.step(1.0, Input::Health(false)).ended(), Some(Ending::Unhealthy));
    rig.step(2.0, Input::Health(false)).is_nothing();
    rig.step(2.0, Input::WorkStopped);
    rig.withdrawing();
    rig.answer(2.5, Outcome::Withdrew);
    assert_eq!(rig.machine.state(), State::Resting);
    assert!(rig.hang_until(100.0).calls().is_empty());
    rig.step(100.0, Input::Health(true));
    rig.standing();
    // The same news twice is no news.
    rig.step(100.1, Input::Health(true)).is_nothing();
}

#[test]
fn one_that_recovers_while_it_steps_down_runs_again_afterwards() {
    let mut rig = Rig::leading(&Setup::new());
    rig.step(1.0, Input::Health(false));
    rig.step(1.5, Input::Health(true)).is_nothing();
    rig.step(2.0, Input::WorkStopped);
    rig.answer(2.5, Outcome::Withdrew);
    assert_eq!(rig.machine.state(), State::Candidate);
    rig.hang_until(4.5);
    rig.standing();
}

#[test]
fn a_waiting_candidate_that_becomes_unfit_leaves_nothing_in_the_store() {
    let mut rig = Rig::new();
    rig.start(0.0);
    rig.answer(0.0, occupied(held(1)));
    rig.step(0.5, Input::Health(false));
    assert_eq!(rig.machine.state(), State::Resting);
    let mut rig = Rig::new();
    rig.start(0.0);
    let bid = rig.standing();
    rig.answer(0.0, Outcome::Stood(Standing::Queued(Sight::Held(held(1)), None)));
    rig.step(0.5, Input::Health(false));
    assert_eq!(rig.withdrawing(), bid);
    rig.answer(0.6, Outcome::Withdrew);
    assert_eq!(rig.machine.state(), State::Resting);
}

#[test]
fn one_that_recovers_before_its_bid_is_answered_takes_the_win() {
    let mut rig = Rig::new();
    rig.start(0.0);
    rig.step(0.1, Input::Health(false));
    rig.step(0.2, Input::Health(true));
    assert!(rig.elect(0.3, 1).began());
}

#[test]
fn a_single_tenure_that_ends_unfit_is_the_last() {
    let mut rig = Rig::new();
    rig.start_for(0.0, Goal::OneTenure, None);
    rig.elect(0.0, 1);
    rig.step(1.0, Input::Health(false));
    rig.step(1.0, Input::WorkStopped);
    assert_eq!(rig.answer(1.5, Outcome::Withdrew).finished(), Some(Finish::TenureEnded));
}

#[test]
fn stopping_ends_a_rest() {
    let mut rig = Rig::new();
    rig.step(0.0, Input::Health(false));
    rig.start(0.0);
    rig.step(1.0, Input::Stop).is_exactly(&[Action::Finish(Finish::Stopped)]);
    rig.step(2.0, Input::Health(true)).is_nothing();
    assert_eq!(rig.machine.state(), State::Idle);
}
