//! `tenure status`.

use rustix::process::Signal;
use serde_json::Value;

use crate::common::Scene;
use crate::common::run::Run;
use crate::{output, tenure};

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

pub(crate) fn status(scene: &Scene) -> Value {
    let said = output(&mut tenure(&["status", "--backend", &scene.backend(), "--json", "office"]));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).expect("one object")
}
