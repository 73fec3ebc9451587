//! A store that goes away, comes back, breaks or is full.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::run::{Run, TIMING};
use crate::common::{LONG, SECOND, Scene, eventually};
use crate::{output, tenure};

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
