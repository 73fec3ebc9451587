//! The command line as people meet it: every help, every refusal and every exit status, as golden files. It is long because one look at it
//! shall show what is covered.
//!
//! `TENURE_UPDATE_SNAPSHOTS=1 cargo test -p tenure-cli --test cli` writes them anew; read the difference before you keep it.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::run::{Run, TIMING};
use common::{LONG, MARK, SECOND, Scene, TENURE, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A call of tenure in which nothing of this machine's environment counts.
fn tenure(arguments: &[&str]) -> Command {
    let mut command = Command::new(TENURE);
    command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("COLUMNS", "80").stdin(Stdio::null());
    // A fault that is planted for this test is planted for what it tests.
    command.envs(std::env::var_os("TENURE_MUTANT").map(|mutant| ("TENURE_MUTANT", mutant)));
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("tenure can be started")
}

/// Compares with a golden file.
#[track_caller]
fn snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("TENURE_UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
        fs::write(&path, text).expect("it can be written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text,
        golden,
        "{} is out of date; read the difference, then set TENURE_UPDATE_SNAPSHOTS=1",
        path.display()
    );
}

#[test]
fn help_reads_well_at_eighty_columns() {
    let mut all = String::new();
    for verb in ["", "run", "status", "watch", "resign", "demo", "completions", "man"] {
        for flag in ["-h", "--help"] {
            let arguments: Vec<&str> = [verb, flag].into_iter().filter(|word| !word.is_empty()).collect();
            let help = output(&mut tenure(&arguments));
            assert!(help.status.success());
            let text = String::from_utf8(help.stdout).expect("UTF-8");
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "too wide in {arguments:?}: {line}");
            }
            if flag == "--help" {
                all += &format!("$ tenure {}\n{text}\n", arguments.join(" "));
            }
        }
    }
    snapshot("help", &all);
}

