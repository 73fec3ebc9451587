//! A process that is killed between any two system calls of an update.

use std::time::Duration;

use tenure::Backend;
use tenure::backend::{Administer, FileBackend, Renewal, Sight, Standing, TenureId, Vacancy, Version};

use crate::file_tools::Scratch;
use crate::tracing::{Call, Trace, trace};
use crate::world::{Process, attempt, bid, heard, say, seat, sees, set_token, var, wait, wins};

const LEASE: Duration = Duration::from_secs(10);
/// The tenure that the traced process acts for.
const OURS: TenureId = TenureId::new(0xaaaa, 1);
const BEFORE: TenureId = TenureId::new(0xbbbb, 1);
const NEXT: TenureId = TenureId::new(0xcccc, 1);

/// The traced process: one call, once it is told to.
pub(crate) fn step() {
    let backend = FileBackend::new(var("DIRECTORY")).expect("there is a directory");
    let version = std::env::var("VERSION").ok().map(Version::text);
    let (operation, runtime) = (var("OPERATION"), tokio::runtime::Builder::new_current_thread().enable_all().build());
    let runtime = runtime.expect("a runtime");
    say("ready");
    heard();
    let claim = |displace| bid("traced", OURS, LEASE, displace, true);
    runtime.block_on(async {
        match operation.as_str() {
            "stand" => match backend.stand(&claim(version), attempt()).await.expect("it can stand") {
                Standing::Elected(grant) => say(format!("token {}", grant.token.expect("a local disk has tokens"))),
                other => panic!("{other:?}"),
            },
            "renew" => {
                let renewal = backend.renew(&claim(None), &version.expect("it is named"), attempt()).await;
                assert!(matches!(renewal, Ok(Renewal::Extended(_))), "{renewal:?}");
            }
            "withdraw" => backend.withdraw(&claim(None)).await.expect("it can be given up"),
            "evict" => drop(backend.evict(&seat()).await.expect("it can be evicted")),
            other => panic!("no operation {other}"),
        }
    });
    say("done");
}

/// One run: what was there before it, what the process did, and what is there now.
struct Run {
    scratch: Scratch,
    backend: FileBackend,
    trace: Trace,
    /// The highest token that anybody can have heard of.
    heard_of: u64,
    finished: bool,
}

impl Run {
    fn new(prepared: &Prepared, operation: &str, stop: usize) -> Run {
        let scratch = Scratch::default();
        let backend = FileBackend::new(scratch.path()).expect("a directory can be had");
        let (version, mut heard_of) = prepared(&scratch, &backend);
        let directory = scratch.path().to_str().expect("it is text").to_owned();
        let mut variables = vec![("DIRECTORY", directory.as_str()), ("OPERATION", operation)];
        variables.extend(version.as_deref().map(|version| ("VERSION", version)));
        let mut process = Process::start("step", &variables);
        process.expect("ready");
        let trace = trace(&mut process, stop);
        let mut finished = false;
        while let Some(line) = process.line() {
            finished |= line == "done";
            if let Some(token) = line.strip_prefix("token ") {
                heard_of = heard_of.max(token.parse().expect("a number"));
            }
        }
        Run { scratch, backend, trace, heard_of, finished }
    }

