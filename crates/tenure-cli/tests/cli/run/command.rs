//! What the command sees, how it is started and started again, and what its end means.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::state_of;
use crate::common::run::{Run, children};
use crate::common::{LONG, MARK, SECOND, Scene, TENURE, eventually};
use crate::status::status;
use crate::{output, tenure};

#[test]
fn the_command_sees_three_variables_of_ours() {
    let scene = Scene::new();
    let mut command = tenure(&["run", "--id", "pod-1", "x", "--", "env"]);
    command.env("TENURE_BACKEND", scene.backend()).env("TENURE_LOG", "off").env("TENURE_SECRET", "s3cret");
    let said = output(command.env("OTHER", "stays"));
    let text = String::from_utf8(said.stdout).expect("UTF-8");
    let mut ours: Vec<&str> = text.lines().filter(|line| line.starts_with("TENURE_")).collect();
    ours.sort_unstable();
    assert_eq!(ours.len(), 3, "{text}");
    assert_eq!((ours[0], ours[1]), ("TENURE_ELECTION=x", "TENURE_ID=pod-1"));
    let token = ours[2].strip_prefix("TENURE_TOKEN=").expect("a token");
    assert!(token.parse::<u64>().is_ok_and(|token| token > 0), "decimal: {token}");
    assert!(text.contains("OTHER=stays"));
    assert!(!text.contains("s3cret") && !text.contains(&scene.backend()));
}

#[test]
fn the_first_process_of_a_namespace_shows_the_command_no_secret() {
    let scene = Scene::new();
    // Where no namespace can be had, it is another's first process, and no secret of ours is in it either.
    let script = "tr '\\0' '\\n' < /proc/1/environ || true";
    let mut command = tenure(&["run", "x", "--", "sh", "-c", script]);
    let said = output(command.env("TENURE_BACKEND", scene.backend()).env("TENURE_REDIS_PASSWORD", "s3cret"));
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success() && !text.contains("s3cret") && !text.contains(&scene.backend()), "{text}");
}

#[test]
fn a_command_that_was_held_firmly_is_not_run_again_more_loosely() {
    // The record says that the kernel ends all of it with its guardian; the next candidate counts on that.
    let scene = Scene::new();
    let once = scene.path("once");
    let command = format!("echo ran >> {}; echo 0 > /proc/sys/user/max_pid_namespaces", once.display());
    // Without the rule it would be started again and again.
    let mut process = Command::new("timeout");
    process.args([
        "20",
        "unshare",
        "-Urmpf",
        "--mount-proc",
        "sh",
        "-c",
        "\"$@\"; exit $?",
        "sh",
        TENURE,
        "run",
        "--on-exit",
        "restart",
    ]);
    process.args(["--backend", &scene.backend(), "office", "--", "sh", "-c", &command]).env(MARK, &scene.folder);
    let said = output(process.stdin(Stdio::null()));
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(70), "{told}");
    assert!(told.contains("was held by pid-namespace"), "{told}");
    assert_eq!(fs::read_to_string(once).unwrap(), "ran\n");
}

#[test]
fn the_containment_is_told_and_can_be_required() {
    let scene = Scene::new();
    let mut run = Run::start(&scene, "one", &["--containment", "subreaper"], &["true"]);
    run.ends_with(0, "command");
    assert_eq!(run.told("standing")["containment"], "subreaper");
    let flags = ["--containment", "subreaper", "--require-containment", "cgroup"];
    let mut run = Run::start(&scene, "one", &flags, &["true"]);
    run.ends_with(64, "usage");
    let flags = ["--containment", "subreaper", "--require-containment", "subreaper", "--require", "fenced"];
    let mut run = Run::start(&scene, "one", &flags, &["true"]);
    run.ends_with(0, "command");
}

/// The means to start it went away while the office was waited for: that is no command that was killed.
#[test]
fn a_command_that_could_not_be_started_did_not_end() {
    for level in ["pid-namespace", "cgroup", "subreaper", "process-group"] {
        let scene = Scene::new();
        let holder = Run::start(&scene, "holder", &[], &["sleep", "60"]);
        holder.told("command-started");
        let binary = scene.path("tenure");
        // By another process: what this one has open for writing, a fork of another test may keep open, and then it is not executed.
        let copied = Command::new("cp").arg(TENURE).arg(&binary).status().expect("cp");
        assert!(copied.success());
        let events = scene.path("events");
        let mut waiting = Command::new(&binary);
        waiting.args(["run", "--backend", &scene.backend(), "--containment", level]).env(MARK, &scene.folder);
        waiting.arg(format!("--json={}", events.display())).args(["office", "--", "true"]).stderr(Stdio::null());
        let mut waiting = waiting.spawn().expect("it starts");
        let told = || fs::read_to_string(&events).unwrap_or_default();
        eventually("it waits, or is refused", LONG, || {
            (told().contains("waiting") || told().contains("exit")).then_some(())
        });
        if told().contains("cannot be had") {
            waiting.wait().expect("it ends");
            continue;
        }
        fs::set_permissions(&binary, PermissionsExt::from_mode(0o600)).expect("it is ours");
        holder.signal(Signal::TERM);
        let status = eventually("its end", LONG, || waiting.try_wait().expect("it can be waited for"));
        assert_eq!(status.code(), Some(126), "{level}: {}", told());
        assert!(told().contains("true cannot be run") && !told().contains("command-ended"), "{level}: {}", told());
    }
}