#[test]
fn every_wrong_invocation_says_what_to_do() {
    let scene = Scene::new();
    let plain = scene.path("plain");
    fs::write(&plain, "no program").expect("it can be written");
    let (plain, folder) = (plain.to_str().expect("UTF-8"), scene.folder.to_str().expect("UTF-8"));
    let beneath_a_file = format!("file:{plain}/beneath");
    let unwritable = beneath_a_file.as_str();
    let secret = "redis://ada:s3cret@host:6379/0";
    let cases: &[&[&str]] = &[
        &[],
        &["walk"],
        &["run"],
        &["run", "x"],
        &["run", "x", "true"],
        &["run", "x", "--"],
        &["run", "--", "true"],
        &["run", "a b", "--", "true"],
        &["run", "../x", "--", "true"],
        &["run", "--nonsense", "x", "--", "true"],
        &["run", "x", "--", "no-such-command"],
        &["run", "x", "--", "./no-such-command"],
        &["run", "x", "--", folder],
        &["run", "x", "--", plain],
        &["run", "x", "--", ""],
        &["run", "--ttl", "15", "x", "--", "true"],
        &["run", "--ttl", "soon", "x", "--", "true"],
        &["run", "--ttl", "0s", "x", "--", "true"],
        &["run", "--ttl", "48h", "x", "--", "true"],
        &["run", "--ttl", "2s", "x", "--", "true"],
        &["run", "--grace", "10s", "x", "--", "true"],
        &["run", "--renew", "14s", "x", "--", "true"],
        &["run", "--renew", "0s", "x", "--", "true"],
        &["run", "--slots", "0", "x", "--", "true"],
        &["run", "--settle", "soon", "x", "--", "true"],
        &["run", "--token-base=-1", "x", "--", "true"],
        &["status", "--token-base", "9223372036854775808", "x"],
        &["run", "--signal", "FOO", "x", "--", "true"],
        &["run", "--on-exit", "dance", "x", "--", "true"],
        &["run", "--after-loss", "dance", "x", "--", "true"],
        &["run", "--containment", "jail", "x", "--", "true"],
        &["run", "--require-containment", "jail", "x", "--", "true"],
        &["run", "--require", "magic", "x", "--", "true"],
        &["run", "--log", "loud", "x", "--", "true"],
        &["run", "--json=/proc/no/such/place", "x", "--", "true"],
        &["run", "--id", "line\nbreak", "x", "--", "true"],
        &["run", "--backend", "mongodb://host/db", "x", "--", "true"],
        &["run", "--backend", "here", "x", "--", "true"],
        &["run", "--backend", "file:", "x", "--", "true"],
        &["run", "--backend", "file://host/x", "x", "--", "true"],
        &["run", "--backend", "etcd://host?peers=lockers", "x", "--", "true"],
        &["run", "--backend", "redis://host?peers=elections", "x", "--", "true"],
        &["run", "--backend", secret, "x", "--", "true"],
        &["run", "--backend-file", "/no/such/file", "x", "--", "true"],
        &["run", "--backend", "file:here", "--backend-file", "/no/such/file", "x", "--", "true"],
        &["run", "--backend", &beneath_a_file, "x", "--", "true"],
        &["run", "--backend", unwritable, "x", "--", "true"],
        &["status"],
        &["status", "a b"],
        &["status", "--backend", secret, "x"],
        &["watch", "--backend", unwritable, "x"],
        &["resign", "--backend", unwritable, "x"],
        &["completions", "cobol"],
        &["man", "cobol"],
        &["__guardian"],
        &["__shim", "--", "true"],
    ];
    let backend = scene.backend();
    let mut all = String::new();
    for arguments in cases {
        let mut command = tenure(arguments);
        if !arguments.iter().any(|argument| argument.starts_with("--backend")) {
            command.env("TENURE_BACKEND", &backend);
        }
        let said = output(&mut command);
        let text = String::from_utf8(said.stderr).expect("UTF-8").replace(folder, "DIR");
        assert!(said.stdout.is_empty() && !text.is_empty(), "{arguments:?} says nothing");
        assert!(!text.contains("s3cret"), "{arguments:?} shows a secret: {text}");
        let code = said.status.code().expect("it exits");
        assert!(matches!(code, 64 | 69 | 126 | 127), "{arguments:?} exits with {code}");
        let line = arguments.join(" ").replace(folder, "DIR").escape_debug().to_string();
        all += &format!("$ tenure {line}\n{text}[exit {code}]\n\n");
    }
    snapshot("refusals", &all);
}

