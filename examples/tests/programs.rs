//! Every example runs to its end as a process of its own, succeeds, and says what it is there to show.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// None takes longer than a few seconds, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn three_candidates_hand_the_office_on_and_the_fence_refuses_former_leaders() {
    let said = said_by("three-candidates");
    assert_eq!(said.matches(" leads with token ").count(), 3, "{said}");
    assert!(said.contains(" stopped leading by itself after "), "{said}");
    assert_eq!(said.matches(" is refused: token ").count(), 2, "{said}");
    assert!(said.contains("All stopped, and the office is vacant."), "{said}");
}

#[test]
fn voedger_elections_acquires_releases_and_closes() {
    let said = said_by("voedger-elections");
    assert!(said.contains("10.0.0.2 acquires billing: held by another."), "{said}");
    let stopped = said.find("The work on billing stops: resigned.").expect(&said);
    let released = said.find("Released: the store has nothing under billing.").expect(&said);
    assert!(stopped < released, "work stops before the key is deleted: {said}");
    assert!(said.contains("Closed: billing is not held, mail is not held."), "{said}");
}

#[test]
fn redis_pattern_tries_resigns_and_hears_of_changes() {
    let said = said_by("redis-pattern");
    assert!(said.contains("node-2 tries: another leads"), "{said}");
    assert!(said.contains("node-1 hears: not leader, resigned"), "{said}");
    assert!(said.contains("node-2 tries: it leads with token"), "{said}");
    assert!(said.contains("node-3 is leader: false"), "{said}");
}

#[test]
fn elector_hooks_begins_and_ends_in_step_with_its_source() {
    let said = said_by("elector-hooks");
    assert_eq!(said.matches("begin: the timer runs").count(), 2, "{said}");
    assert_eq!(said.matches("end: the timer stands still").count(), 2, "{said}");
    assert_eq!(said.matches("error: somebody is told").count(), 1, "{said}");
    assert!(said.contains("the run ended well"), "{said}");
}

#[test]
fn nats_election_announces_late_and_hands_over_at_once() {
    let said = said_by("nats-election");
    assert!(said.contains("Refused: "), "{said}");
    assert!(said.contains("Taken: renew every 22.5s"), "{said}");
    let waiting = said.find(" holds the office, and says nothing yet").expect(&said);
    let won = said.find(" won, with token ").expect(&said);
    assert!(waiting < won, "{said}");
    assert!(said.contains(" lost: stopped"), "{said}");
    assert!(said.contains(" lost: expired"), "{said}");
    assert_eq!(said.matches(" won, with token ").count(), 3, "{said}");
}

#[test]
fn consensus_manager_works_on_one_pod_at_a_time() {
    let said = said_by("consensus-manager");
    let last_of_one = said.rfind("pod-1 leads and does a job").expect(&said);
    let first_of_two = said.find("pod-2 leads and does a job").expect(&said);
    assert!(last_of_one < first_of_two, "{said}");
    assert_eq!(said.matches("pod-2 leads and does a job").count(), 3, "{said}");
    assert!(said.contains("both have stopped"), "{said}");
}

#[test]
fn shards_gives_each_worker_one_and_the_last_one_waits() {
    let said = said_by("shards");
    for line in ["worker-1 owns shard 0", "worker-2 owns shard 1", "worker-3 owns shard 2", "worker-4 owns shard 1"] {
        assert!(said.contains(line), "{said}");
    }
    assert!(said.contains("worker-4 waited 200ms"), "{said}");
}

#[test]
fn guarded_cron_runs_once_a_round_and_never_after_a_loss() {
    let said = said_by("guarded-cron");
    assert_eq!(said.matches("cleaning up").count(), 2, "{said}");
    assert_eq!(said.matches("another host has this round").count(), 2, "{said}");
    assert!(said.contains("leadership ended: expired"), "{said}");
    assert!(said.contains("it ended with status 75"), "{said}");
}

#[test]
fn blocking_leads_without_a_runtime() {
    let said = said_by("blocking");
    assert_eq!(said.matches("host-1 leads: true").count(), 3, "{said}");
    assert!(said.contains("host-2 leads with token"), "{said}");
    assert!(said.contains("host-3 hears: not leader, stopped"), "{said}");
}

#[test]
fn file_hands_the_office_on_when_its_process_is_killed() {
    let said = said_by("file");
    assert!(said.contains("ada leads with token "), "{said}");
    let killed = said.find("ada is killed.").expect(&said);
    let led = said.find("bob leads with token ").expect(&said);
    assert!(killed < led, "{said}");
    assert!(said.contains("bob does not lead any more: "), "{said}");
    assert!(said.contains("The office is vacant."), "{said}");
}

#[test]
fn there_is_a_test_for_every_example() {
    let here = include_str!("programs.rs");
    let manifest = include_str!("../Cargo.toml");
    let names = manifest.split("[[example]]").skip(1).filter_map(|section| section.split('"').nth(1));
    let untested: Vec<_> = names.filter(|name| !here.contains(&format!("said_by(\"{name}\")"))).collect();
    assert!(untested.is_empty(), "no test runs {untested:?}");
}

/// What an example printed; it has to succeed.
fn said_by(name: &str) -> String {
    let output = run(name);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} ended with {}\n{said}\n{complaint}", output.status);
    said
}

fn run(name: &str) -> Output {
    let program = built(name);
    let mut command = Command::new(&program);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.display()));
    let started = Instant::now();
    // What an example prints fits into a pipe, so that it need not be read before the end.
    while child.try_wait().expect("it can be waited for").is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().expect("it can be killed");
            let output = child.wait_with_output().expect("it can be read");
            panic!("{name} did not end by itself:\n{}", String::from_utf8_lossy(&output.stdout));
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it can be read")
}

/// `cargo test` builds the examples beside this program's own directory; told to run this test alone, it does not.
fn built(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("a test has a path");
    let profile = here.parent().and_then(|deps| deps.parent()).expect("it is in target/<profile>/deps");
    let program = profile.join("examples").join(name);
    assert!(program.exists(), "{} is missing: run `cargo build --examples` first", program.display());
    program
}