#[test]
fn a_long_command_line_is_passed_on_and_one_too_long_is_refused() {
    let scene = Scene::new();
    let long = "x".repeat(100_000);
    let mut command = tenure(&["run", "--backend", &scene.backend(), "office", "--", "printf", "%s", &long]);
    let said = output(&mut command);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(said.stdout.len(), 100_000);
    // What just fits for us does not fit any more with what the guardian is told.
    let mut refused = None;
    for length in (0..40).map(|step| 2_090_000 - step * 128) {
        let words = vec!["x"; length / 10];
        let mut command = tenure(&["run", "--backend", &scene.backend(), "office", "--", "true"]);
        match command.args(&words).env_clear().output() {
            Ok(said) if said.status.success() => break,
            Ok(said) => refused = Some(said),
            Err(_) => {}
        }
    }
    if let Some(said) = refused {
        assert_eq!(said.status.code(), Some(126), "{}", String::from_utf8_lossy(&said.stderr));
    }
}

#[test]
fn the_office_is_given_up_when_the_command_ends() {
    let scene = Scene::new();
    let mut run = Run::start(&scene, "one", &[], &["true"]);
    run.ends_with(0, "command");
    let status = status(&scene);
    assert_eq!(status["leader"], Value::Null);
    assert_eq!((status["election"].as_str(), status["promise"].as_str()), (Some("office"), Some("fenced")));
    assert_eq!(status["backend"].as_str(), Some(scene.backend().as_str()));
}

#[test]
fn a_command_is_started_again_where_that_was_said() {
    let scene = Scene::new();
    let starts = scene.path("starts");
    let script = format!("echo $TENURE_TOKEN >> {}; exit 1", starts.display());
    let mut run = Run::start(&scene, "one", &["--on-exit", "restart"], &["sh", "-c", &script]);
    let lines = || fs::read_to_string(&starts).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    eventually("three starts", LONG, || (lines().len() >= 3).then_some(()));
    run.told("restarting");
    std::thread::sleep(Duration::from_millis(200));
    run.signal(Signal::TERM);
    // Between two commands it is a signal to us, and the office is given up.
    run.ends_with(143, "signal");
    assert_eq!(status(&scene)["leader"], Value::Null);
    let tokens = lines();
    assert!(tokens.iter().all(|token| *token == tokens[0]), "one tenure: {tokens:?}");
}

#[test]
fn a_guardian_whose_work_is_done_is_waited_for() {
    let scene = Scene::new();
    let once = scene.path("once");
    let script = format!("[ -e {0} ] && exec sleep 60; touch {0}", once.display());
    let mut run = Run::start(&scene, "one", &["--on-exit", "restart"], &["sh", "-c", &script]);
    let started = |run: &Run| run.events().iter().filter(|event| event["event"] == "command-started").count();
    eventually("it was started again", LONG, || (started(&run) == 2).then_some(()));
    eventually("no dead child is left", SECOND * 10, || {
        let children = children(run.pid());
        (children.len() == 1 && state_of(children[0]) != Some('Z')).then_some(())
    });
    run.signal(Signal::TERM);
    run.ends_with(143, "command");
}

#[test]
fn whoever_campaigns_again_gets_a_new_token() {
    let scene = Scene::new();
    let starts = scene.path("starts");
    let script = format!("echo $TENURE_TOKEN >> {}", starts.display());
    let flags = ["--on-exit", "campaign", "--retry", "50ms"];
    let mut run = Run::start(&scene, "one", &flags, &["sh", "-c", &script]);
    let lines = || -> Vec<u64> {
        let text = fs::read_to_string(&starts).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    eventually("three tenures", LONG, || (lines().len() >= 3).then_some(()));
    run.signal(Signal::TERM);
    run.ended();
    assert!(lines().windows(2).all(|pair| pair[0] < pair[1]), "{:?}", lines());
}

#[test]
fn closed_streams_and_a_full_disk_are_borne() {
    let scene = Scene::new();
    let run = |redirections: &str, verb: &str| {
        let script = format!("{TENURE} {verb} --backend {} {redirections}", scene.backend());
        output(Command::new("sh").args(["-c", &script]).env(MARK, &scene.folder))
    };
    let said = run("x -- sh -c 'exit 3' <&- >&- 2>&-", "run");
    assert_eq!(said.status.code(), Some(3));
    let said = run("x -- sh -c 'exit 3' >/dev/full 2>/dev/full", "run --json");
    assert_eq!(said.status.code(), Some(3));
    let said = run("x > /dev/full", "status");
    assert_eq!(said.status.code(), Some(74));
    assert!(String::from_utf8_lossy(&said.stderr).contains("cannot be written"));
    let said = run("x >&-", "status");
    assert!(said.status.success(), "what is closed is /dev/null");
}

#[test]
fn events_can_go_to_a_file_and_sentences_stay() {
    let scene = Scene::new();
    let events = scene.path("events");
    let json = format!("--json={}", events.display());
    let said = output(&mut tenure(&["run", "--backend", &scene.backend(), &json, "--id", "pod-1", "x", "--", "true"]));
    let sentences = String::from_utf8(said.stderr).expect("UTF-8");
    assert!(sentences.contains("tenure: pod-1 runs for x on file:"), "{sentences}");
    assert!(sentences.contains("tenure: leading x with token "), "{sentences}");
    let text = fs::read_to_string(events).expect("it was written");
    let names: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["event"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(names, ["standing", "elected", "command-started", "command-ended", "resigned", "exit"]);
}