#[test]
fn a_wrong_invocation_names_its_origin_in_json_too() {
    for arguments in [&["run", "--json", "x"][..], &["run", "--json", "--grace", "60s", "x", "--", "true"]] {
        let said = output(&mut tenure(arguments));
        assert_eq!(said.status.code(), Some(64));
        let text = String::from_utf8(said.stderr).expect("UTF-8");
        let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
        assert_eq!((last["event"].as_str(), last["origin"].as_str()), (Some("exit"), Some("usage")), "{text}");
        assert_eq!(last["status"], 64);
    }
    // However it was asked for.
    let scene = Scene::new();
    let events = scene.path("events");
    let to_file = format!("--json={}", events.display());
    let wrong = |flag: Option<&str>, variable: Option<&str>| {
        let mut command = tenure(&["run"]);
        command.args(flag).args(["x", "--ttl", "soon", "--", "true", "--json=x"]);
        let said = output(command.envs(variable.map(|value| ("TENURE_JSON", value))));
        assert_eq!(said.status.code(), Some(64));
        String::from_utf8(said.stderr).expect("UTF-8")
    };
    let is_last = |text: &str| {
        let line = text.lines().last().unwrap_or_default();
        line.contains(r#""origin":"usage""#) && line.contains("'soon' for '--ttl")
    };
    assert!(is_last(&wrong(Some("--json=-"), None)) && is_last(&wrong(None, Some("1"))));
    assert!(!is_last(&wrong(None, None)) && !is_last(&wrong(None, Some(""))) && !is_last(&wrong(None, Some("off"))));
    assert!(!is_last(&wrong(Some(&to_file), Some("1"))));
    assert!(is_last(&fs::read_to_string(events).expect("it was written")));
}

#[test]
fn what_is_typed_counts_more_than_the_environment_and_an_empty_variable_is_none() {
    let scene = Scene::new();
    fs::create_dir(scene.path("backend")).expect("it can be made");
    let address = scene.path("address");
    fs::write(&address, scene.backend()).expect("it can be written");
    let address = address.to_str().expect("UTF-8");
    let (here, elsewhere) = (scene.backend(), scene.path("elsewhere").to_str().expect("UTF-8").to_owned());
    let place = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = tenure(&["status", "--json", "x"]);
        let said = output(command.args(arguments).envs(variables.iter().copied()));
        let status: Option<Value> = serde_json::from_slice(&said.stdout).ok();
        status.map(|status| status["backend"].as_str().expect("an address").to_owned()).ok_or(said.status.code())
    };
    assert_eq!(place(&["--backend", &here], &[("TENURE_BACKEND_FILE", "/no/such/file")]), Ok(here.clone()));
    assert_eq!(place(&["--backend-file", address], &[("TENURE_BACKEND", "redis://host")]), Ok(here.clone()));
    assert_eq!(place(&["--backend-file", address], &[("TENURE_BACKEND", "")]), Ok(here.clone()));
    assert_eq!(place(&[], &[("TENURE_BACKEND", &here), ("TENURE_BACKEND_FILE", "")]), Ok(here.clone()));
    let both = [("TENURE_BACKEND", here.as_str()), ("TENURE_BACKEND_FILE", address)];
    assert_eq!(place(&[], &both), Err(Some(64)));
    assert!(!Path::new(&elsewhere).exists());

    let mut command = tenure(&["run", "--backend", &here, "x", "--", "true"]);
    let help = String::from_utf8(output(&mut tenure(&["run", "--help"])).stdout).expect("UTF-8");
    let variables = help.split("[env: ").skip(1).filter_map(|rest| rest.split(['=', ']']).next());
    let variables: Vec<&str> = variables.collect();
    assert!(variables.len() > 15, "{variables:?}");
    let said = output(command.envs(variables.into_iter().map(|name| (name, ""))));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn a_wait_that_is_typed_counts_more_than_none_in_the_environment() {
    let scene = Scene::new();
    let run = Run::start(&scene, "pod-1", &[], &["sleep", "60"]);
    run.told("command-started");
    let origin = |flags: &[&str]| {
        let mut command = tenure(&["run", "--json", "--backend", &scene.backend()]);
        command.args(flags).args(["office", "--", "true"]).env("TENURE_NO_WAIT", "1");
        let said = output(&mut command);
        let told = String::from_utf8(said.stderr).expect("UTF-8");
        let last: Value = serde_json::from_str(told.lines().last().expect("a line")).expect("an object");
        last["origin"].as_str().expect("an origin").to_owned()
    };
    assert_eq!(origin(&[]), "held");
    assert_eq!(origin(&["--max-wait", "100ms"]), "waited-too-long");
    assert_eq!(origin(&["--max-wait", "100ms", "--no-wait"]), "held");
}

#[test]
fn whoever_only_looks_makes_no_folder() {
    let scene = Scene::new();
    for verb in ["status", "resign"] {
        let said = output(&mut tenure(&[verb, "--backend", &scene.backend(), "--json", "office"]));
        let told = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.status.success() && told.contains("does not exist"), "{told}");
        let object: Value = serde_json::from_slice(&said.stdout).expect("one object");
        assert_eq!((object["election"].as_str(), &object["leader"]), (Some("office"), &Value::Null));
        assert!(!scene.path("backend").exists(), "{verb} has made it");
    }
}

