//! One process of a server, with a folder and ports of its own.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::failure::While;
use crate::warden::Warden;
use crate::{Failure, Folder, Port, folder};

/// How to start a server: what a new one in the testbed has to say of itself.
pub trait Program: Send + 'static {
    /// What people call it.
    fn name(&self) -> &str;

    /// How many ports it listens on.
    fn ports(&self) -> usize {
        1
    }

    /// Writes what it needs before its first start, such as a file of settings.
    fn prepare(&self, place: &Place) -> Result<(), Failure> {
        let _ = place;
        Ok(())
    }

    /// The command that runs it in the foreground, with its output on the standard ones.
    fn command(&self, place: &Place) -> Result<Command, Failure>;

    /// Whether it answers. Asked again and again, until it does.
    fn is_ready(&self, place: &Place) -> bool;

    /// How long it may take to become ready; the machine may be busy.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// Where a server lives: kept for as long as it is owned, also while it is down.
#[derive(Debug)]
pub struct Place {
    folder: Folder,
    ports: Vec<Port>,
}

impl Place {
    fn new(program: &dyn Program) -> Result<Self, Failure> {
        let ports = (0..program.ports()).map(|_| Port::free()).collect::<Result<_, _>>()?;
        let place = Place { folder: Folder::new(program.name())?, ports };
        fs::create_dir(place.data()).when(place.data().display())?;
        program.prepare(&place)?;
        Ok(place)
    }

    /// Its private folder: settings, certificates, sockets, the log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder in it that holds what the server has to remember: what is wiped, saved and restored.
    pub fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// One of its ports on the loopback address.
    pub fn address(&self, index: usize) -> SocketAddr {
        self.ports[index].address()
    }

    /// The number of one of its ports.
    pub fn port(&self, index: usize) -> u16 {
        self.ports[index].number()
    }

    /// What it has written since its last start. What it wrote before that is in the file `log.before`.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// A copy of what a server remembered.
#[derive(Debug)]
pub struct Backup(Folder);

/// A server that is ours alone. It ends when this is dropped, and also when this process is killed.
pub struct Server {
    program: Box<dyn Program>,
    place: Place,
    warden: Option<Warden>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.program.name())
            .field("place", &self.place)
            .field("warden", &self.warden)
            .finish()
    }
}

impl Server {
    /// Starts it on free ports in an empty folder, and returns when it is ready.
    pub fn start(program: impl Program) -> Result<Self, Failure> {
        let mut program: Box<dyn Program> = Box::new(program);
        let mut tries = 5;
        loop {
            let place = Place::new(&*program)?;
            let mut server = Server { place, program, warden: None };
            match server.restart() {
                Ok(()) => return Ok(server),
                // Somebody who does not know the testbed was quicker.
                Err(_) if tries > 0 && server.place.log().to_lowercase().contains("address already in use") => {
                    tries -= 1;
                    program = server.program;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Stops it from running, without telling it: connections stay, and nothing answers.
    pub fn freeze(&self) -> Result<(), Failure> {
        self.warden()?.tell_all(Signal::STOP)
    }

    /// Lets it go on.
    pub fn thaw(&self) -> Result<(), Failure> {
        self.warden()?.tell_all(Signal::CONT)
    }

    /// Ends it at once, as a crash does.
    pub fn kill(&mut self) {
        self.warden = None;
    }

    /// Asks it to end, and returns when it has.
    pub fn stop(&mut self) -> Result<(), Failure> {
        let Some(warden) = &self.warden else { return Ok(()) };
        warden.tell_all(Signal::CONT)?;
        warden.tell(Signal::TERM)?;
        let name = self.program.name();
        eventually(self.program.patience(), || !warden.is_running())
            .ok_or_else(|| Failure::new(format!("{name} was asked to end, and did not")))?;
        self.warden = None;
        Ok(())
    }

    /// Starts it again, on the same ports and with what it remembers; one that still runs is killed first.
    pub fn restart(&mut self) -> Result<(), Failure> {
        self.warden = None;
        let command = self.program.command(&self.place)?;
        let _ = fs::rename(self.place.folder().join("log"), self.place.folder().join("log.before"));
        let warden = self.warden.insert(Warden::start(&command, self.place.folder())?);
        let (program, place) = (&self.program, &self.place);
        let patience = program.patience();
        let ready = eventually(patience, || !warden.is_running() || program.is_ready(place));
        let why = match ready {
            Some(()) if warden.is_running() => return Ok(()),
            Some(()) => "ended by itself".to_owned(),
            None => format!("was not ready within {patience:?}"),
        };
        Err(Failure::new(format!(
            "{} {why}.\nIt was started by {command:?}, and its log ends:\n{}",
            program.name(),
            end_of(&place.log())
        )))
    }

    /// Forgets everything, as a new disk does; it has to be down.
    pub fn wipe(&mut self) -> Result<(), Failure> {
        self.is_down("wiped")?;
        folder::empty(&self.place.data())
    }

    /// A copy of what is on its disk now.
    pub fn save(&self) -> Result<Backup, Failure> {
        let backup = Backup(Folder::new("backup")?);
        folder::copy(&self.place.data(), backup.0.path())?;
        Ok(backup)
    }

    /// Puts a copy back in place of what it has; it has to be down.
    pub fn restore(&mut self, backup: &Backup) -> Result<(), Failure> {
        self.is_down("restored")?;
        folder::empty(&self.place.data())?;
        folder::copy(backup.0.path(), &self.place.data())
    }

    /// Its first port on the loopback address.
    pub fn address(&self) -> SocketAddr {
        self.place.address(0)
    }

    /// Its folder, ports and log.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The number of its process, while it has one.
    pub fn pid(&self) -> Option<u32> {
        self.warden.as_ref().map(|warden| warden.pid().as_raw_nonzero().get().unsigned_abs())
    }

    /// Whether its process is there, frozen or not.
    pub fn is_running(&self) -> bool {
        self.warden.as_ref().is_some_and(Warden::is_running)
    }

    fn warden(&self) -> Result<&Warden, Failure> {
        self.warden.as_ref().ok_or_else(|| Failure::new(format!("{} is down", self.program.name())))
    }

    fn is_down(&self, to_be: &str) -> Result<(), Failure> {
        match self.is_running() {
            false => Ok(()),
            true => {
                Err(Failure::new(format!("{} has to be killed or stopped before it is {to_be}", self.program.name())))
            }
        }
    }
}

/// Looks again and again; nothing when that was in vain.
pub(crate) fn eventually(within: Duration, mut look: impl FnMut() -> bool) -> Option<()> {
    let start = Instant::now();
    loop {
        if look() {
            return Some(());
        }
        if start.elapsed() > within {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn end_of(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
