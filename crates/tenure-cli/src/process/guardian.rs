//! The process that stands between a supervisor and its command: parent of the tree, single-threaded, with a timer of its own.
//!
//! It needs nobody to end the tree in time. Killing or freezing the supervisor changes nothing about the deadline it was given last; and
//! when the tree is gone and the supervisor is too, it gives the office up.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal as NixSignal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, wait};
use tenure::mutant::{Mutant, planted};
use tenure::{BootClock, Clock, Moment};

use super::containment::Level;
use super::message::{Message, Office, Reach, Term};
use super::nest::Nest;
use super::timer::Timer;
use super::tree::{Process, Root, Tree};
use super::vigil::{Act, Vigil};
use super::wire::{Channel, Word};
use super::{Brief, myself, roles};

/// Runs until its child is gone and the office is seen to.
pub(crate) fn main(arguments: &[OsString]) -> ExitCode {
    let Some((brief, command)) = Brief::parse(arguments) else { return super::stray("guardian") };
    let Ok(supervisor) = Channel::from_stdin() else { return super::stray("guardian") };
    super::call(c"tenure-guardian");
    match Guardian::new(brief, command, supervisor).and_then(|guardian| guardian.map_or(Ok(()), Guardian::watch)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenure: the guardian failed: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Guardian<'a> {
    brief: Brief,
    command: &'a [OsString],
    /// Nothing once it is gone.
    supervisor: Option<Channel>,
    init: Option<Channel>,
    /// The way to the shim, until that has become the command.
    shim: Option<Channel>,
    /// Who hears the keys of the terminal, where there is one.
    ear: Option<Channel>,
    wants_ear: bool,
    tree: Tree,
    vigil: Vigil,
    timer: Timer,
    deaths: SignalFd,
    office: Option<Office>,
    /// The liveness lock of the tenure, kept until this process ends or becomes the one that gives the office up.
    lock: Option<OwnedFd>,
    /// Since when the tree is gone and nobody else sees to the office.
    alone_since: Option<Moment>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Waiting,
    Running,
    /// The command is over, but not all that it left behind.
    Ending,
    /// Nothing is left.
    Empty,
    /// Nothing is left that can be reached.
    Escaped,
}

impl<'a> Guardian<'a> {
    /// Nothing where the containment that is wanted cannot be had; the supervisor knows by then.
    fn new(brief: Brief, command: &'a [OsString], supervisor: Channel) -> io::Result<Option<Self>> {
        // Whoever talks to the terminal's job, or to everything called tenure, does not mean the guardian.
        SigSet::all().thread_block()?;
        if brief.at_terminal {
            // A session of its own would take the terminal away from the child.
            rustix::process::setpgid(None, None)?;
        } else {
            rustix::process::setsid()?;
        }
        rustix::process::set_child_subreaper(Some(getpid()))?;
        let mut deaths = SigSet::empty();
        deaths.add(NixSignal::SIGCHLD);
        let deaths = SignalFd::with_flags(&deaths, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        let nest = match Nest::build(brief.wanted, command) {
            Ok((nest, because)) => {
                let cgroup = nest.tree.cgroup_path();
                let ready = Message::Contained { level: nest.tree.level, because, cgroup };
                if supervisor.send(&ready, &[]).is_err() {
                    // It found out meanwhile that it cannot go on, and is gone.
                    nest.tree.tidy();
                    return Ok(None);
                }
                nest
            }
            Err(because) => {
                // One that is gone meanwhile has no use for it.
                let _ = supervisor.send(&Message::Uncontained { because }, &[]);
                return Ok(None);
            }
        };
        Ok(Some(Guardian {
            brief,
            command,
            supervisor: Some(supervisor),
            init: nest.init,
            shim: None,
            ear: None,
            wants_ear: false,
            tree: nest.tree,
            vigil: Vigil::new(brief.margin, brief.grace),
            timer: Timer::new()?,
            deaths,
            office: None,
            lock: None,
            alone_since: None,
            stage: Stage::Waiting,
        }))
    }

    fn watch(mut self) -> io::Result<()> {
        loop {
            // First what was said, then what the clock says: whoever thaws hears of extensions before it judges by the time.
            if let Parting::Leave = self.hear_supervisor()? {
                return self.leave();
            }
            self.hear_shim()?;
            self.hear_init()?;
            self.hear_ear()?;
            self.reap()?;
            let now = BootClock.now();
            let was_overdue = self.vigil.is_overdue();
            if let Some(act) = self.vigil.elapse(now) {
                if self.vigil.is_overdue() && !was_overdue {
                    self.report(&Message::Overdue, &[]);
                }
                self.carry_out(act);
                self.reap()?;
            }
            let leave_at = self.leave_at(now)?;
            if now >= leave_at {
                return self.leave();
            }
            self.timer.set(self.vigil.wake_at().min(leave_at))?;
            self.sleep()?;
        }
    }

    // ---- hearing

    fn hear_supervisor(&mut self) -> io::Result<Parting> {
        while let Some(supervisor) = &self.supervisor {
            match supervisor.hear()? {
                Word::Said(Message::Start { term, office, foreground, ear }, descriptors) => {
                    self.wants_ear = ear;
                    let mut descriptors = descriptors.into_iter();
                    let stdin = descriptors.next();
                    self.lock = descriptors.next();
                    self.start(term, office, foreground, stdin)?;
                }
                Word::Said(Message::Extend(term), _) => self.vigil.extend(term),
                Word::Said(Message::Stop { grace }, _) => self.end(Some(grace)),
                Word::Said(Message::Signal { signal, reach }, _) => self.forward(signal, reach),
                Word::Said(Message::Farewell, _) => return Ok(Parting::Dismissed.or_leave(self.stage)),
                Word::Said(..) => {}
                Word::Nothing => break,
                Word::Gone => {
                    self.supervisor = None;
                    if planted(Mutant::OrphanUnnoticed) {
                        break;
                    }
                    if self.stage == Stage::Waiting {
                        return Ok(Parting::Leave);
                    }
                    self.end(None);
                }
            }
        }
        Ok(Parting::Stay)
    }

    fn hear_shim(&mut self) -> io::Result<()> {
        while let Some(shim) = &self.shim {
            match shim.hear()? {
                Word::Said(Message::Here, descriptors) => {
                    if let Some(command) = descriptors.into_iter().next().and_then(Process::behind) {
                        self.ear = if self.wants_ear { ear(&command) } else { None };
                        self.tree.command = Some(command);
                    }
                    self.let_reap();
                }
                Word::Said(message @ (Message::Failed { .. } | Message::TooLate), _) => {
                    self.shim = None;
                    self.stage = Stage::Ending;
                    self.report(&message, &[]);
                    self.let_reap();
                }
                Word::Said(..) => {}
                Word::Nothing => break,
                // Its end closes with the execution: it has become the command.
                Word::Gone => {
                    self.shim = None;
                    if let Some(command) = &self.tree.command {
                        let mut known = vec![command.pidfd.as_fd()];
                        known.extend(self.tree.init.as_ref().map(|init| init.pidfd.as_fd()));
                        let init = self.tree.init.as_ref().map_or(0, |init| init.pid.as_raw_pid());
                        self.report(&Message::Started { pid: command.pid.as_raw_pid(), init }, &known);
                    } else {
                        self.let_reap();
                    }
                }
            }
        }
        Ok(())
    }

    fn hear_init(&mut self) -> io::Result<()> {
        while let Some(init) = &self.init {
            match init.hear()? {
                Word::Said(Message::Exited { status }, _) => self.command_ended(status)?,
                Word::Said(message @ Message::Suspended { .. }, _) => self.report(&message, &[]),
                // It could not even make the shim. Whatever happens to it later ends the namespace, and is noticed by that.
                Word::Said(message @ Message::Failed { .. }, _) if self.tree.command.is_none() => {
                    self.stage = Stage::Ending;
                    self.report(&message, &[]);
                }
                Word::Said(..) => {}
                Word::Nothing => break,
                Word::Gone => {
                    self.init = None;
                    if self.stage == Stage::Waiting {
                        // Without it a command would run outside of the namespace. The supervisor finds another guardian.
                        return Err(io::Error::other("the first process of the namespace was killed"));
                    }
                }
            }
        }
        Ok(())
    }

    fn hear_ear(&mut self) -> io::Result<()> {
        while let Some(ear) = &self.ear {
            match ear.hear()? {
                Word::Said(message @ Message::Key { .. }, _) => self.report(&message, &[]),
                Word::Said(..) => {}
                Word::Nothing => break,
                Word::Gone => self.ear = None,
            }
        }
        Ok(())
    }

    /// Waits for whoever has died, and finds out whether anybody is left.
    fn reap(&mut self) -> io::Result<()> {
        while self.deaths.read_signal()?.is_some() {}
        loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((pid, status))) => self.changed(pid, status)?,
                Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break,
                Err(rustix::io::Errno::CHILD) => {
                    // Everybody whose parent died became our child, so that without any child there is nobody.
                    let spared = self.tree.cgroup.as_ref().is_some_and(|cgroup| cgroup.is_populated());
                    if self.stage != Stage::Waiting && !spared {
                        self.all_gone(Stage::Empty)?;
                    }
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        let out_of_reach = self.tree.level == Level::ProcessGroup && !self.tree.has_group();
        if self.stage == Stage::Ending && out_of_reach && self.tree.command.is_some() {
            self.all_gone(Stage::Escaped)?;
        }
        Ok(())
    }

    fn changed(&mut self, pid: Pid, status: WaitStatus) -> io::Result<()> {
        let is_command = self.tree.command.as_ref().is_some_and(|command| command.pid == pid);
        if let Some(signal) = status.stopping_signal() {
            if is_command {
                self.report(&Message::Suspended { signal }, &[]);
            }
        } else if is_command {
            return self.command_ended(status.as_raw());
        } else if self.tree.init.as_ref().is_some_and(|init| init.pid == pid) && self.stage == Stage::Running {
            // It had no time to say how the command ended: it was killed, and the command with it.
            return self.command_ended(Signal::KILL.as_raw());
        }
        Ok(())
    }

    // ---- doing

    fn start(&mut self, term: Term, office: Office, foreground: bool, stdin: Option<OwnedFd>) -> io::Result<()> {
        if self.stage != Stage::Waiting {
            return Ok(());
        }
        if !self.vigil.begin(term, BootClock.now()) {
            self.report(&Message::TooLate, &[]);
            self.report(&Message::Empty, &[]);
            return Ok(());
        }
        let (near, far) = Channel::pair()?;
        let go = Message::Go {
            deadline: term.deadline,
            office: office.clone(),
            foreground,
            cgroup: self.tree.cgroup_path(),
        };
        // It lies ready for the shim before there is one, so that no death in between keeps it from being sent.
        near.send(&go, &stdin.iter().map(AsFd::as_fd).collect::<Vec<_>>())?;
        let spawned = match (self.init.as_ref(), self.tree.level) {
            (Some(init), _) => init.send(&Message::Spawn, &[far.as_fd()]),
            (None, Level::PidNamespace) => Err(io::Error::other("the namespace is gone")),
            (None, _) => self.spawn(far),
        };
        self.stage = Stage::Running;
        self.office = Some(office);
        if let Err(error) = spawned {
            self.stage = Stage::Ending;
            let errno = error.raw_os_error().unwrap_or_default();
            self.report(&Message::Failed { errno, because: error.to_string() }, &[]);
            return Ok(());
        }
        self.shim = Some(near);
        // Nothing here may keep the command's streams open. The first process of a namespace has its own copy.
        let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
        Ok(rustix::stdio::dup2_stdout(&null)?)
    }

    /// Makes the shim from this, the only thread: the kernel kills it with the thread that made it.
    fn spawn(&mut self, channel: OwnedFd) -> io::Result<()> {
        let shim = myself(roles::SHIM).arg("--").args(self.command).stdin(Stdio::from(channel)).spawn()?;
        let pid = Pid::from_child(&shim);
        self.tree.command = Some(Process { pid, pidfd: pidfd_open(pid, PidfdFlags::empty())? });
        Ok(())
    }

    fn end(&mut self, grace: Option<Duration>) {
        if let Some(act) = self.vigil.end(BootClock.now(), grace) {
            self.carry_out(act);
        }
    }

    fn carry_out(&mut self, act: Act) {
        let root = Root { pid: getpid(), strangers: &[] };
        match act {
            Act::Ask => {
                let signal = Signal::from_named_raw(self.brief.signal).unwrap_or(Signal::TERM);
                self.tree.ask(&root, signal);
                self.report(&Message::Stopping, &[]);
            }
            Act::Kill => self.tree.kill(&root),
        }
    }

    fn forward(&self, signal: i32, reach: Reach) {
        let Some(signal) = Signal::from_named_raw(signal) else { return };
        match reach {
            Reach::Command => self.tree.signal_command(signal),
            Reach::Group => self.tree.signal_group(signal),
        }
    }

    /// The first process of the namespace may wait for the command from now on: up to here that would have taken its number from us.
    fn let_reap(&self) {
        if let Some(init) = &self.init {
            let _ = init.send(&Message::Here, &[]);
        }
    }

    fn command_ended(&mut self, status: i32) -> io::Result<()> {
        // What it said before it ended comes first: that it runs, or that it cannot.
        self.hear_shim()?;
        if self.stage != Stage::Running {
            return Ok(());
        }
        self.stage = Stage::Ending;
        self.report(&Message::Exited { status }, &[]);
        if let Some(ear) = &self.ear {
            let _ = ear.send(&Message::Farewell, &[]);
        }
        // What it left behind is asked too, and killed after the grace.
        self.end(None);
        Ok(())
    }

    fn all_gone(&mut self, stage: Stage) -> io::Result<()> {
        if self.stage >= Stage::Empty {
            return Ok(());
        }
        // What it heard last comes before the end.
        self.hear_ear()?;
        if self.stage == Stage::Running {
            self.report(&Message::Exited { status: Signal::KILL.as_raw() }, &[]);
        }
        self.stage = stage;
        self.vigil.over();
        self.tree.tidy();
        self.report(if stage == Stage::Empty { &Message::Empty } else { &Message::Escaped }, &[]);
        Ok(())
    }

    /// SAFETY 12: the tree is gone, so the office can be. Where the supervisor is alive after all, it does the same, and once is enough.
    fn leave(self) -> io::Result<()> {
        self.tree.tidy();
        let is_gone = self.stage == Stage::Empty || planted(Mutant::AbandonedBeforeEmpty);
        let abandoned = self.is_alone() && is_gone;
        let Some(office) = self.office.filter(|_| abandoned) else { return Ok(()) };
        Err(myself(roles::WITHDRAW).args([&office.election, &office.id, &office.tenure]).exec())
    }

    /// When a guardian that is left alone gives the office up: when its minimum is over, and no later than the store does. Up to then the
    /// liveness lock is kept, without which another would lead at once.
    fn leave_at(&mut self, now: Moment) -> io::Result<Moment> {
        if !self.is_alone() || self.stage < Stage::Empty && !planted(Mutant::AbandonedBeforeEmpty) {
            return Ok(Moment::NEVER);
        }
        let Some(office) = self.office.as_ref().filter(|_| self.stage == Stage::Empty) else { return Ok(now) };
        if self.alone_since.is_none() && now < office.keep_until {
            // Whoever reads the command's streams to their end does not wait for an office.
            rustix::stdio::dup2_stderr(std::fs::OpenOptions::new().write(true).open("/dev/null")?)?;
        }
        let since = *self.alone_since.get_or_insert(now);
        if planted(Mutant::MinimumHoldAbandoned) {
            return Ok(now);
        }
        Ok(office.keep_until.min(since.after(office.lease)))
    }

    /// Whether nobody else can be relied on to see to the office: the supervisor is gone, or did not extend the deadline.
    fn is_alone(&self) -> bool {
        self.supervisor.is_none() || self.vigil.is_overdue()
    }

    fn report(&self, message: &Message, descriptors: &[BorrowedFd<'_>]) {
        if let Some(supervisor) = &self.supervisor {
            // One that does not read is frozen or dead; neither changes what has to be done.
            let _ = supervisor.send(message, descriptors);
        }
    }

    fn sleep(&self) -> io::Result<()> {
        let channels = [&self.supervisor, &self.init, &self.shim, &self.ear];
        let mut polled: Vec<PollFd<'_>> =
            channels.into_iter().flatten().map(|channel| PollFd::new(channel, PollFlags::IN)).collect();
        polled.push(PollFd::new(&self.timer, PollFlags::IN));
        polled.push(PollFd::from_borrowed_fd(self.deaths.as_fd(), PollFlags::IN));
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Has somebody listen in the command's process group; a command runs as well without.
fn ear(command: &Process) -> Option<Channel> {
    let (near, far) = Channel::pair().ok()?;
    let mut ear = myself(roles::EAR);
    // Born in the group, with every signal blocked: no key is missed, and one that comes too late to join is not taken for an escape.
    ear.process_group(command.pid.as_raw_pid());
    super::without_secrets(&mut ear).stdin(Stdio::from(far)).stdout(Stdio::null()).stderr(Stdio::null());
    ear.spawn().is_ok().then_some(near)
}

/// Whether the guardian goes on.
enum Parting {
    Stay,
    Dismissed,
    Leave,
}

impl Parting {
    /// A supervisor that says farewell sees to everything itself; one that does so too early is not believed.
    fn or_leave(self, stage: Stage) -> Parting {
        match (self, stage) {
            (Parting::Dismissed, Stage::Running | Stage::Ending) => Parting::Stay,
            (Parting::Dismissed, _) => Parting::Leave,
            (parting, _) => parting,
        }
    }
}
