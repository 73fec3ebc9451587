//! Leaders that are killed, stopped and survived by others.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure::backend::{FileBackend, TenureId};
use tenure::{Backend, BootClock, Clock, Election};

use crate::file_tools::Scratch;
use crate::world::{Process, attempt, bid, eventually, heard, say, seat, sees, var, wait, wins};

/// A candidate that leads until it is told to resign, and says what becomes of it.
pub(crate) fn leader() {
    let backend = FileBackend::new(var("DIRECTORY")).expect("there is a directory");
    let election = Election::new(backend.clone(), "office").expect("a name");
    let mut candidate =
        election.candidate(&var("NAME")).lease(Duration::from_millis(var("LEASE").parse().expect("a number")));
    if var("DECLARED") == "yes" {
        candidate = candidate.work_ends_with_process();
    }
    let candidate = candidate.build().expect("a safe timing");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        say("runs");
        let tenure = candidate.campaign().await.expect("it is elected some day");
        let token = tenure.token().expect("a local disk has tokens").get();
        if var("GUARDED") == "yes" {
            let lock = backend.liveness(&seat(), tenure.id()).expect("it was declared");
            guarded_by_another(lock);
        }
        say(format!("leads {} {token}", BootClock.now().as_nanos()));
        let leadership = tenure.clone();
        tokio::spawn(async move { say(format!("ended {}", leadership.ended().await)) });
        loop {
            match tokio::task::spawn_blocking(heard).await.expect("it is asked").as_str() {
                "resign" => break,
                "held" => say(format!("held {}", tenure.is_held())),
                other => panic!("no command {other}"),
            }
        }
        let _ = tenure.resign().await;
        say("resigned");
        tokio::task::spawn_blocking(heard).await.expect("it is asked");
    });
}

/// Starts a guardian that inherits the lock, as its standard input.
#[expect(clippy::zombie_processes, reason = "it is to outlive whoever started it")]
fn guarded_by_another(lock: OwnedFd) {
    let mut command = Command::new(std::env::current_exe().expect("this program is a file"));
    command.env(crate::world::ROLE, "guardian").stdin(Stdio::from(lock)).stdout(Stdio::null());
    command.spawn().expect("this program can be run again");
}