#[test]
fn a_secret_may_come_by_the_environment_or_a_file_and_is_not_shown() {
    let scene = Scene::new();
    let file = scene.path("address");
    fs::write(&file, "mongodb://ada:s3cret@host:6379/0\n").expect("it can be written");
    let by_environment = output(tenure(&["status", "x"]).env("TENURE_BACKEND", "mongodb://ada:s3cret@host:6379/0"));
    let by_file = output(&mut tenure(&["status", "x", "--backend-file", file.to_str().expect("UTF-8")]));
    for said in [by_environment, by_file] {
        let text = String::from_utf8(said.stderr).expect("UTF-8");
        assert!(text.starts_with("tenure: there is no backend `mongodb:`; there is file:DIR"), "{text}");
        assert_eq!(said.status.code(), Some(64));
    }
    let help = output(tenure(&["run", "--help"]).env("TENURE_BACKEND", "mongodb://ada:s3cret@host:6379/0"));
    assert!(!String::from_utf8(help.stdout).expect("UTF-8").contains("s3cret"));
}

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
fn what_was_ignored_stays_ignored_for_the_command() {
    let scene = Scene::new();
    let script =
        format!("trap '' HUP; {TENURE} run --backend {} x -- sh -c 'kill -HUP $$; echo survived'", scene.backend());
    let said = output(Command::new("sh").args(["-c", &script]).env(MARK, &scene.folder).stdin(Stdio::null()));
    assert_eq!(String::from_utf8_lossy(&said.stdout), "survived\n", "{}", String::from_utf8_lossy(&said.stderr));
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
    assert_eq!(std::fs::read_to_string(once).unwrap(), "ran\n");
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
fn status_names_the_leader_its_token_and_since_when() {
    let scene = Scene::new();
    let mut run = Run::start(&scene, "pod-1", &[], &["sleep", "60"]);
    let token = run.told("elected")["token"].clone();
    let leader = status(&scene)["leader"].clone();
    assert_eq!((leader["id"].as_str(), &leader["token"]), (Some("pod-1"), &token));
    assert!(leader["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{leader}");
    let said = output(&mut tenure(&["status", "--backend", &scene.backend(), "office"]));
    let text = String::from_utf8(said.stdout).expect("UTF-8");
    assert!(text.starts_with("office: pod-1 leads since "), "{text}");
    assert!(text.contains(&format!("token {token}")), "{text}");
    run.told("command-started");
    run.signal(Signal::TERM);
    run.ends_with(143, "command");
}

fn status(scene: &Scene) -> Value {
    let said = output(&mut tenure(&["status", "--backend", &scene.backend(), "--json", "office"]));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).expect("one object")
}

#[test]
fn watch_tells_the_present_state_and_every_change_with_tokens_that_rise() {
    let scene = Scene::new();
    let lines = scene.path("watch");
    let stdout = File::create(&lines).expect("it can be made");
    let mut watch = tenure(&["watch", "--backend", &scene.backend(), "--json", "office"]);
    let mut watch = watch.stdout(stdout).env(MARK, &scene.folder).spawn().expect("it starts");
    let heard = || -> Vec<Value> {
        let text = fs::read_to_string(&lines).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    eventually("the present state", LONG, || (heard().len() == 1).then_some(()));
    assert!(!scene.path("backend").exists(), "whoever only looks makes no folder");
    assert_eq!((heard()[0]["event"].as_str(), &heard()[0]["leader"]), (Some("current"), &Value::Null));
    for _ in 0..3 {
        let mut run = Run::start(&scene, "pod-1", &[], &["sleep", "60"]);
        let token = run.told("elected")["token"].clone();
        run.told("command-started");
        eventually("the leader", LONG, || (heard().last()?["leader"]["token"] == token).then_some(()));
        run.signal(Signal::TERM);
        run.ends_with(143, "command");
        eventually("nobody", LONG, || heard().last()?["leader"].is_null().then_some(()));
    }
    let tokens: Vec<u64> = heard().iter().filter_map(|line| line["leader"]["token"].as_u64()).collect();
    assert!(tokens.len() >= 3 && tokens.is_sorted(), "{tokens:?}");
    watch.kill().expect("it runs");
    watch.wait().expect("it ends");
}

#[test]
fn resigning_an_office_that_nobody_holds_is_no_failure() {
    let scene = Scene::new();
    let said = output(&mut tenure(&["resign", "--backend", &scene.backend(), "office"]));
    assert!(said.status.success());
    assert_eq!(String::from_utf8_lossy(&said.stdout), "office: nobody leads\n");
}

#[test]
fn an_empty_name_falls_back_to_the_hosts() {
    // SEEDS 54
    let scene = Scene::new();
    let mut run = Run::start(&scene, "", &[], &["true"]);
    run.ends_with(0, "command");
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert_eq!(run.told("standing")["id"].as_str(), Some(host.as_str()));
}

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

/// As `/proc` has it: `S`leeping, s`T`opped, a `Z`ombie.
fn state_of(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
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
        let children = common::run::children(run.pid());
        (children.len() == 1 && state_of(children[0]) != Some('Z')).then_some(())
    });
    run.signal(Signal::TERM);
    run.ends_with(143, "command");
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
fn a_store_that_goes_away_ends_leadership_and_the_command() {
    let scene = Scene::new();
    let mut run = Run::start(&scene, "one", &TIMING, &["sleep", "60"]);
    run.told("command-started");
    fs::rename(scene.path("backend"), scene.path("elsewhere")).expect("it can be moved");
    run.ends_with(75, "leadership-lost");
    assert!(scene.left_running().is_empty());
    let events = run.events();
    let tries: Vec<&Value> = events.iter().filter(|event| event["event"] == "trying").collect();
    assert!(!tries.is_empty());
    assert!(tries.windows(2).all(|pair| pair[0]["message"] != pair[1]["message"]), "the same is told once: {tries:#?}");
}

#[test]
fn a_store_that_comes_back_is_run_for_again_and_nobody_makes_another() {
    let scene = Scene::new();
    // One that rests only shortly is back before the last withdrawal was given up.
    let flags = [&TIMING[..], &["--after-loss", "campaign", "--retry", "50ms"]].concat();
    let mut run = Run::start(&scene, "one", &flags, &["sleep", "60"]);
    run.told("command-started");
    fs::rename(scene.path("backend"), scene.path("elsewhere")).expect("it can be moved");
    run.told("lost");
    // Longer than a lease, and than anybody tries to give it up.
    std::thread::sleep(SECOND * 6);
    assert!(!scene.path("backend").exists(), "an empty folder shows no holder");
    let elected = |run: &Run| run.events().iter().filter(|event| event["event"] == "elected").count();
    assert_eq!(elected(&run), 1);
    fs::rename(scene.path("elsewhere"), scene.path("backend")).expect("it can be moved");
    eventually("it leads again", LONG, || (elected(&run) == 2).then_some(()));
    eventually("its command runs", LONG, || (scene.left_running().len() == 1).then_some(()));
    run.signal(Signal::TERM);
    run.ends_with(143, "command");
}

#[test]
fn a_store_that_cannot_be_reached_is_no_office_that_is_held() {
    let scene = Scene::new();
    let mut run = Run::start(&scene, "one", &[], &["true"]);
    run.ends_with(0, "command");
    // The lease file became something that no one can read.
    let lease = scene.path("backend").join("office.json");
    fs::remove_file(&lease).expect("it is there");
    fs::create_dir(&lease).expect("it can be made");
    let mut run = Run::start(&scene, "one", &["--no-wait"], &["true"]);
    let status = run.ended();
    assert_eq!(status.code(), Some(69), "{:#?}", run.events());
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
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = output(&mut tenure(&["completions", shell]));
        assert!(said.status.success() && said.stdout.len() > 500, "{shell}");
    }
    let page = String::from_utf8(output(&mut tenure(&["man"])).stdout).expect("UTF-8");
    assert!(page.contains(".TH tenure 1") && page.contains(".SH \"EXIT STATUS\""), "{page}");
    let page = String::from_utf8(output(&mut tenure(&["man", "run"])).stdout).expect("UTF-8");
    assert!(page.contains("leadership was lost") && page.contains("kill\\-margin"), "{page}");
}

