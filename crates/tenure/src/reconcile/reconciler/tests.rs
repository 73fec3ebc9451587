//! One input after another, and what is answered.

use super::*;

mod exploration;

const SECOND: u64 = 1_000_000_000;
const BEGIN: Option<Action> = Some(Action::Run(Hook::Begin));
const END: Option<Action> = Some(Action::Run(Hook::End));
const ERROR: Option<Action> = Some(Action::Run(Hook::Error));
const RELINQUISH: Option<Action> = Some(Action::Relinquish);

fn exit(how: Result<Outcome, Failure>) -> Option<Action> {
    Some(Action::Exit(how))
}

fn first_state() -> Reconciler {
    Reconciler::new(Policy::default())
}

fn beginning() -> Reconciler {
    let mut loop_ = first_state();
    assert_eq!(loop_.step(0, Input::Told(State::Leader)), BEGIN);
    loop_
}

fn leading() -> Reconciler {
    let mut loop_ = beginning();
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::Begin)), None);
    loop_
}

/// An error has been reported and the office given up, at 0.
fn sitting_out() -> Reconciler {
    let mut loop_ = first_state();
    assert_eq!(loop_.step(0, Input::Told(State::Error)), ERROR);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::Error)), RELINQUISH);
    assert_eq!(loop_.step(0, Input::Relinquished), None);
    loop_
}

// SEEDS 44
#[test]
fn leader_runs_begin_once_and_a_repeat_does_nothing() {
    let mut loop_ = first_state();
    assert_eq!(loop_.step(0, Input::Told(State::Leader)), BEGIN);
    assert_eq!(loop_.step(1, Input::Told(State::Leader)), None);
    assert_eq!(loop_.step(2, Input::Succeeded(Hook::Begin)), None);
    assert_eq!(loop_.step(3, Input::Told(State::Leader)), None);
    assert_eq!(loop_.wake_at(), None);
}

// SEEDS 44
#[test]
fn the_state_changes_only_after_success() {
    let mut loop_ = beginning();
    assert_eq!(loop_.state(), State::NotLeader);
    loop_.step(0, Input::Succeeded(Hook::Begin));
    assert_eq!(loop_.state(), State::Leader);
    assert_eq!(loop_.step(0, Input::Told(State::NotLeader)), END);
    assert_eq!(loop_.state(), State::Leader);
    loop_.step(0, Input::Failed(Hook::End));
    assert_eq!(loop_.state(), State::Leader);
    assert_eq!(loop_.step(5 * SECOND, Input::Wake), END);
    loop_.step(5 * SECOND, Input::Succeeded(Hook::End));
    assert_eq!(loop_.state(), State::Error);
}

// SEEDS 45
#[test]
fn a_failing_begin_reports_gives_the_office_up_sits_out_and_runs_again() {
    let mut loop_ = beginning();
    assert_eq!(loop_.step(SECOND, Input::Failed(Hook::Begin)), ERROR);
    assert_eq!(loop_.state(), State::Error);
    assert_eq!(loop_.step(2 * SECOND, Input::Succeeded(Hook::Error)), RELINQUISH);
    assert_eq!(loop_.step(3 * SECOND, Input::Relinquished), None);
    assert_eq!(loop_.wake_at(), Some(33 * SECOND));
    assert_eq!(loop_.step(33 * SECOND - 1, Input::Wake), None);
    assert_eq!(loop_.step(33 * SECOND, Input::Wake), Some(Action::Resume));
    assert_eq!(loop_.state(), State::NotLeader);
    assert_eq!(loop_.step(34 * SECOND, Input::Told(State::Leader)), BEGIN);
}

// SEEDS 45
#[test]
fn the_office_is_given_up_also_when_the_error_handler_fails_or_takes_too_long() {
    let mut fails = beginning();
    assert_eq!(fails.step(0, Input::Failed(Hook::Begin)), ERROR);
    let mut hangs = fails.clone();
    assert_eq!(fails.step(0, Input::Failed(Hook::Error)), RELINQUISH);
    assert_eq!(hangs.wake_at(), Some(30 * SECOND));
    assert_eq!(hangs.step(30 * SECOND, Input::Wake), RELINQUISH);
}