    /// The next candidate gets in, with a number that nobody has heard of, and nothing is left lying about.
    fn recovers(&self, at: usize) {
        let version = sees(&self.backend).held().map(|held| held.version.clone());
        let seen = sees(&self.backend).held().and_then(|held| held.token).unwrap_or(0);
        let next = bid("next", NEXT, LEASE, version, true);
        let token = wins(&self.backend, &next).token.expect("a local disk has tokens");
        assert!(token > self.heard_of.max(seen), "stop {at}: {token} was used, or could have been");
        wait(self.backend.withdraw(&next)).expect("it can be given up");
        let mut names: Vec<_> = std::fs::read_dir(self.scratch.path())
            .expect("there is a directory")
            .map(|entry| entry.expect("it can be read").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        assert_eq!(names, ["office.json", "office@copy"], "stop {at}: something is left over");
    }
}

/// Makes a directory ready; gives the version that the call is to name, and the highest token that was used.
type Prepared = dyn Fn(&Scratch, &FileBackend) -> (Option<String>, u64);

/// Kills the call at every stop, one run each, until one comes through.
fn at_every_stop(prepared: &Prepared, operation: &str, check: impl Fn(&Run, usize)) {
    let mut most = 0;
    for stop in 1.. {
        let run = Run::new(prepared, operation, stop);
        check(&run, stop);
        run.recovers(stop);
        most = most.max(stop);
        if !run.trace.killed {
            assert!(run.finished, "it ended by itself, and had not finished");
            break;
        }
    }
    assert!(most > 30, "only {most} stops: the process was not traced");
    println!("{operation}: killed at each of {most} stops");
}

/// Numbers an hour ahead of the clock, so that the clock hides no number that was used twice.
fn ahead_of_the_clock(scratch: &Scratch) -> u64 {
    let token = (jiff::Timestamp::now().as_microsecond() + 3_600_000_000) as u64;
    for name in ["office.json", "office@copy"] {
        set_token(&scratch.path().join(name), token);
    }
    token
}

fn nothing(_: &Scratch, _: &FileBackend) -> (Option<String>, u64) {
    (None, 0)
}

fn released(scratch: &Scratch, backend: &FileBackend) -> (Option<String>, u64) {
    let before = bid("before", BEFORE, LEASE, None, false);
    wins(backend, &before);
    wait(backend.withdraw(&before)).expect("it can be given up");
    (None, ahead_of_the_clock(scratch))
}

/// Held by a process that has died.
fn held_by_another(scratch: &Scratch, _: &FileBackend) -> (Option<String>, u64) {
    let gone = FileBackend::new(scratch.path()).expect("a directory can be had");
    let grant = wins(&gone, &bid("before", BEFORE, LEASE, None, true));
    (grant.version.as_text().map(str::to_owned), ahead_of_the_clock(scratch))
}

/// Held by the tenure that the traced process acts for.
fn held_by_us(scratch: &Scratch, backend: &FileBackend) -> (Option<String>, u64) {
    let grant = wins(backend, &bid("traced", OURS, LEASE, None, false));
    (grant.version.as_text().map(str::to_owned), ahead_of_the_clock(scratch))
}

fn is_free_or_ours(run: &Run, stop: usize) {
    match sees(&run.backend) {
        Sight::Vacant(_) => assert!(!run.finished, "stop {stop}: it won, and nobody holds the office"),
        Sight::Held(held) => assert_eq!(held.tenure, Some(OURS), "stop {stop}"),
    }
}

pub(crate) fn a_first_bid_killed_at_any_system_call_leaves_the_office_free_or_won() {
    at_every_stop(&nothing, "stand", is_free_or_ours);
}

pub(crate) fn a_bid_killed_at_any_system_call_leaves_the_office_free_or_won() {
    at_every_stop(&released, "stand", is_free_or_ours);
}

pub(crate) fn a_takeover_killed_at_any_system_call_leaves_the_old_holder_or_the_new() {
    at_every_stop(&held_by_another, "stand", |run, stop| {
        match sees(&run.backend).held().and_then(|held| held.tenure) {
            Some(BEFORE) => assert!(!run.finished, "stop {stop}"),
            Some(OURS) => {}
            other => panic!("stop {stop}: a valid lease was freed: {other:?}"),
        }
    });
}

pub(crate) fn a_renewal_killed_at_any_system_call_frees_nothing() {
    at_every_stop(&held_by_us, "renew", |run, stop| {
        assert!(sees(&run.backend).is_of(OURS), "stop {stop}: a valid lease was freed");
    });
}

pub(crate) fn a_withdrawal_killed_at_any_system_call_leaves_the_holder_or_its_release() {
    at_every_stop(&held_by_us, "withdraw", |run, stop| match sees(&run.backend) {
        Sight::Vacant(why) => assert_eq!(why, Vacancy::Released { by: OURS }, "stop {stop}"),
        Sight::Held(held) => assert!(held.tenure == Some(OURS) && !run.finished, "stop {stop}"),
    });
}

pub(crate) fn an_eviction_killed_at_any_system_call_leaves_the_holder_or_the_bar() {
    at_every_stop(&held_by_us, "evict", |run, stop| {
        let held = sees(&run.backend);
        assert!(held.held().is_some(), "stop {stop}: a valid lease was freed");
    });
}

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const PWRITE: i64 = 18;
    pub(super) const FSYNC: i64 = 74;
    pub(super) const FDATASYNC: i64 = 75;
}
#[cfg(not(target_arch = "x86_64"))]
mod number {
    pub(super) const PWRITE: i64 = 68;
    pub(super) const FSYNC: i64 = 82;
    pub(super) const FDATASYNC: i64 = 83;
}

fn is(call: &Call, number: i64, file: &str) -> bool {
    call.number == number && call.file.ends_with(file)
}

/// SAFETY, the token table: a counter in the locked file, fsynced before use.
pub(crate) fn a_token_is_on_disk_before_it_stands_in_the_lease_file() {
    let prepared: [(&Prepared, &str); 2] = [(&nothing, "office@new"), (&released, "office.json")];
    for (prepared, lease) in prepared {
        let calls = Run::new(prepared, "stand", usize::MAX).trace.calls;
        let position = |number, file: &str| calls.iter().position(|call| is(call, number, file));
        let written = position(number::PWRITE, "office@copy").expect("a copy is written");
        let synced = position(number::FDATASYNC, "office@copy").expect("a copy is fsynced");
        let in_place = position(number::PWRITE, lease).expect("the lease file is written");
        assert!(written < synced && synced < in_place, "{written} {synced} {in_place}");
    }
}

pub(crate) fn only_what_raises_a_token_is_fsynced() {
    for operation in ["renew", "withdraw", "evict"] {
        let calls = Run::new(&held_by_us, operation, usize::MAX).trace.calls;
        assert!(calls.iter().any(|call| is(call, number::PWRITE, "office.json")), "{operation} writes");
        let synced = calls.iter().find(|call| matches!(call.number, number::FSYNC | number::FDATASYNC));
        assert_eq!(synced, None, "{operation}");
    }
}
