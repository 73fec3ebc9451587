//! `tenure watch`.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::run::Run;
use crate::common::{LONG, MARK, SECOND, Scene, TENURE, eventually};
use crate::tenure;

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
