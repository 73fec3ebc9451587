//! Three candidates as processes, in a folder of their own; what they tell, and what can be done to them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::exit::{Exit, Origin};

/// The office that the demo is about.
pub(crate) const OFFICE: &str = "demo";
/// Short enough to be watched.
pub(crate) const TTL: Duration = Duration::from_secs(6);
const NAMES: [&str; 3] = ["ada", "bob", "eve"];

/// The candidates and their folder. Dropping it ends them all and removes the folder.
#[derive(Debug)]
pub(crate) struct Stage {
    folder: PathBuf,
    pub(crate) candidates: Vec<Candidate>,
}

/// One candidate, alive or not.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    process: Option<Child>,
    pub(crate) frozen: bool,
    heard: Arc<Mutex<Heard>>,
}

/// What a candidate has told of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) part: Part,
    pub(crate) token: Option<u64>,
    pub(crate) since: Option<Instant>,
    /// Until when it leads if it does not renew.
    pub(crate) deadline: Option<Instant>,
    pub(crate) command: Option<i32>,
    /// How often it told something; tells news from old.
    pub(crate) count: usize,
}

/// What a candidate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Part {
    #[default]
    Starting,
    Waiting,
    Leading,
    Stopping,
    Gone,
}

impl Stage {
    /// Starts three candidates whose command sleeps.
    pub(crate) fn new() -> Result<Stage, Exit> {
        let folder = std::env::temp_dir().join(format!("tenure-demo-{}", std::process::id()));
        let mut stage = Stage { folder, candidates: Vec::new() };
        for name in NAMES {
            stage.candidates.push(Candidate { name, process: None, frozen: false, heard: Arc::default() });
        }
        for number in 0..NAMES.len() {
            stage.start(number)?;
        }
        Ok(stage)
    }

    /// Where the elections of the demo are held.
    pub(crate) fn place(&self) -> String {
        format!("file:{}", self.folder.display())
    }

    /// Starts a candidate that is gone.
    pub(crate) fn start(&mut self, number: usize) -> Result<(), Exit> {
        let place = self.place();
        let candidate = &mut self.candidates[number];
        if candidate.is_alive() {
            return Ok(());
        }
        let failed = |error| Exit::new(Origin::Internal, format!("a candidate cannot be started: {error}"));
        let mut process = Command::new(std::env::current_exe().map_err(failed)?);
        let ttl = crate::duration::shown(TTL);
        process.args(["run", "--json", "--backend", &place, "--id", candidate.name, "--ttl", &ttl]);
        process.args([
            "--kill-margin",
            "500ms",
            "--after-loss",
            "campaign",
            "--on-exit",
            "campaign",
            "--retry",
            "500ms",
        ]);
        // Whatever becomes of the demo, nothing of it is left running.
        process.arg("--die-with-parent");
        process.args([OFFICE, "--", "sleep", "1000000"]);
        process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"TENURE_")) {
            process.env_remove(name);
        }
        let mut process = process.spawn().map_err(failed)?;
        let stderr = process.stderr.take().expect("it is piped");
        candidate.heard = Arc::default();
        let heard = candidate.heard.clone();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Ok(event) = serde_json::from_str(&line) {
                    lock(&heard).hear(&event);
                }
            }
            lock(&heard).part = Part::Gone;
        });
        (candidate.process, candidate.frozen) = (Some(process), false);
        Ok(())
    }

    /// Who leads: the one with the highest token that says so and is not known to have stopped.
    pub(crate) fn leader(&self) -> Option<usize> {
        let leading = self.candidates.iter().enumerate().map(|(number, candidate)| (number, candidate.heard()));
        let leading = leading.filter(|(_, heard)| heard.part == Part::Leading);
        leading.max_by_key(|(_, heard)| heard.token).map(|(number, _)| number)
    }

    /// Looks after candidates that have ended.
    pub(crate) fn reap(&mut self) {
        for candidate in &mut self.candidates {
            if let Some(process) = &mut candidate.process
                && process.try_wait().is_ok_and(|status| status.is_some())
            {
                candidate.process = None;
                lock(&candidate.heard).part = Part::Gone;
            }
        }
    }
}

impl Candidate {
    pub(crate) fn heard(&self) -> Heard {
        lock(&self.heard).clone()
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.process.is_some()
    }

    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    pub(crate) fn freeze(&mut self) {
        self.signal(Signal::STOP);
        self.frozen = true;
    }

    pub(crate) fn thaw(&mut self) {
        self.signal(Signal::CONT);
        self.frozen = false;
    }

    fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            let _ = kill_process(Pid::from_child(process), signal);
        }
    }
}

impl Heard {
    fn hear(&mut self, event: &Value) {
        self.count += 1;
        let in_time = |seconds: &Value| Some(Instant::now() + Duration::from_secs_f64(seconds.as_f64()?));
        match event["event"].as_str() {
            Some("standing" | "waiting" | "lost" | "resigned") => self.part = Part::Waiting,
            Some("elected") => {
                (self.part, self.since) = (Part::Leading, Some(Instant::now()));
                (self.token, self.deadline) = (event["token"].as_u64(), in_time(&event["deadline_in"]));
            }
            Some("renewed") => self.deadline = in_time(&event["deadline_in"]),
            Some("command-started") => self.command = event["pid"].as_i64().map(|pid| pid as i32),
            Some("command-ended") => self.command = None,
            Some("stopping") => self.part = Part::Stopping,
            Some("exit") => self.part = Part::Gone,
            _ => {}
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for candidate in &mut self.candidates {
            candidate.thaw();
            candidate.signal(Signal::TERM);
        }
        let begin = Instant::now();
        while self.candidates.iter().any(Candidate::is_alive) && begin.elapsed() < TTL {
            self.reap();
            thread::sleep(Duration::from_millis(5));
        }
        for candidate in &mut self.candidates {
            if let Some(process) = &mut candidate.process {
                let _ = process.kill();
                let _ = process.wait();
            }
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn lock(heard: &Mutex<Heard>) -> std::sync::MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
