//! Hears the keys of a terminal along with the command: a process in the command's group that does nothing else.
//!
//! While the command is in front, the terminal talks to its process group and to nobody else. A command that handles Ctrl-C and ends as if of
//! its own accord would be started again, and the person at the terminal could never leave.

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;

use nix::sys::signal::{SigSet, Signal as NixSignal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::message::Message;
use super::wire::{Channel, Word};

/// Listens until the guardian has heard enough.
pub(crate) fn main() -> ExitCode {
    let Ok(guardian) = Channel::from_stdin() else { return super::stray("ear") };
    super::call(c"tenure-ear");
    match listen(&guardian) {
        Ok(()) => ExitCode::SUCCESS,
        // The command is gone already; there is nobody to tell.
        Err(_) => ExitCode::FAILURE,
    }
}

fn listen(guardian: &Channel) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Nothing but a kill ends this process: it must not be the first to obey a key.
    SigSet::all().thread_block()?;
    let mut keys = SigSet::empty();
    keys.add(NixSignal::SIGINT);
    keys.add(NixSignal::SIGQUIT);
    let keys = SignalFd::with_flags(&keys, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    loop {
        // Looked at before the keys: what was pressed before the farewell is told.
        let is_over = !matches!(guardian.hear()?, Word::Nothing);
        while let Some(key) = keys.read_signal()? {
            guardian.send(&Message::Key { signal: key.ssi_signo as i32 }, &[])?;
        }
        if is_over {
            return Ok(());
        }
        let mut polled = [PollFd::new(guardian, PollFlags::IN), PollFd::from_borrowed_fd(keys.as_fd(), PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
