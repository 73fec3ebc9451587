//! A child and everything that descends from it: asked, killed, and known to be gone.
//!
//! Both the guardian and, where that is dead or frozen, the supervisor handle it.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal, test_kill_process_group};
use tenure::mutant::{Mutant, planted};

use super::cgroup::Cgroup;
use super::containment::Level;
use super::family::{Relative, children, descendants};

/// What is known of a child's tree.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) level: Level,
    /// The command itself, once it is known.
    pub(crate) command: Option<Process>,
    /// The first process of the namespace, where there is one.
    pub(crate) init: Option<Process>,
    pub(crate) cgroup: Option<Cgroup>,
}

/// A process by its number, and by a descriptor that never becomes another's.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
}

impl Process {
    /// The one behind a descriptor, by the number that it has here.
    pub(crate) fn behind(pidfd: OwnedFd) -> Option<Process> {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
        let pid: i32 = info.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
        // Once it was waited for it has none.
        Some(Process { pid: Pid::from_raw(pid.max(0))?, pidfd })
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }

    /// Whether it has ended, waited for or not.
    pub(crate) fn is_dead(&self) -> bool {
        let mut polled = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

/// Under whom a tree is looked for: whoever has that process as an ancestor belongs to it, apart from those named and their descendants.
#[derive(Debug)]
pub(crate) struct Root<'a> {
    pub(crate) pid: Pid,
    pub(crate) strangers: &'a [Relative],
}

impl Tree {
    /// As it is told to others; empty where there is no control group.
    pub(crate) fn cgroup_path(&self) -> Vec<u8> {
        self.cgroup.as_ref().map(|cgroup| cgroup.path().as_os_str().as_encoded_bytes().to_vec()).unwrap_or_default()
    }

    /// Asks all of it to stop. What is frozen is thawed for it, or it would never hear.
    pub(crate) fn ask(&self, root: &Root<'_>, signal: Signal) {
        if self.level == Level::ProcessGroup {
            self.signal_group(signal);
            self.signal_group(Signal::CONT);
            return;
        }
        let members = self.members(root);
        for signal in [signal, Signal::CONT] {
            members.iter().for_each(|member| member.signal(signal));
        }
    }

    /// Kills all of it, once. What was forked meanwhile is left for the next time, unless the kernel itself knows the members.
    pub(crate) fn kill(&self, root: &Root<'_>) {
        if planted(Mutant::KillsTheCommandOnly) {
            return self.signal_command(Signal::KILL);
        }
        if let Some(init) = &self.init {
            init.signal(Signal::KILL);
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        if self.level == Level::ProcessGroup {
            self.signal_group(Signal::KILL);
        } else {
            self.members(root).iter().for_each(|member| member.signal(Signal::KILL));
        }
    }

    /// Removes what was made for it, once nothing of it is left.
    pub(crate) fn tidy(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
    }

    pub(crate) fn signal_command(&self, signal: Signal) {
        if let Some(command) = &self.command {
            command.signal(signal);
        }
    }

    /// To the command's process group, as a terminal does it.
    pub(crate) fn signal_group(&self, signal: Signal) {
        if let Some(command) = &self.command {
            let _ = kill_process_group(command.pid, signal);
        }
    }

    /// Whether anybody is left in the command's process group.
    pub(crate) fn has_group(&self) -> bool {
        let is_there = |command: &Process| test_kill_process_group(command.pid) != Err(rustix::io::Errno::SRCH);
        self.command.as_ref().is_some_and(is_there)
    }

    /// Whether nothing of it lives, as far as can be seen from outside: what is dead and not yet waited for does not count.
    pub(crate) fn is_dead(&self, root: &Root<'_>) -> bool {
        if let Some(init) = &self.init {
            // The kernel lets it end only after everybody else in there.
            return init.is_dead();
        }
        let members = if self.level == Level::ProcessGroup { children_of(root) } else { self.members(root) };
        members.iter().all(|member| member.is_zombie) && !self.cgroup.as_ref().is_some_and(Cgroup::is_populated)
    }

    /// Everybody in it, apart from the namespace's own first process.
    fn members(&self, root: &Root<'_>) -> Vec<Relative> {
        let mut found = descendants(root.pid, root.strangers);
        if let Some(cgroup) = &self.cgroup {
            let others = cgroup.members().into_iter().filter(|pid| !found.iter().any(|known| known.pid == *pid));
            found.extend(others.filter_map(Relative::find).collect::<Vec<_>>());
        }
        // It has no handler for any signal, and the kernel keeps all but the last one from it.
        found.retain(|one| self.init.as_ref().is_none_or(|init| init.pid != one.pid));
        found
    }
}

fn children_of(root: &Root<'_>) -> Vec<Relative> {
    let mut found = children(root.pid);
    found.retain(|one| !root.strangers.contains(one));
    found
}
