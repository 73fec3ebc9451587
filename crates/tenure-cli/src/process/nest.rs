//! Makes ready what will hold a child's tree, as firmly as can be had.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::Stdio;

use nix::sched::{CloneFlags, setns, unshare};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};
use tenure::{BootClock, Clock};

use super::cgroup::Cgroup;
use super::containment::{Level, Wanted};
use super::message::Message;
use super::tree::{Process, Tree};
use super::wire::Channel;
use super::{family, myself, roles, without_secrets};

/// A place for one child, before there is one.
#[derive(Debug)]
pub(crate) struct Nest {
    pub(crate) tree: Tree,
    /// The way to the first process of the namespace, where there is one.
    pub(crate) init: Option<Channel>,
}

impl Nest {
    /// The firmest that is wanted and can be had, and why it is no firmer; or why none can.
    pub(crate) fn build(wanted: Wanted, command: &[OsString]) -> Result<(Nest, String), String> {
        let mut reasons = Vec::new();
        for level in Level::ALL.into_iter().filter(|level| wanted.admits(*level)) {
            match Nest::at(level, command) {
                Ok(nest) => return Ok((nest, reasons.join("; "))),
                Err(error) => reasons.push(format!("{level}: {error}")),
            }
        }
        Err(reasons.join("; "))
    }

    fn at(level: Level, command: &[OsString]) -> io::Result<Nest> {
        let bare = Tree { level, command: None, init: None, cgroup: None };
        if level != Level::ProcessGroup {
            family::is_visible()?;
        }
        match level {
            Level::PidNamespace => {
                let (process, channel) = init(command)?;
                Ok(Nest { tree: Tree { init: Some(process), ..bare }, init: Some(channel) })
            }
            Level::Cgroup => {
                // The boot clock tells apart two that had the same number.
                let name = format!("tenure-{}-{}", getpid().as_raw_nonzero(), BootClock.now().as_nanos());
                Ok(Nest { tree: Tree { cgroup: Some(Cgroup::create(&name)?), ..bare }, init: None })
            }
            Level::Subreaper | Level::ProcessGroup => Ok(Nest { tree: bare, init: None }),
        }
    }
}

/// Starts the first process of a new pid namespace, and hears from it that it is prepared.
fn init(command: &[OsString]) -> io::Result<(Process, Channel)> {
    let (channel, far) = Channel::pair()?;
    let own = File::open("/proc/self/ns/pid")?;
    // Only children that are made from here on are in the new namespace.
    unshare(CloneFlags::CLONE_NEWPID)?;
    let mut init = myself(roles::INIT);
    let spawned = without_secrets(&mut init).arg("--").args(command).stdin(Stdio::from(far)).spawn();
    // It keeps the far end, and with it the end of that process would never be heard of.
    drop(init);
    // And later ones are not again; without this no thread could be made any more.
    setns(own, CloneFlags::CLONE_NEWPID)?;
    let mut init = spawned?;
    let pid = Pid::from_child(&init);
    let process = Process { pid, pidfd: pidfd_open(pid, PidfdFlags::empty())? };
    let refusal = match channel.wait()? {
        Some((Message::Here, _)) => return Ok((process, channel)),
        Some((Message::Failed { because, .. }, _)) => because,
        _ => "its first process ended".into(),
    };
    init.wait()?;
    Err(io::Error::other(refusal))
}