#[test]
fn a_reader_that_goes_away_ends_the_telling_without_a_word() {
    let scene = Scene::new();
    let script = format!("{TENURE} watch --backend {} office | head -n 1", scene.backend());
    let mut shell = Command::new("sh").args(["-c", &script]).env(MARK, &scene.folder).stdout(Stdio::null()).spawn();
    let shell = shell.as_mut().expect("sh");
    std::thread::sleep(Duration::from_millis(300));
    let mut run = Run::start(&scene, "one", &[], &["sleep", "0.3"]);
    run.ends_with(0, "command");
    eventually("watch has ended", SECOND * 10, || shell.try_wait().expect("it can be waited for"));
}

#[test]
fn the_demo_plays_its_script_without_a_terminal() {
    let scene = Scene::new();
    let said = output(tenure(&["demo"]).env(MARK, &scene.folder));
    let text = String::from_utf8(said.stdout).expect("UTF-8");
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(text.matches(" leads with token ").count(), 4, "{text}");
    assert!(text.contains("is killed (SIGKILL)") && text.contains("is frozen (SIGSTOP)"), "{text}");
    assert!(text.contains("finds that it does not lead any more"), "{text}");
    // The guardians of those that were ended may take a moment to go.
    eventually("nothing is left running", LONG, || scene.marked().is_empty().then_some(()));
}