// SEEDS 45
#[test]
fn a_release_that_takes_too_long_does_not_stop_the_loop() {
    let mut loop_ = beginning();
    loop_.step(0, Input::Failed(Hook::Begin));
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::Error)), RELINQUISH);
    assert_eq!(loop_.step(2 * SECOND, Input::ReleaseTimedOut), None);
    assert_eq!(loop_.step(32 * SECOND, Input::Wake), Some(Action::Resume));
}

// SEEDS 45
#[test]
fn what_is_said_of_an_office_given_up_is_not_believed_later() {
    let mut loop_ = sitting_out();
    for stale in [State::Leader, State::NotLeader, State::Error] {
        assert_eq!(loop_.step(SECOND, Input::Told(stale)), None);
    }
    assert_eq!(loop_.wake_at(), Some(30 * SECOND));
    assert_eq!(loop_.step(30 * SECOND, Input::Wake), Some(Action::Resume));
    assert_eq!(loop_.step(30 * SECOND, Input::Told(State::NotLeader)), None);
    assert_eq!(loop_.state(), State::NotLeader);
}

// SEEDS 46
#[test]
fn not_leader_from_leader_runs_end_and_otherwise_does_nothing() {
    assert_eq!(first_state().step(0, Input::Told(State::NotLeader)), None);
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::Told(State::NotLeader)), END);
    assert_eq!(loop_.step(0, Input::Told(State::NotLeader)), None);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::End)), None);
    assert_eq!(loop_.state(), State::NotLeader);
    assert_eq!(loop_.step(0, Input::Told(State::Leader)), BEGIN);
}

// SEEDS 46
#[test]
fn a_failing_end_goes_to_error() {
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::Told(State::NotLeader)), END);
    assert_eq!(loop_.step(0, Input::Failed(Hook::End)), None);
    assert_eq!(loop_.wake_at(), Some(5 * SECOND));
    assert_eq!(loop_.step(5 * SECOND, Input::Wake), END);
    assert_eq!(loop_.step(6 * SECOND, Input::Succeeded(Hook::End)), ERROR);
    assert_eq!(loop_.step(7 * SECOND, Input::Succeeded(Hook::Error)), RELINQUISH);
    assert_eq!(loop_.step(8 * SECOND, Input::Relinquished), None);
    assert_eq!(loop_.wake_at(), Some(38 * SECOND));
}

/// Fails `end`, which is running, until the loop exits. Returns how often that was.
fn fail_end_until_exit(loop_: &mut Reconciler) -> u64 {
    for failures in 1..100 {
        let now = (failures - 1) * 5 * SECOND;
        match loop_.step(now, Input::Failed(Hook::End)) {
            None => {
                assert_eq!(loop_.wake_at(), Some(now + 5 * SECOND));
                assert_eq!(loop_.step(now + 5 * SECOND - 1, Input::Wake), None);
                assert_eq!(loop_.step(now + 5 * SECOND, Input::Wake), END);
            }
            action => {
                assert_eq!(action, exit(Err(Failure::EndKeptFailing)));
                return failures;
            }
        }
    }
    panic!("end is tried for ever")
}

// SEEDS 47
#[test]
fn error_from_leader_tries_end_twelve_times_and_keeps_the_office() {
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::Told(State::Error)), END);
    assert_eq!(fail_end_until_exit(&mut loop_), 12);
    assert_eq!(loop_.state(), State::Leader);
}

// SEEDS 46, 47
#[test]
fn the_end_of_a_plain_loss_is_not_one_of_the_twelve() {
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::Told(State::NotLeader)), END);
    assert_eq!(fail_end_until_exit(&mut loop_), 13);
}

