//! Processes, candidates and files, as the tests of this program use them.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tenure::backend::{Attempt, AttemptId, Bid, FileBackend, Grant, Sight, Standing, TenureId, Version};
use tenure::machine::Plan;
use tenure::{Backend, BootClock, CandidateName, Clock, Error, Promise, Seat, TimingBuilder};

/// Says what a process that runs this program again is to be.
pub(crate) const ROLE: &str = "TENURE_TEST_ROLE";

pub(crate) fn seat() -> Seat {
    Seat::new("office").unwrap()
}

pub(crate) fn attempt() -> Attempt {
    Attempt { id: AttemptId(1), sent: BootClock.now() }
}

/// A bid for the office.
pub(crate) fn bid(name: &str, tenure: TenureId, lease: Duration, displace: Option<Version>, work_ends: bool) -> Bid {
    let timing = TimingBuilder { lease: Some(lease), ..TimingBuilder::default() }.build().unwrap();
    let traits = tenure::backend::Traits::new(Promise::Fenced);
    let plan = Plan::new(seat(), CandidateName::new(name).unwrap(), tenure.nonce(), Arc::new(timing), traits)
        .ending_work_with_process(work_ends);
    Bid::new(Arc::new(plan), tenure, displace)
}

/// Runs one call to its end.
pub(crate) fn wait<T>(call: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(call)
}

pub(crate) fn stand(backend: &FileBackend, bid: &Bid) -> Result<Standing, Error> {
    wait(backend.stand(bid, attempt()))
}

pub(crate) fn wins(backend: &FileBackend, bid: &Bid) -> Grant {
    match stand(backend, bid) {
        Ok(Standing::Elected(grant)) => grant,
        other => panic!("{} was not elected: {other:?}", bid.name()),
    }
}

pub(crate) fn sees(backend: &FileBackend) -> Sight {
    wait(backend.inspect(&seat())).expect("it can be looked at")
}

/// A process that runs this program in another role, and is killed with its test.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: BufReader<ChildStdout>,
}

impl Process {
    pub(crate) fn start(role: &str, variables: &[(&str, &str)]) -> Self {
        Process::run(Command::new(std::env::current_exe().expect("this program is a file")), role, variables)
    }

    pub(crate) fn run(mut command: Command, role: &str, variables: &[(&str, &str)]) -> Self {
        command.env(ROLE, role).envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this program can be run again");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("piped"));
        Process { child, input, output: BufReader::new(output) }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32).expect("a process has a number")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it is ours");
    }

    /// The next line that it says; nothing when it is gone.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).expect("a pipe can be read");
        (read > 0).then(|| line.trim_end().to_owned())
    }

    pub(crate) fn expect(&mut self, start: &str) -> String {
        let line = self.line().unwrap_or_else(|| panic!("the process ended before it said {start:?}"));
        let rest = line.strip_prefix(start).unwrap_or_else(|| panic!("{line:?} instead of {start:?}"));
        rest.trim().to_owned()
    }

    pub(crate) fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it listens");
        writeln!(input, "{line}").expect("it lives");
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn var(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is set by whoever started this"))
}

pub(crate) fn say(line: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Waits for a line on the standard input; ends the process when there is none.
pub(crate) fn heard() -> String {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(read) if read > 0 => line.trim_end().to_owned(),
        _ => std::process::exit(0),
    }
}

/// Looks again and again until there is something.
pub(crate) fn eventually<T>(within: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < within, "{what}: not within {within:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sets the token in a lease file or side copy, and seals it again: as if the clock had been ahead when it was drawn.
pub(crate) fn set_token(path: &Path, token: u64) {
    let bytes = std::fs::read(path).expect("there is a file");
    let slots = bytes.chunks(4096).map(|slot| {
        let text = String::from_utf8(slot.to_vec()).expect("a record is text");
        if !text.starts_with('{') {
            return slot.to_vec();
        }
        let (body, _) = text.split_once(",\"seal\"").expect("it is sealed");
        let (before, after) = body.split_once("\"token\":").expect("it has a token");
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let body = format!("{before}\"token\":{token}{after}");
        let sum = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let seal = body.bytes().fold(0xcbf2_9ce4_8422_2325, sum);
        let mut text = format!("{body},\"seal\":\"{seal:016x}\"}}").into_bytes();
        text.resize(slot.len(), b' ');
        text
    });
    let changed: Vec<u8> = slots.collect::<Vec<_>>().concat();
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("it is ours");
    std::os::unix::fs::FileExt::write_all_at(&file, &changed, 0).expect("it can be written");
}
