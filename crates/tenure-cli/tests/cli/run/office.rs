//! Which office is won, how long it is waited for, and how long it is held.

use std::fs;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use crate::common::Scene;
use crate::common::run::{Run, TIMING};

#[test]
fn a_held_office_is_not_waited_for_where_that_was_said() {
    let scene = Scene::new();
    let mut leader = Run::start(&scene, "one", &[], &["sleep", "60"]);
    leader.told("command-started");
    let mut hasty = Run::start(&scene, "two", &["--no-wait"], &["true"]);
    hasty.ends_with(73, "held");
    let mut patient = Run::start(&scene, "three", &["--max-wait", "300ms"], &["true"]);
    patient.ends_with(73, "waited-too-long");
    assert!(patient.told("exit")["message"].as_str().is_some_and(|why| why.contains("one leads")));
    leader.signal(Signal::TERM);
    leader.ends_with(143, "command");
}

#[test]
fn a_guardian_that_dies_while_waiting_is_replaced() {
    let scene = Scene::new();
    let mut leader = Run::start(&scene, "one", &[], &["sleep", "60"]);
    leader.told("command-started");
    let mut waiting = Run::start(&scene, "two", &[], &["true"]);
    waiting.told("waiting");
    kill_process(waiting.guardian(), Signal::KILL).expect("it is there");
    std::thread::sleep(Duration::from_millis(100));
    leader.signal(Signal::TERM);
    leader.ends_with(143, "command");
    waiting.ends_with(0, "command");
}

#[test]
fn a_minimum_hold_keeps_others_out() {
    let scene = Scene::new();
    let mut first = Run::start(&scene, "one", &["--at-least", "1500ms"], &["true"]);
    first.told("command-ended");
    let mut second = Run::start(&scene, "two", &["--no-wait"], &["true"]);
    second.ends_with(73, "held");
    first.ends_with(0, "command");
    let mut third = Run::start(&scene, "three", &["--no-wait"], &["true"]);
    third.ends_with(0, "command");
}

#[test]
fn the_first_free_of_several_offices_is_taken() {
    let scene = Scene::new();
    let slots = ["--slots", "2"];
    let runs: Vec<Run> = ["one", "two"].iter().map(|id| Run::start(&scene, id, &slots, &["sleep", "60"])).collect();
    let mut seats: Vec<String> = runs
        .iter()
        .map(|run| {
            run.told("command-started");
            run.told("elected")["election"].as_str().expect("a name").to_owned()
        })
        .collect();
    seats.sort_unstable();
    assert_eq!(seats, ["office/1", "office/2"]);
    let mut third = Run::start(&scene, "three", &["--slots", "2", "--no-wait"], &["true"]);
    third.ends_with(73, "held");
    let mut fourth = Run::start(&scene, "four", &["--slots", "2", "--max-wait", "200ms"], &["true"]);
    fourth.ends_with(73, "waited-too-long");
    for mut run in runs {
        run.signal(Signal::TERM);
        run.ends_with(143, "command");
    }
}

#[test]
fn several_offices_hide_no_broken_store() {
    let scene = Scene::new();
    for slot in ["office+1.json", "office+2.json"] {
        // No one can read that.
        fs::create_dir_all(scene.path("backend").join(slot)).expect("it can be made");
    }
    let mut hasty = Run::start(&scene, "one", &["--slots", "2", "--no-wait"], &["true"]);
    hasty.ends_with(69, "backend-refused");
    let mut patient = Run::start(&scene, "two", &["--slots", "2", "--max-wait", "500ms"], &["true"]);
    patient.ends_with(69, "backend-refused");
    patient.told("trying");
    // One that is broken does not keep anybody from the other.
    fs::remove_dir(scene.path("backend").join("office+2.json")).expect("it is there");
    for patience in ["--no-wait", "--max-wait=20s"] {
        let mut run = Run::start(&scene, "three", &["--slots", "2", patience], &["true"]);
        run.ends_with(0, "command");
        assert_eq!(run.told("elected")["election"], "office/2");
    }
}

#[test]
fn one_of_one_is_not_the_office_itself() {
    let scene = Scene::new();
    let mut run = Run::start(&scene, "one", &["--slots", "1"], &["sleep", "60"]);
    assert_eq!(run.told("elected")["election"], "office/1");
    run.told("command-started");
    let mut waiting = Run::start(&scene, "two", &["--slots", "1"], &["true"]);
    assert_eq!(waiting.told("waiting")["election"], "office/1");
    run.signal(Signal::TERM);
    run.ends_with(143, "command");
    waiting.ends_with(0, "command");
}

#[test]
fn a_winner_settles_unless_the_last_holder_gave_up_in_due_form() {
    // SAFETY 14
    let scene = Scene::new();
    let settle = [&TIMING[..], &["--settle", "300ms"]].concat();
    let mut first = Run::start(&scene, "one", &settle, &["sleep", "60"]);
    assert_eq!(first.told("standing")["settle"].as_f64(), Some(0.3));
    first.told("command-started");
    let events = first.events();
    let names: Vec<_> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names[..3], ["standing", "settling", "elected"], "{events:#?}");
    let second = Run::start(&scene, "two", &settle, &["sleep", "60"]);
    second.told("waiting");
    // Whoever was seen in office for so long had settled itself.
    std::thread::sleep(Duration::from_millis(400));
    first.signal(Signal::TERM);
    first.ends_with(143, "command");
    second.told("command-started");
    assert!(second.event("settling").is_none(), "{:#?}", second.events());
}
