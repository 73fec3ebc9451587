//! The program itself: what it prints, and what its exit status says.

use std::process::{Command, Output};

fn checker(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure-checker")).args(arguments).output().expect("it runs")
}

#[track_caller]
fn says(output: &Output, what: &str) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(what), "{what:?} is not in:\n{text}");
}

#[test]
fn a_model_that_holds_is_counted_and_succeeds() {
    let output = checker(&["--quick", "--model", "ttl-granted"]);
    assert!(output.status.success());
    for what in [
        "bounds     2 candidates, 3 ticks",
        "unique), depth",
        "all within the bounds",
        "never overlap: holds",
        ": found (",
    ] {
        says(&output, what);
    }
}

#[test]
fn a_violation_that_does_not_come_fails() {
    let output = checker(&["--quick", "--model", "ttl-granted", "--expect-violation"]);
    assert_eq!(output.status.code(), Some(1));
    says(&output, "it did not break");
}

#[test]
fn a_violation_is_told_step_by_step() {
    let output = checker(&["--quick", "--model", "ttl-beyond", "--until", "I1"]);
    assert!(output.status.success());
    for what in ["never overlap: BROKEN, as expected", "the store gets ada's call 1: stand", "it is tick 2"] {
        says(&output, what);
    }
}

#[test]
fn the_models_are_listed() {
    let output = checker(&["--list"]);
    assert!(output.status.success());
    for name in ["ttl", "register", "session", "redlock"] {
        says(&output, name);
    }
}

#[test]
fn what_it_does_not_know_is_refused() {
    for arguments in
        [&["--model", "nothing"][..], &["--models"], &["--threads", "0"], &["--model", "ttl", "--until", "I99"]]
    {
        assert_eq!(checker(arguments).status.code(), Some(64), "{arguments:?}");
    }
}

/// A fault that is planted in the machine is found; without the faults in the build there is nothing to plant.
#[cfg(tenure_mutants)]
#[test]
fn every_planted_fault_that_a_model_can_see_is_seen() {
    let output = checker(&["--mutants"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    says(&output, " 0 survived");
}
