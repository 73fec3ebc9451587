//! What is refused before anything runs, and every help, as golden files.

use std::fs;

use serde_json::Value;

use crate::common::Scene;
use crate::{output, snapshot, tenure};

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
        &["run", "--settle", "10s", "--max-wait", "5s", "x", "--", "true"],
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