// SEEDS 47
#[test]
fn an_end_that_succeeds_after_an_error_reports_it_then_gives_the_office_up() {
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::Told(State::Error)), END);
    assert_eq!(loop_.step(0, Input::Failed(Hook::End)), None);
    assert_eq!(loop_.step(0, Input::Told(State::Leader)), None);
    assert_eq!(loop_.step(5 * SECOND, Input::Wake), END);
    assert_eq!(loop_.step(5 * SECOND, Input::Succeeded(Hook::End)), ERROR);
    assert_eq!(loop_.step(5 * SECOND, Input::Succeeded(Hook::Error)), RELINQUISH);
    assert_eq!(loop_.step(5 * SECOND, Input::Relinquished), None);
    assert_eq!(loop_.step(35 * SECOND, Input::Wake), Some(Action::Resume));
    assert_eq!(loop_.state(), State::NotLeader);
}

// SEEDS 48
#[test]
fn error_in_the_first_state_runs_the_error_handler_too() {
    let mut loop_ = first_state();
    assert_eq!(loop_.step(0, Input::Told(State::Error)), ERROR);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::Error)), RELINQUISH);
}

// SEEDS 44, 46
#[test]
fn a_loss_during_begin_runs_end_once_begin_is_done() {
    let mut loop_ = beginning();
    assert_eq!(loop_.step(0, Input::Told(State::NotLeader)), None);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::Begin)), END);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::End)), None);
    assert_eq!(loop_.state(), State::NotLeader);
}

// SEEDS 47
#[test]
fn an_error_during_begin_is_dealt_with_once_begin_is_done_whatever_is_said_after_it() {
    for later in [State::Error, State::NotLeader, State::Leader] {
        let mut loop_ = beginning();
        assert_eq!(loop_.step(0, Input::Told(State::Error)), None);
        assert_eq!(loop_.step(0, Input::Told(later)), None);
        assert_eq!(loop_.step(0, Input::Succeeded(Hook::Begin)), END);
        assert_eq!(loop_.step(0, Input::Succeeded(Hook::End)), ERROR);
    }
}

// SEEDS 44, 46
#[test]
fn a_leadership_lost_and_won_again_during_begin_is_ended_and_begun_again() {
    let mut loop_ = beginning();
    for told in [State::NotLeader, State::Leader, State::Leader] {
        assert_eq!(loop_.step(0, Input::Told(told)), None);
    }
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::Begin)), END);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::End)), BEGIN);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::Begin)), None);
    assert_eq!(loop_.state(), State::Leader);
}

// SEEDS 44, 46
#[test]
fn a_leadership_won_during_end_is_begun_once_end_is_done() {
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::Told(State::NotLeader)), END);
    assert_eq!(loop_.step(0, Input::Told(State::Leader)), None);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::End)), BEGIN);
}

// SEEDS 52
#[test]
fn shutdown_runs_end_once_then_gives_the_office_up_then_exits() {
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::Shutdown), END);
    assert_eq!(loop_.step(0, Input::Shutdown), None);
    assert_eq!(loop_.step(0, Input::Told(State::NotLeader)), None);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::End)), RELINQUISH);
    assert_eq!(loop_.step(0, Input::Relinquished), exit(Ok(Outcome::ShutDown)));
    assert_eq!(loop_.step(0, Input::Told(State::Leader)), None);
}

// SEEDS 52
#[test]
fn shutdown_does_not_give_the_office_up_when_end_fails() {
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::Shutdown), END);
    assert_eq!(loop_.step(0, Input::Failed(Hook::End)), exit(Err(Failure::EndFailed)));
}

// SEEDS 52
#[test]
fn shutdown_bounds_begin_and_end() {
    for mut loop_ in [beginning(), leading()] {
        loop_.step(SECOND, Input::Shutdown);
        assert_eq!(loop_.wake_at(), Some(8 * SECOND));
        loop_.step(2 * SECOND, Input::Shutdown);
        loop_.step(2 * SECOND, Input::SourceClosed);
        assert_eq!(loop_.step(8 * SECOND - 1, Input::Wake), None);
        assert_eq!(loop_.step(8 * SECOND, Input::Wake), exit(Err(Failure::StopTimedOut)));
    }
}

