//! The first process of a pid namespace: it waits for whoever dies there, and when it goes, so does everybody else.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, Signal, WaitOptions, wait};

use super::message::Message;
use super::wire::Channel;
use super::{myself, roles};

pub(crate) fn main(command: &[OsString]) -> ExitCode {
    let Ok(guardian) = Channel::from_stdin() else { return super::stray("init") };
    super::call(c"tenure-init");
    match preside(&guardian, command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or_default();
            let _ = guardian.send(&Message::Failed { errno, because: error.to_string() }, &[]);
            ExitCode::FAILURE
        }
    }
}

fn preside(guardian: &Channel, command: &[OsString]) -> io::Result<()> {
    // With this process the kernel kills the namespace: the tree is dead moments after its guardian, whoever is left to see to it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    show_own_processes()?;
    guardian.send(&Message::Here, &[])?;
    let Some((Message::Spawn, descriptors)) = guardian.wait()? else { return Ok(()) };
    if guardian.is_broken() {
        return Ok(());
    }
    let channel = descriptors.into_iter().next().ok_or(io::ErrorKind::InvalidData)?;
    let shim = myself(roles::SHIM).arg("--").args(command).stdin(Stdio::from(channel)).spawn()?;
    // Nothing here may keep the command's streams open.
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    // One that was waited for has no number any more, and the guardian has to know it.
    if guardian.wait()?.is_none() {
        return Ok(());
    }
    reap(guardian, Pid::from_child(&shim))
}

/// Waits for all that die in here, until nobody is left.
fn reap(guardian: &Channel, command: Pid) -> io::Result<()> {
    loop {
        match wait(WaitOptions::UNTRACED) {
            Ok(Some((pid, status))) if pid == command => {
                if let Some(signal) = status.stopping_signal() {
                    guardian.send(&Message::Suspended { signal }, &[])?;
                } else {
                    guardian.send(&Message::Exited { status: status.as_raw() }, &[])?;
                }
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Gives the namespace a `/proc` of its own: numbers in another one's would be those of strangers. Every other mount stays shared as it
/// was, so that what the command mounts is seen outside.
fn show_own_processes() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let proc = Path::new("/proc");
    mount_change(proc, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", proc, "proc", flags, None)?;
    Ok(())
}
