//! Signals, to the command and while there is none.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::state_of;
use crate::common::run::Run;
use crate::common::{LONG, MARK, Scene, TENURE, eventually};
use crate::output;

#[test]
fn a_signal_ends_the_waiting() {
    let scene = Scene::new();
    let mut leader = Run::start(&scene, "one", &[], &["sleep", "60"]);
    leader.told("command-started");
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut waiting = Run::start(&scene, "two", &[], &["true"]);
        waiting.told("waiting");
        // These mean nothing as long as there is no command.
        waiting.signal(Signal::USR1);
        waiting.signal(Signal::WINCH);
        std::thread::sleep(Duration::from_millis(50));
        waiting.signal(signal);
        waiting.ends_with(code, "signal");
    }
    // A bid that was under way leaves nothing behind.
    leader.signal(Signal::TERM);
    leader.ends_with(143, "command");
}

#[test]
fn signals_reach_the_command() {
    let scene = Scene::new();
    let heard = scene.path("heard");
    let script = format!(
        "for s in HUP USR1 USR2 WINCH INT QUIT CONT; do trap \"echo $s >> {0}\" $s; done; \
         trap 'echo TERM >> {0}; exit 7' TERM; echo ready >> {0}; while :; do sleep 0.02; done",
        heard.display()
    );
    let mut run = Run::start(&scene, "one", &[], &["sh", "-c", &script]);
    let has = |word: &str| {
        let text = fs::read_to_string(&heard).unwrap_or_default();
        text.lines().filter(|line| *line == word).count()
    };
    eventually("the command is ready", LONG, || (has("ready") == 1).then_some(()));
    let signals = [
        ("HUP", Signal::HUP),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
        ("WINCH", Signal::WINCH),
        ("INT", Signal::INT),
        ("QUIT", Signal::QUIT),
        ("CONT", Signal::CONT),
    ];
    for (name, signal) in signals {
        run.signal(signal);
        eventually(name, LONG, || (has(name) == 1).then_some(()));
    }
    run.signal(Signal::TERM);
    run.ends_with(7, "command");
    assert!(signals.iter().all(|(name, _)| has(name) == 1) && has("TERM") == 1, "each once");
}

#[test]
fn what_a_parent_has_blocked_is_heard() {
    let scene = Scene::new();
    let mut run = Run::start_by("--block-signal=TERM", &scene, "one", &[], &["sleep", "60"]);
    run.told("command-started");
    run.signal(Signal::TERM);
    run.ends_with(143, "command");
}

#[test]
fn what_was_ignored_stays_ignored_for_the_command() {
    let scene = Scene::new();
    let script =
        format!("trap '' HUP; {TENURE} run --backend {} x -- sh -c 'kill -HUP $$; echo survived'", scene.backend());
    let said = output(Command::new("sh").args(["-c", &script]).env(MARK, &scene.folder).stdin(Stdio::null()));
    assert_eq!(String::from_utf8_lossy(&said.stdout), "survived\n", "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn a_command_that_was_stopped_goes_on_with_its_supervisor() {
    let scene = Scene::new();
    let mut run = Run::start(&scene, "one", &[], &["sleep", "60"]);
    let pid = run.told("command-started")["pid"].as_i64().and_then(|pid| Pid::from_raw(pid as i32)).expect("a number");
    let is_stopped = || state_of(pid) == Some('T');
    run.signal(Signal::TSTP);
    eventually("it is stopped", LONG, || is_stopped().then_some(()));
    run.signal(Signal::CONT);
    eventually("it goes on", LONG, || (!is_stopped()).then_some(()));
    run.signal(Signal::TERM);
    run.ends_with(143, "command");
}

#[test]
fn a_job_is_stopped_also_while_it_only_holds_the_office() {
    let scene = Scene::new();
    let mut run = Run::start(&scene, "one", &["--at-least", "10m"], &["true"]);
    run.told("holding");
    run.signal(Signal::TSTP);
    eventually("it is stopped", LONG, || (state_of(run.pid()) == Some('T')).then_some(()));
    run.signal(Signal::CONT);
    eventually("it goes on", LONG, || (state_of(run.pid()) != Some('T')).then_some(()));
    run.signal(Signal::TERM);
    run.ends_with(0, "command");
}
