//! The command line on a real etcd.

mod common;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::run::{LONG_LEASE, Run, TIMING, TTL};
use common::{LONG, Scene, TENURE, eventually};
use rustix::process::Signal;
use serde_json::Value;
use testbed::Trials;
use testbed::etcd::{Elect, Etcd, missing};

fn main() {
    Trials::new()
        .at_once(2)
        .needing(missing(), "a_supervisor_that_is_killed_hands_over_at_once", a_killed_supervisor_hands_over)
        .needing(missing(), "a_password_comes_by_the_environment_or_a_file", passwords_come_from_elsewhere)
        .needing(missing(), "beside_other_programs_less_is_promised_and_a_winner_settles", beside_other_programs)
        .needing(missing(), "the_token_base_is_added_wherever_the_office_is_used", the_token_base_is_added)
        .needing(missing(), "after_a_restore_the_alarm_names_the_base_that_helps", after_a_restore)
        .main()
}

fn tenure(url: &str) -> Command {
    let mut command = Command::new(TENURE);
    command.env("TENURE_BACKEND", url).env_remove("TENURE_JSON").stdin(Stdio::null());
    command
}

fn status(url: &str, flags: &[&str]) -> Value {
    let Output { status, stdout, stderr } =
        tenure(url).args(["status", "office", "--json"]).args(flags).output().expect("it can be started");
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    serde_json::from_slice(&stdout).expect("one object")
}

/// DESIGN: the guardian that is left alone ends the tree, and gives the office up by the tenure's id alone.
fn a_killed_supervisor_hands_over() {
    let etcd = Etcd::start().expect("etcd starts");
    let scene = Scene::on(format!("{}/services", etcd.url()));
    let first = Run::start(&scene, "first", &LONG_LEASE, &["sleep", "1000"]);
    first.told("command-started");
    let second = Run::start(&scene, "second", &LONG_LEASE, &["sleep", "1000"]);
    second.told("waiting");
    let lease = Duration::from_secs(20);
    let killed = Instant::now();
    first.signal(Signal::KILL);
    second.told("command-started");
    assert!(killed.elapsed() < lease / 2, "nobody gave the office up, and its lease was waited out");
    eventually("the first command is gone", LONG, || (scene.left_running().len() == 1).then_some(()));
}

/// SAFETY security: a secret stands on no command line.
fn passwords_come_from_elsewhere() {
    let mut etcd = Etcd::start().expect("etcd starts");
    etcd.admit_only("candidate", "s3cret", "services/").expect("users can be switched on");
    let host = etcd.address();
    let status = |url: &str, password: Option<&str>| {
        let mut command = tenure(url);
        if let Some(password) = password {
            command.env("TENURE_ETCD_PASSWORD", password);
        }
        let output = command.args(["status", "nightly"]).output().expect("it can be started");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let url = format!("etcd://candidate@{host}/services");
    let (_, said) = status(&url, None);
    assert!(said.contains("TENURE_ETCD_PASSWORD is not set"), "{said}");
    let (refused, said) = status(&url, Some("wrong"));
    assert!(said.contains("does not accept the password"), "{said}");
    let (vacant, said) = status(&url, Some("s3cret"));
    assert_ne!(vacant, refused, "{said}");
    let file = etcd.place().folder().join("password");
    std::fs::write(&file, "s3cret\n").expect("it can be written");
    assert_eq!(status(&format!("{url}?password-file={}", file.display()), None).0, vacant);
    let (elsewhere, said) = status(&format!("etcd://candidate@{host}/other"), Some("s3cret"));
    assert_eq!(elsewhere, refused);
    assert!(said.contains("grant its role the prefix"), "{said}");
}

/// SAFETY 14, 20: `etcdctl elect` shows no token, and may be at work after it resigned.
fn beside_other_programs() {
    let etcd = Etcd::start().expect("etcd starts");
    let scene = Scene::on(format!("{}?peers=elections", etcd.url()));
    assert_eq!(status(&etcd.url(), &[])["promise"], "fenced");
    assert_eq!(status(&scene.backend(), &[])["promise"], "lease-only");

    let refused = tenure(&scene.backend()).args(["run", "office", "--require", "fenced", "--", "true"]).output();
    assert_eq!(refused.expect("it can be started").status.code(), Some(64));

    let foreign = Elect::start(&etcd, "office", "foreign").expect("it can be started");
    eventually("it leads", LONG, || (status(&scene.backend(), &[])["leader"]["id"] == "foreign").then_some(()));
    let run = Run::start(&scene, "ours", &TIMING, &["sleep", "1000"]);
    let standing = run.told("standing");
    assert_eq!((&standing["promise"], standing["settle"].as_f64()), (&"lease-only".into(), Some(TTL.as_secs_f64())));
    assert_eq!(run.told("waiting")["leader"]["id"], "foreign");
    let ended = Instant::now();
    foreign.resign().expect("it runs");
    run.told("command-started");
    assert!(ended.elapsed() >= TTL, "{:?}", ended.elapsed());
    let events = run.events();
    let position = |name: &str| events.iter().position(|event| event["event"] == name).expect("it is told of");
    assert!(position("settling") < position("elected"), "{events:#?}");
    drop(run);

    let at_once = Run::start(&scene, "ours", &[&TIMING[..], &["--settle", "0s"]].concat(), &["sleep", "1000"]);
    at_once.told("command-started");
    assert!(at_once.event("settling").is_none(), "{:#?}", at_once.events());
}

fn the_token_base_is_added() {
    let etcd = Etcd::start().expect("etcd starts");
    let scene = Scene::on(etcd.url());
    let base = ["--token-base", "1000000"];
    let run = Run::start(&scene, "one", &[&TIMING[..], &base[..]].concat(), &["sleep", "1000"]);
    let token = run.told("elected")["token"].as_u64().expect("etcd has tokens");
    assert!(token > 1_000_000, "{token}");
    assert_eq!(status(&etcd.url(), &base)["leader"]["token"], token);
    assert_eq!(status(&etcd.url(), &[])["leader"]["token"], token - 1_000_000, "what etcd itself counts");
}

/// SAFETY 18: whoever remembers does not lead with a number that was used, and says what to do.
fn after_a_restore() {
    let (mut etcd, old) = Etcd::with_a_past().expect("etcd starts");
    let scene = Scene::on(etcd.url());
    let first = Run::start(&scene, "first", &TIMING, &["sleep", "1000"]);
    let used = first.told("elected")["token"].as_u64().expect("etcd has tokens");
    let mut second = Run::start(&scene, "second", &TIMING, &["sleep", "1000"]);
    assert_eq!(second.told("waiting")["leader"]["token"], used);
    etcd.kill();
    drop(first);
    etcd.restore(&old).expect("a copy can be put back");
    etcd.restart().expect("it starts again");
    let alarm = second.told("alarm")["message"].as_str().expect("a sentence").to_owned();
    assert!(alarm.contains("went back") && alarm.ends_with("--token-base sets it"), "{alarm}");
    assert!(second.event("elected").is_none(), "{:#?}", second.events());
    let (_, higher) = alarm.split_once("at least ").expect("it names a number");
    let base = higher.split(' ').next().expect("it names a number");
    second.signal(Signal::TERM);
    second.ended();
    let third = Run::start(&scene, "third", &[&TIMING[..], &["--token-base", base]].concat(), &["sleep", "1000"]);
    let token = third.told("elected")["token"].as_u64().expect("etcd has tokens");
    assert!(token > used, "{token} after {used}");
}
