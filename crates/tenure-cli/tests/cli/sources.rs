//! Where settings come from: the command line, the environment, files, and what follows from the user.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common::run::Run;
use crate::common::{Scene, TENURE};
use crate::{output, tenure};

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
fn an_empty_name_falls_back_to_the_hosts() {
    // SEEDS 54
    let scene = Scene::new();
    let mut run = Run::start(&scene, "", &[], &["true"]);
    run.ends_with(0, "command");
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert_eq!(run.told("standing")["id"].as_str(), Some(host.as_str()));
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
