//! The candidates: a process and proxies of its own for each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tenure::{BootClock, Clock, Moment};
use testbed::{Failure, Place, Program, Proxy, Server, tools};

use crate::candidate::{DIARY, NAME, PLACE, READY, REGISTERS, SUBJECT};
use crate::diary;
use crate::record::Life;
use crate::subject::Servers;

/// One candidate, through all its lives.
pub(crate) struct Candidate {
    pub(crate) number: usize,
    pub(crate) server: Server,
    pub(crate) proxies: Vec<Proxy>,
    lives: Arc<AtomicUsize>,
    /// When each life was killed.
    killed: Vec<(usize, Moment)>,
}

impl Candidate {
    pub(crate) fn start(
        number: usize,
        subject: &'static str,
        servers: &dyn Servers,
        registers: &Path,
    ) -> Result<Self, Failure> {
        let proxies = servers.addresses().into_iter().map(Proxy::to).collect::<Result<Vec<_>, _>>()?;
        let through: Vec<_> = proxies.iter().map(Proxy::address).collect();
        let lives = Arc::new(AtomicUsize::new(0));
        let process = Process {
            number,
            subject,
            place: servers.place(&through),
            registers: registers.to_owned(),
            lives: Arc::clone(&lives),
        };
        Ok(Candidate { number, server: Server::start(process)?, proxies, lives, killed: Vec::new() })
    }

    pub(crate) fn kill(&mut self) {
        // Timed before it: a belief that is taken for shorter than it was proves nothing wrong.
        self.killed.push((self.lives.load(Relaxed), BootClock.now()));
        self.server.kill();
    }

    /// Sets its wall clock so many seconds off.
    pub(crate) fn set_wall_clock(&self, seconds: i64) -> Result<(), Failure> {
        Ok(fs::write(wall_file(self.server.place()), format!("{seconds:+}\n"))?)
    }

    /// All its lives as it wrote them down.
    pub(crate) fn lives(&self) -> Result<Vec<Life>, Failure> {
        let read = |life: usize| {
            let mut read = diary::read(self.number, &diary_of(self.server.place(), life)).map_err(Failure::new)?;
            read.killed = self.killed.iter().find(|(killed, _)| *killed == life).map(|(_, at)| *at);
            Ok(read)
        };
        (1..=self.lives.load(Relaxed)).map(read).collect()
    }

    /// Copies what it wrote into a folder.
    pub(crate) fn keep(&self, folder: &Path) {
        for life in 1..=self.lives.load(Relaxed) {
            let to = folder.join(format!("diary-{}-{life}", name_of(self.number)));
            let _ = fs::copy(diary_of(self.server.place(), life), to);
        }
        let _ = fs::write(folder.join(format!("log-{}", name_of(self.number))), self.server.place().log());
    }
}

/// What a candidate is called.
pub(crate) fn name_of(number: usize) -> String {
    format!("c{number}")
}

/// How a candidate is started: this program again, in another role.
struct Process {
    number: usize,
    subject: &'static str,
    place: String,
    registers: PathBuf,
    lives: Arc<AtomicUsize>,
}

impl Program for Process {
    fn name(&self) -> &str {
        "candidate"
    }

    fn ports(&self) -> usize {
        0
    }

    fn prepare(&self, place: &Place) -> Result<(), Failure> {
        Ok(fs::write(wall_file(place), "+0\n")?)
    }

    fn command(&self, place: &Place) -> Result<Command, Failure> {
        let life = self.lives.fetch_add(1, Relaxed) + 1;
        // By `env`, so that the shell which guards it has the true clock.
        let mut command = Command::new("env");
        if let Some(library) = wall_library() {
            command.arg(format!("LD_PRELOAD={}", library.display()));
            command.arg(format!("FAKETIME_TIMESTAMP_FILE={}", wall_file(place).display()));
            // Of all clocks only the wall clock; read anew each time; nothing shared between processes.
            command.args(["FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"]);
            command.arg("FAKETIME_DISABLE_SHM=1");
        }
        command.arg(std::env::current_exe()?);
        command.env(SUBJECT, self.subject).env(NAME, name_of(self.number)).env(PLACE, &self.place);
        command.env(DIARY, diary_of(place, life)).env(REGISTERS, &self.registers);
        Ok(command)
    }

    fn is_ready(&self, place: &Place) -> bool {
        place.log().contains(READY)
    }
}

fn diary_of(place: &Place, life: usize) -> PathBuf {
    place.data().join(format!("diary-{life}"))
}

fn wall_file(place: &Place) -> PathBuf {
    place.folder().join("wall")
}

/// What sets the wall clock of one process alone.
pub(crate) fn wall_library() -> Option<PathBuf> {
    tools::FAKETIME.missing().is_none().then(|| tools::library("faketime/libfaketimeMT.so.1")).flatten()
}