/// A copy of tenure that every user can execute, run as one who has no rights.
fn as_nobody(scene: &Scene, home: Option<&str>, arguments: &[&str]) -> Output {
    let copy = scene.path("tenure");
    if !copy.exists() {
        fs::copy(TENURE, &copy).expect("it can be copied");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(copy).args(arguments);
    command.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).current_dir("/");
    command.envs(home.map(|home| ("HOME", home)));
    output(&mut command)
}

#[test]
#[ignore = "needs root, to become another user"]
fn an_ordinary_user_has_a_folder_of_its_own_and_is_told_where_it_has_no_right() {
    let scene = Scene::new();
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).replace(scene.folder.to_str().unwrap(), "DIR");

    let homeless = as_nobody(&scene, None, &["run", "x", "--", "true"]);
    assert_eq!(homeless.status.code(), Some(64));
    assert!(said(&homeless).contains("HOME is not set"), "{}", said(&homeless));

    let home = scene.path("home");
    fs::create_dir(&home).expect("it can be made");
    std::os::unix::fs::chown(&home, Some(65534), Some(65534)).expect("root can");
    let home = home.to_str().expect("UTF-8").to_owned();
    let at_home = as_nobody(&scene, Some(&home), &["run", "x", "--", "sh", "-c", "exit 2"]);
    assert_eq!(at_home.status.code(), Some(2), "{}", said(&at_home));
    assert!(said(&at_home).contains("on file:DIR/home/.local/state/tenure (fenced; containment subreaper)"));

    let closed = as_nobody(&scene, Some("/proc/1"), &["run", "x", "--", "true"]);
    assert_eq!(closed.status.code(), Some(69), "{}", said(&closed));
    let firm = as_nobody(&scene, Some(&home), &["run", "--require-containment", "pid-namespace", "x", "--", "true"]);
    assert_eq!(firm.status.code(), Some(64));
    assert!(
        said(&firm).contains("the best here is subreaper: pid-namespace: Operation not permitted"),
        "{}",
        said(&firm)
    );
}

#[test]
#[ignore = "needs root, to mount a small disk"]
fn a_full_disk_is_told_and_not_taken_for_an_office_that_is_held() {
    let scene = Scene::new();
    let disk = scene.path("disk");
    fs::create_dir(&disk).expect("it can be made");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&disk).status();
    assert!(mounted.is_ok_and(|status| status.success()), "root can mount");
    let _ = fs::write(disk.join("everything"), vec![0; 64 * 1024]);
    let backend = format!("file:{}", disk.join("backend").display());
    let hasty = output(&mut tenure(&["run", "--backend", &backend, "--no-wait", "x", "--", "true"]));
    let patient = output(&mut tenure(&["run", "--backend", &backend, "--max-wait", "300ms", "x", "--", "true"]));
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    for said in [hasty, patient] {
        let text = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(69), "{text}");
        assert!(text.contains("make room on the disk"), "{text}");
    }
}
