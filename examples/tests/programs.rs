//! Every example runs to its end as a process of its own, succeeds, and says what it is there to show.

mod program;

use program::said_by;

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
    // Whoever looks at the clock first: the candidate, or the tenure by itself.
    let endings = ["leadership ended: expired", "leadership ended: its deadline has passed"];
    assert!(endings.iter().any(|ending| said.contains(ending)), "{said}");
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
    let here = concat!(include_str!("programs.rs"), include_str!("servers.rs"));
    let manifest = include_str!("../Cargo.toml");
    let names = manifest.split("[[example]]").skip(1).filter_map(|section| section.split('"').nth(1));
    let is_run = |name: &str| ["by", "with"].iter().any(|how| here.contains(&format!("said_{how}(\"{name}\"")));
    let untested: Vec<_> = names.filter(|name| !is_run(name)).collect();
    assert!(untested.is_empty(), "no test runs {untested:?}");
}