// SEEDS 52
#[test]
fn shutdown_bounds_the_error_handler_and_then_gives_the_office_up() {
    let mut loop_ = first_state();
    assert_eq!(loop_.step(0, Input::Told(State::Error)), ERROR);
    assert_eq!(loop_.step(SECOND, Input::Shutdown), None);
    assert_eq!(loop_.wake_at(), Some(8 * SECOND));
    assert_eq!(loop_.step(8 * SECOND, Input::Wake), RELINQUISH);
    assert_eq!(loop_.step(9 * SECOND, Input::Relinquished), exit(Ok(Outcome::ShutDown)));
}

// SEEDS 52
#[test]
fn shutdown_during_begin_runs_end_once_begin_is_done() {
    let mut loop_ = beginning();
    assert_eq!(loop_.step(0, Input::Shutdown), None);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::Begin)), END);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::End)), RELINQUISH);
}

// SEEDS 52
#[test]
fn shutdown_during_a_begin_that_fails_still_reports_and_gives_the_office_up() {
    let mut loop_ = beginning();
    assert_eq!(loop_.step(0, Input::Shutdown), None);
    assert_eq!(loop_.step(0, Input::Failed(Hook::Begin)), ERROR);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::Error)), RELINQUISH);
    assert_eq!(loop_.step(0, Input::Relinquished), exit(Ok(Outcome::ShutDown)));
}

// SEEDS 52
#[test]
fn shutdown_between_two_tries_of_end_tries_at_once_and_only_once() {
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::Told(State::Error)), END);
    assert_eq!(loop_.step(0, Input::Failed(Hook::End)), None);
    assert_eq!(loop_.step(SECOND, Input::Shutdown), END);
    assert_eq!(loop_.step(SECOND, Input::Failed(Hook::End)), exit(Err(Failure::EndFailed)));
}

// SEEDS 52
#[test]
fn shutdown_gives_up_what_may_just_have_been_won() {
    let mut loop_ = first_state();
    assert_eq!(loop_.step(0, Input::Shutdown), RELINQUISH);
    assert_eq!(loop_.step(0, Input::Told(State::Leader)), None);
    assert_eq!(loop_.step(0, Input::Relinquished), exit(Ok(Outcome::ShutDown)));
}

// SEEDS 52
#[test]
fn shutdown_while_the_office_is_given_up_exits_at_once() {
    assert_eq!(sitting_out().step(SECOND, Input::Shutdown), exit(Ok(Outcome::ShutDown)));
}

// SEEDS 52
#[test]
fn a_release_that_takes_too_long_while_stopping_is_not_called_a_success() {
    let mut loop_ = leading();
    loop_.step(0, Input::Shutdown);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::End)), RELINQUISH);
    assert_eq!(loop_.step(0, Input::ReleaseTimedOut), exit(Err(Failure::ReleaseTimedOut)));
}

// SEEDS 49
#[test]
fn the_end_of_the_source_stops_the_work_and_the_run() {
    let mut loop_ = leading();
    assert_eq!(loop_.step(0, Input::SourceClosed), END);
    assert_eq!(loop_.step(0, Input::Succeeded(Hook::End)), RELINQUISH);
    assert_eq!(loop_.step(0, Input::Relinquished), exit(Ok(Outcome::SourceEnded)));
}

#[test]
fn a_time_too_long_to_be_counted_never_comes() {
    let policy = Policy::default().with_error_timeout(Duration::MAX).unwrap();
    let mut loop_ = Reconciler::new(policy);
    assert_eq!(loop_.step(SECOND, Input::Told(State::Error)), ERROR);
    assert_eq!(loop_.wake_at(), Some(u64::MAX));
}
