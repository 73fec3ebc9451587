//! The terminal, where there is one: it talks to the command while that runs, and to us before and after.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};

use nix::sys::signal::{SigSet, Signal as NixSignal};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

/// The terminal that controls our session.
#[derive(Debug)]
pub(crate) struct Terminal(File);

impl Terminal {
    /// None where nobody sits at one. To be called before any thread is made, since threads inherit what is blocked here.
    pub(crate) fn of_this_session() -> Option<Terminal> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        // While the command is in front we are not, and must not be stopped for writing or for taking the terminal back.
        let mut background = SigSet::empty();
        background.add(NixSignal::SIGTTOU);
        background.thread_block().ok()?;
        Some(Terminal(terminal))
    }

    /// Whether the command is to have it: it talks to our own process group, and the command reads from it and writes to it. In a pipe
    /// others of our group need it more (a pager, for one), and keys reach the command through us.
    pub(crate) fn is_ours(&self) -> bool {
        let is_used = io::stdin().is_terminal() && io::stdout().is_terminal();
        is_used && tcgetpgrp(&self.0).is_ok_and(|front| front == getpgrp())
    }

    /// Whether it was closed (EIO), or taken from our session by the end of whoever led that (ENOTTY).
    pub(crate) fn is_gone(&self) -> bool {
        matches!(tcgetpgrp(&self.0), Err(Errno::IO | Errno::NOTTY))
    }

    /// Makes the terminal talk to the command.
    pub(crate) fn hand_to(&self, command: Pid) {
        let _ = tcsetpgrp(&self.0, command);
    }

    /// Makes it talk to us again, if it talked to the command; somebody else's it stays.
    pub(crate) fn take_back_from(&self, command: Pid) {
        if tcgetpgrp(&self.0).is_ok_and(|front| front == command) {
            let _ = tcsetpgrp(&self.0, getpgrp());
        }
    }
}

/// Stops this process, as the shell expects of a job whose command was stopped; returns when it goes on.
pub(crate) fn stop_with_command() -> io::Result<()> {
    Ok(kill_process(getpid(), Signal::STOP)?)
}
