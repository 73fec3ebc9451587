//! The commands that are supervised in tests: this test program again, in another role. Each process of a tree leaves a trail of beats.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal as NixSignal};
use rustix::process::{Signal, getpid, kill_process};
use tenure::{BootClock, Clock};

use super::{MARK, Scene};

/// The first argument that makes a test program a child.
pub(crate) const ROLE: &str = "__child";

/// The command line of a child that behaves like this.
pub(crate) fn command(behaviour: &str) -> Vec<String> {
    let program = std::env::current_exe().expect("a test program has a path");
    vec![program.to_str().expect("a path in UTF-8").into(), ROLE.into(), behaviour.into()]
}

/// Becomes a child where the arguments say so; `further` are ways to behave that only one test program has.
pub(crate) fn perhaps(further: &[(&str, fn())]) {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|role| role == ROLE) {
        let behaviour = arguments.get(2).map_or("steady", String::as_str);
        match further.iter().find(|(name, _)| *name == behaviour) {
            Some((_, behave)) => behave(),
            None => behave(behaviour),
        }
        std::process::exit(0);
    }
}

fn behave(behaviour: &str) {
    match behaviour {
        "steady" => beat(),
        // Neither TERM nor any other signal that can be blocked.
        "stubborn" => {
            block_everything();
            beat();
        }
        "forking" => {
            block_everything();
            for _ in 0..3 {
                spawn("branching");
            }
            beat();
        }
        "branching" => {
            block_everything();
            spawn("stubborn");
            beat();
        }
        // Twice into a session of its own, with the parent gone each time.
        "daemonising" => {
            spawn("daemon-1");
            beat();
        }
        "daemon-only" => {
            spawn("daemon-1");
            await_word();
        }
        "daemon-1" => {
            rustix::process::setsid().expect("no group leader");
            spawn("daemon-2");
        }
        "daemon-2" => {
            rustix::process::setsid().expect("no group leader");
            block_everything();
            beat();
        }
        "frozen" => {
            mark_alive();
            kill_process(getpid(), Signal::STOP).expect("it can stop itself");
            beat();
        }
        "frozen-stubborn" => {
            block_everything();
            mark_alive();
            kill_process(getpid(), Signal::STOP).expect("it can stop itself");
            beat();
        }
        // Everything at once, but for what leaves its process group.
        "wild" => {
            block_everything();
            for part in ["branching", "frozen-stubborn", "steady"] {
                spawn(part);
            }
            beat();
        }
        "wild-daemons" => {
            block_everything();
            for part in ["branching", "frozen-stubborn", "daemon-1"] {
                spawn(part);
            }
            beat();
        }
        "flooding" => {
            let line = [b'x'; 4096];
            let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
            std::thread::spawn(move || while out.write_all(&line).is_ok() {});
            std::thread::spawn(move || while err.write_all(&line).is_ok() {});
            beat();
        }
        "leaving-one" => {
            spawn("stubborn");
            await_word();
        }
        other => panic!("no child behaves like {other}"),
    }
}

/// A command that is to end by itself ends when this is there; not before, however long others take to get in line.
fn word(folder: &Path) -> PathBuf {
    folder.join("may-end")
}

/// Lets such a command end.
pub(crate) fn let_end(scene: &Scene) {
    fs::write(word(&scene.folder), "").expect("a word can be left");
}

fn await_word() {
    let folder = std::env::var(MARK).expect("a child has a folder");
    let begin = BootClock.now();
    while !word(Path::new(&folder)).exists() && BootClock.now().since(begin) < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(4));
    }
}

/// The trail that one process leaves.
#[derive(Debug)]
pub(crate) struct Trail(File);

impl Trail {
    pub(crate) fn new() -> Trail {
        let folder = std::env::var(MARK).expect("a child has a folder");
        let token = std::env::var("TENURE_TOKEN").unwrap_or_default();
        let now = BootClock.now().as_nanos();
        // Numbers of processes repeat in namespaces; the clock tells them apart.
        let name = format!("trail-{token}-{}-{now}", std::process::id());
        let file = OpenOptions::new().create(true).append(true).open(Path::new(&folder).join(name));
        Trail(file.expect("a trail can be left"))
    }

    pub(crate) fn beat(&mut self) {
        writeln!(self.0, "{}", BootClock.now().as_nanos()).expect("a trail can be left");
    }
}

fn mark_alive() {
    Trail::new().beat();
}

/// Beats every few milliseconds for as long as it lives; but not for ever, whatever happens to the test.
fn beat() {
    let mut trail = Trail::new();
    let begin = BootClock.now();
    while BootClock.now().since(begin) < Duration::from_secs(120) {
        trail.beat();
        std::thread::sleep(Duration::from_millis(4));
    }
}

fn block_everything() {
    let mut all = SigSet::all();
    // The thread has to be able to stop itself, and the test to thaw it.
    all.remove(NixSignal::SIGCONT);
    all.thread_block().expect("signals can be blocked");
}

fn spawn(behaviour: &str) {
    let command = command(behaviour);
    let mut process = Command::new(&command[0]);
    process.args(&command[1..]).stdin(Stdio::null());
    drop(process.spawn().expect("a child can have children"));
}

/// First and last sign of life of everything that ran under one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) token: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) processes: usize,
}

/// The spans of all tokens, lowest token first.
pub(crate) fn spans(scene: &Scene) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for entry in fs::read_dir(&scene.folder).expect("the folder is there").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(token) = name.strip_prefix("trail-").and_then(|rest| rest.split('-').next()?.parse().ok()) else {
            continue;
        };
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        // The last line of one that was killed may be cut.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let beats: Vec<u64> = whole.lines().filter_map(|line| line.parse().ok()).collect();
        let (Some(&first), Some(&last)) = (beats.first(), beats.last()) else { continue };
        match spans.iter_mut().find(|span| span.token == token) {
            Some(span) => {
                span.first = span.first.min(first);
                span.last = span.last.max(last);
                span.processes += 1;
            }
            None => spans.push(Span { token, first, last, processes: 1 }),
        }
    }
    spans.sort_by_key(|span| span.token);
    spans
}

/// I1 and I9 as one sees them from outside: nothing of one tenure lives when the next begins.
#[track_caller]
pub(crate) fn no_two_at_once(scene: &Scene) {
    for pair in spans(scene).windows(2) {
        assert!(pair[0].last < pair[1].first, "two lived at once: {:?} and {:?}", pair[0], pair[1]);
    }
}
