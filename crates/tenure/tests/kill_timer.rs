//! The kill timer ends a real process, so it is tried on one: this test binary, run again as a child.

use std::process::Command;
use std::time::Duration;

use tenure::backend::memory::{MemoryBackend, Operation, Times};
use tenure::{Election, KILLED_EXIT_STATUS, blocking};

const CHILD: &str = "TENURE_TEST_KILL_TIMER_CHILD";

#[test]
fn the_process_ends_a_set_time_after_loss_unless_its_work_has_stopped() {
    // SEEDS 26
    let status = |work: &str| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "child", "--nocapture"]).env(CHILD, work);
        child.output().unwrap().status.code()
    };
    assert_eq!(status("goes on"), Some(KILLED_EXIT_STATUS));
    assert_eq!(status("stops"), Some(0), "a process whose work stopped lives on");
}

#[test]
fn child() {
    let Ok(work) = std::env::var(CHILD) else { return };
    let store = MemoryBackend::new();
    let election = Election::new(store.client(), "office").unwrap();
    let candidate = election.candidate("pod-1").lease(Duration::from_secs(1)).kill_after(Duration::from_millis(500));
    let tenure = blocking::Candidate::new(candidate.build().unwrap()).campaign().unwrap();
    let guard = tenure.guard().unwrap();
    store.faults_for_all().on(Operation::Renew).fail(Times::UntilCleared);
    tenure.ended();
    if work == "stops" {
        drop(guard);
        std::thread::sleep(Duration::from_secs(2));
    } else {
        std::thread::sleep(Duration::from_secs(60));
        drop(guard);
    }
}
