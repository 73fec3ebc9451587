//! The command line on a real Redis server.

mod common;

use std::process::{Command, Output};
use std::time::Instant;

use common::run::{LONG_LEASE, Run, TIMING, TTL};
use common::{LONG, Scene, TENURE, eventually};
use rustix::process::Signal;
use serde_json::Value;
use testbed::Trials;
use testbed::redis::{Fsync, Redis, missing};

fn main() {
    Trials::new()
        .at_once(2)
        .needing(missing(), "a_supervisor_that_is_killed_hands_over_at_once", a_killed_supervisor_hands_over)
        .needing(missing(), "status_watch_and_resign_reach_the_holder", status_watch_and_resign_reach_the_holder)
        .needing(missing(), "a_password_comes_by_the_environment_or_a_file", passwords_come_from_elsewhere)
        .needing(missing(), "what_is_required_is_asked_of_the_server", what_is_required_is_asked_of_the_server)
        .needing(missing(), "beside_plain_lockers_a_winner_settles", beside_plain_lockers_a_winner_settles)
        .main()
}

fn tenure(scene: &Scene, arguments: &[&str]) -> Output {
    let mut command = Command::new(TENURE);
    command.args(arguments).env("TENURE_BACKEND", scene.backend()).env_remove("TENURE_JSON");
    command.output().expect("tenure can be started")
}

fn said(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

/// DESIGN: a crashed supervisor fails over like a handover, not after a lease: its guardian ends the tree and withdraws by the tenure's id.
fn a_killed_supervisor_hands_over() {
    let redis = Redis::start().unwrap();
    let scene = Scene::on(redis.url());
    let first = Run::start(&scene, "first", &LONG_LEASE, &["sleep", "1000"]);
    first.told("command-started");
    let second = Run::start(&scene, "second", &LONG_LEASE, &["sleep", "1000"]);
    second.told("standing");
    let lease = std::time::Duration::from_secs(20);
    let killed = Instant::now();
    first.signal(Signal::KILL);
    second.told("command-started");
    assert!(killed.elapsed() < lease / 2, "nobody gave the office up, and its lease was waited out");
    eventually("the first command is gone", LONG, || (scene.left_running().len() == 1).then_some(()));
}

fn status_watch_and_resign_reach_the_holder() {
    let redis = Redis::start().unwrap();
    let scene = Scene::on(redis.url());
    let vacant = tenure(&scene, &["status", "office"]);
    assert!(said(&vacant.stdout).contains("best-effort"), "{vacant:?}");
    let run = Run::start(&scene, "first", &LONG_LEASE, &["sleep", "1000"]);
    run.told("command-started");
    let status = tenure(&scene, &["status", "office", "--json"]);
    let status: Value = serde_json::from_slice(&status.stdout).expect("one object");
    assert_eq!(status["leader"]["id"], "first", "{status}");
    let began = Instant::now();
    let resigned = tenure(&scene, &["resign", "office"]);
    assert!(said(&resigned.stdout).contains("first resigned"), "{resigned:?}");
    // It is told by a push, and not at the next renewal.
    assert!(began.elapsed() < std::time::Duration::from_secs(6), "it took {:?}", began.elapsed());
}

/// Secrets stand on no command line, and no command inherits one.
fn passwords_come_from_elsewhere() {
    let rights = "~tenure:* ~{tenure:*}:token resetchannels &tenure:* &__keyspace@*__:tenure:* +@all";
    let redis = Redis::with().user("ada", "s3cret", rights).users_only().start().unwrap();
    let scene = Scene::on(redis.url());
    let refused = tenure(&scene, &["status", "office"]);
    assert_eq!(refused.status.code(), Some(69), "{refused:?}");
    assert!(said(&refused.stderr).contains("wants a password"), "{refused:?}");
    let with = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = Command::new(TENURE);
        command.args(arguments).env("TENURE_BACKEND", redis.url()).envs(variables.iter().copied());
        command.output().expect("tenure can be started")
    };
    let file = scene.path("password");
    std::fs::write(&file, "s3cret\n").unwrap();
    let file = file.display().to_string();
    let by_file = [("TENURE_REDIS_USERNAME", "ada"), ("TENURE_REDIS_PASSWORD_FILE", file.as_str())];
    let by_environment = [("TENURE_REDIS_USERNAME", "ada"), ("TENURE_REDIS_PASSWORD", "s3cret")];
    for variables in [by_file, by_environment] {
        let taken = with(&variables, &["status", "office"]);
        assert!(taken.status.success(), "{taken:?}");
        let seen = with(&variables, &["run", "office", "--ttl", "5s", "--", "env"]);
        assert!(seen.status.success() && said(&seen.stdout).contains("TENURE_TOKEN="), "{seen:?}");
        assert!(!said(&seen.stdout).contains("s3cret") && !said(&seen.stdout).contains("TENURE_REDIS"), "{seen:?}");
        assert!(!said(&seen.stderr).contains("s3cret"), "{seen:?}");
    }
    let secret = format!("redis://ada:s3cret@{}", redis.address());
    let shown = with(&[], &["status", "office", "--backend", &secret]);
    assert_eq!(shown.status.code(), Some(64), "{shown:?}");
    assert!(!said(&shown.stderr).contains("s3cret"), "{shown:?}");
}

fn what_is_required_is_asked_of_the_server() {
    let (forgetful, durable) = (Redis::start().unwrap(), Redis::with().append_only(Fsync::Always).start().unwrap());
    let run = |redis: &Redis, required: &str| {
        tenure(&Scene::on(redis.url()), &["run", "office", "--require", required, "--ttl", "5s", "--", "true"])
    };
    let refused = run(&forgetful, "fenced");
    assert_eq!(refused.status.code(), Some(64), "{refused:?}");
    assert!(said(&refused.stderr).contains("set appendonly yes and appendfsync always"), "{refused:?}");
    for required in ["fenced", "lease-only"] {
        let taken = run(&durable, required);
        assert!(taken.status.success(), "{taken:?}");
    }
}

/// SAFETY 14, 20: whoever locks the key by `SET NX PX` shows no token, and may be at work after it unlocked.
fn beside_plain_lockers_a_winner_settles() {
    let redis = Redis::with().append_only(Fsync::Always).start().unwrap();
    let scene = Scene::on(format!("{}?peers=lockers", redis.url()));
    redis.ask(&["SET", "tenure:office", "a plain locker", "NX", "PX", "600000"]).unwrap();
    let run = Run::start(&scene, "ours", &TIMING, &["sleep", "1000"]);
    let standing = run.told("standing");
    assert_eq!((&standing["promise"], standing["settle"].as_f64()), (&"lease-only".into(), Some(TTL.as_secs_f64())));
    assert_eq!(run.told("waiting")["leader"]["id"], "a plain locker");
    let unlocked = Instant::now();
    redis.ask(&["DEL", "tenure:office"]).unwrap();
    run.told("settling");
    run.told("command-started");
    assert!(unlocked.elapsed() >= TTL, "{:?}", unlocked.elapsed());
}
