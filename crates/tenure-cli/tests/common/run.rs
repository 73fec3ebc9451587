//! One `tenure run`, as a process, with what it tells.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{LONG, MARK, Scene, TENURE, eventually};

/// A supervisor that runs. Dropping it kills it; the scene sees to the rest.
#[derive(Debug)]
pub(crate) struct Run {
    process: Child,
    events: PathBuf,
}

/// The timing of most tests: expiry 2.45 s after a renewal was sent, the deadline 0.8 s before that, the kill 0.6 s before it.
pub(crate) const TIMING: [&str; 6] = ["--ttl", "3s", "--grace", "200ms", "--kill-margin", "600ms"];
pub(crate) const TTL: Duration = Duration::from_secs(3);
/// For what must not take a lease: one that nobody would mistake for a moment.
pub(crate) const LONG_LEASE: [&str; 6] = ["--ttl", "20s", "--grace", "200ms", "--kill-margin", "600ms"];

impl Run {
    /// `tenure run <flags> office -- <command>` in this scene; nobody reads what it prints.
    pub(crate) fn start(scene: &Scene, id: &str, flags: &[&str], command: &[&str]) -> Run {
        Run::start_as(&["env", "--default-signal"], scene, id, flags, command)
    }

    /// The same from a parent that ignores a signal, or blocks it: as `env` does with this option.
    pub(crate) fn start_by(option: &str, scene: &Scene, id: &str, flags: &[&str], command: &[&str]) -> Run {
        Run::start_as(&["env", "--default-signal", option], scene, id, flags, command)
    }

    /// The same by a shell's script that executes its arguments in the end.
    pub(crate) fn start_from(scene: &Scene, id: &str, script: &str, flags: &[&str], command: &[&str]) -> Run {
        Run::start_as(&["env", "--default-signal", "sh", "-c", script, "sh"], scene, id, flags, command)
    }

    fn start_as(by: &[&str], scene: &Scene, id: &str, flags: &[&str], command: &[&str]) -> Run {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let events = scene.path(&format!("events-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        // What the tests' own parent ignores (nohup, a job in the background), tenure would hand down as ignored.
        let mut process = Command::new(by[0]);
        process
            .args(&by[1..])
            .args([TENURE, "run", "--backend", &scene.backend(), "--id", id])
            .arg(format!("--json={}", events.display()));
        process.args(flags).args(["office", "--"]).args(command).env(MARK, &scene.folder);
        // Whatever becomes of the test, nothing of it is left running.
        process.env("TENURE_DIE_WITH_PARENT", "1");
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Run { process: process.spawn().expect("tenure can be started"), events }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it is there");
    }

    /// The guardian: our child that is the same binary in another role.
    pub(crate) fn guardian(&self) -> Pid {
        eventually("a guardian", LONG, || self.guardian_now())
    }

    pub(crate) fn guardian_now(&self) -> Option<Pid> {
        children(self.pid()).into_iter().find(|pid| role(*pid).as_deref() == Some("__guardian"))
    }

    /// The child of a process.
    pub(crate) fn below(&self, pid: Pid) -> Option<Pid> {
        children(pid).first().copied()
    }

    /// The command under a guardian, if it runs.
    pub(crate) fn command_of(&self, guardian: Pid, scene: &Scene) -> Option<Pid> {
        let commands = scene.left_running();
        let below = children(guardian);
        let further = below.iter().flat_map(|pid| children(*pid));
        below.iter().copied().chain(further).find(|pid| commands.contains(pid))
    }

    pub(crate) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().expect("it can be waited for")
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.events).unwrap_or_default();
        // The last line may not be whole yet.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub(crate) fn event(&self, name: &str) -> Option<Value> {
        self.events().into_iter().rev().find(|event| event["event"] == name)
    }

    /// Waits for an event of this name.
    #[track_caller]
    pub(crate) fn told(&self, name: &str) -> Value {
        let begin = std::time::Instant::now();
        loop {
            if let Some(event) = self.event(name) {
                return event;
            }
            assert!(begin.elapsed() < LONG, "no `{name}` among {:#?}", self.events());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let begin = std::time::Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("it can be waited for") {
                return status;
            }
            assert!(begin.elapsed() < LONG, "it does not end: {:#?}", self.events());
            thread::sleep(Duration::from_millis(2));
        }
    }

    #[track_caller]
    pub(crate) fn ends_with(&mut self, code: i32, origin: &str) {
        let status = self.ended();
        let last = self.told("exit");
        assert_eq!((status.code(), last["origin"].as_str()), (Some(code), Some(origin)), "{:#?}", self.events());
        assert_eq!(last["status"], code);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn children(of: Pid) -> Vec<Pid> {
    let list = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// The first argument of a process of ours.
pub(crate) fn role(pid: Pid) -> Option<String> {
    if std::fs::read_link(format!("/proc/{pid}/exe")).ok()? != Path::new(TENURE) {
        return None;
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(String::from_utf8_lossy(line.split(|byte| *byte == 0).nth(1)?).into_owned())
}