/// Keeps what it was given until a file says that its work is over; or takes a lock, and keeps that.
pub(crate) fn guardian() {
    if let Ok(path) = std::env::var("LOCK") {
        let file = std::fs::File::open(path).expect("there is a file");
        file.lock().expect("nobody else has it");
        say("locked");
        heard();
        return;
    }
    let directory = var("DIRECTORY");
    let over = Path::new(&directory).join("work-is-over");
    while Path::new(&directory).exists() && !over.exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

struct Stage {
    scratch: Scratch,
    lease: Duration,
    declared: bool,
    guarded: bool,
}

impl Stage {
    fn new(lease: Duration) -> Self {
        Stage { scratch: Scratch::default(), lease, declared: true, guarded: false }
    }

    fn start(&self, name: &str) -> Process {
        let yes = |condition| if condition { "yes" } else { "no" };
        let lease = self.lease.as_millis().to_string();
        let directory = self.scratch.path().to_str().expect("text");
        let variables = [
            ("DIRECTORY", directory),
            ("NAME", name),
            ("LEASE", &lease),
            ("DECLARED", yes(self.declared)),
            ("GUARDED", yes(self.guarded)),
        ];
        let mut process = Process::start("leader", &variables);
        process.expect("runs");
        process
    }

    /// One that leads, and one that waits for its turn.
    fn pair(&self) -> (Process, Process) {
        let mut first = self.start("first");
        first.expect("leads");
        let second = self.start("second");
        // It has to have stood, to watch, and to have looked once more.
        std::thread::sleep(Duration::from_millis(400));
        (first, second)
    }

    fn backend(&self) -> FileBackend {
        FileBackend::new(self.scratch.path()).expect("a directory can be had")
    }
}

pub(crate) fn a_killed_leader_is_succeeded_long_before_its_lease_ends() {
    let stage = Stage::new(Duration::from_secs(30));
    let (mut first, mut second) = stage.pair();
    let start = Instant::now();
    first.kill();
    second.expect("leads");
    // A second at the worst on a busy machine: what it mostly takes is measured by the bench.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?} of a lease of 30 s", start.elapsed());
    // SAFETY 2c: not before what the record allows for.
    assert!(start.elapsed() >= Duration::from_millis(25), "{:?}", start.elapsed());
}

pub(crate) fn a_killed_leader_that_declared_nothing_is_waited_out() {
    // SAFETY 4: without the word that its work died with it, the lease is waited out.
    let stage = Stage { declared: false, ..Stage::new(Duration::from_millis(3000)) };
    let (mut first, mut second) = stage.pair();
    let start = Instant::now();
    first.kill();
    second.expect("leads");
    // It renewed at most a third of the lease before.
    assert!(start.elapsed() >= Duration::from_millis(1800), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_millis(8000), "{:?}", start.elapsed());
}

pub(crate) fn a_stopped_leader_is_waited_out_and_harms_nobody_when_it_goes_on() {
    // I1, I5, I6: a frozen holder keeps its liveness lock, so nobody takes it for dead.
    let stage = Stage::new(Duration::from_millis(3000));
    let (mut first, mut second) = stage.pair();
    let start = Instant::now();
    first.signal(Signal::STOP);
    second.expect("leads");
    assert!(start.elapsed() >= Duration::from_millis(1800), "{:?}: it was taken for dead", start.elapsed());
    let backend = stage.backend();
    let held = |sight: tenure::backend::Sight| sight.held().map(|held| (held.holder.to_string(), held.token));
    let now = held(sees(&backend));
    first.signal(Signal::CONT);
    // Before any of its tasks ran (SAFETY 7), and for good.
    first.tell("held");
    let mut said = vec![first.line().expect("it lives"), first.line().expect("it lives")];
    said.sort();
    assert!(said[0].starts_with("ended"), "{said:?}");
    assert_eq!(said[1], "held false");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(held(sees(&backend)), now, "what it was about to write harmed the newer tenure");
    second.tell("held");
    assert_eq!(second.expect("held"), "true");
}

pub(crate) fn a_guardian_that_inherited_the_lock_keeps_the_office_until_it_is_done() {
    let stage = Stage { guarded: true, ..Stage::new(Duration::from_secs(30)) };
    let mut first = stage.start("first");
    first.expect("leads");
    let unguarded = Stage { guarded: false, scratch: Scratch::default(), ..Stage::new(stage.lease) };
    let directory = stage.scratch.path().to_str().expect("text").to_owned();
    let lease = unguarded.lease.as_millis().to_string();
    let variables =
        [("DIRECTORY", &*directory), ("NAME", "second"), ("LEASE", &*lease), ("DECLARED", "yes"), ("GUARDED", "no")];
    let mut second = Process::start("leader", &variables);
    second.expect("runs");
    std::thread::sleep(Duration::from_millis(400));
    first.kill();
    let backend = stage.backend();
    let deadline = Instant::now() + Duration::from_millis(800);
    while Instant::now() < deadline {
        let holder = sees(&backend).held().map(|held| held.holder.to_string());
        assert_eq!(holder.as_deref(), Some("first"), "the guardian's work still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
    let start = Instant::now();
    std::fs::write(stage.scratch.path().join("work-is-over"), "").expect("it can be written");
    second.expect("leads");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

pub(crate) fn a_process_that_is_stopped_inside_the_lock_is_named_and_waited_for_no_longer_than_allowed() {
    // SEEDS 56
    let scratch = Scratch::default();
    let backend = FileBackend::new(scratch.path()).expect("a directory").lock_timeout(Duration::from_millis(300));
    let ours = bid("holder", TenureId::new(1, 1), Duration::from_secs(10), None, false);
    let grant = wins(&backend, &ours);
    let lease = scratch.lease(&seat());
    let mut frozen = Process::start("guardian", &[("LOCK", lease.to_str().expect("text"))]);
    frozen.expect("locked");
    frozen.signal(Signal::STOP);
    let stopped = format!("process {}", frozen.child.id());
    eventually(Duration::from_secs(5), "the process stops", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", frozen.child.id())).ok()?;
        status.contains("T (stopped)").then_some(())
    });
    let start = Instant::now();
    let error = wait(backend.renew(&ours, &grant.version, attempt())).expect_err("it cannot be written");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let message = error.to_string();
    assert!(message.contains(&stopped) && message.contains("which is stopped"), "{message}");
    assert!(error.is_transient() && !error.is_indeterminate(), "{error:?}");
    assert!(sees(&backend).is_of(ours.tenure()), "whoever looks needs no lock");
    frozen.kill();
    wait(backend.renew(&ours, &grant.version, attempt())).expect("a dead process has no lock");
}

pub(crate) fn one_process_has_one_inotify_instance() {
    // Security: a user may have 128 of them.
    let scratches: Vec<_> = (0..3).map(|_| Scratch::default()).collect();
    let backends: Vec<_> =
        scratches.iter().map(|scratch| FileBackend::new(scratch.path()).expect("a directory")).collect();
    let office = seat();
    let watches: Vec<_> =
        (0..30).map(|number| wait(backends[number % 3].watch(&office, None)).expect("a watch")).collect();
    let instances = std::fs::read_dir("/proc/self/fd")
        .expect("the kernel tells")
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.to_string_lossy() == "anon_inode:inotify")
        .count();
    assert_eq!(instances, 1, "for {} watches in {} directories", watches.len(), scratches.len());
}
