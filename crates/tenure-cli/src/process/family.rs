//! Who descends from whom, as `/proc` has it, and signals that reach exactly those who were found.

use std::fs;
use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process as it was found. Its number may be another's by the time one looks again; its start tells them apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relative {
    pub(crate) pid: Pid,
    parent: Option<Pid>,
    started: u64,
    /// Dead, but not waited for yet.
    pub(crate) is_zombie: bool,
}

impl PartialEq for Relative {
    fn eq(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }
}

impl Relative {
    /// The process with this number; `None` when there is none, or `/proc` does not show it.
    pub(crate) fn find(pid: Pid) -> Option<Relative> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        // The name in brackets may itself hold brackets and blanks.
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        // The state is field 3, the parent field 4, the start field 22.
        let (state, parent) = (fields.next()?, parse(fields.next()?));
        let started = fields.nth(17)?.parse().ok()?;
        Some(Relative { pid, parent, started, is_zombie: matches!(state, "Z" | "X") })
    }

    /// Sends a signal to this very process, and to no other that has its number by now.
    pub(crate) fn signal(self, signal: Signal) {
        if let Some(pidfd) = self.pidfd() {
            // It may be gone, or have another user's rights: there is nobody to tell, and whoever waits for the tree notices.
            let _ = pidfd_send_signal(pidfd, signal);
        }
    }

    fn pidfd(self) -> Option<std::os::fd::OwnedFd> {
        let pidfd = pidfd_open(self.pid, PidfdFlags::empty()).ok()?;
        // Looked at after it was opened: if it is the same still, then the descriptor is its own.
        Relative::find(self.pid).filter(|same| same.started == self.started)?;
        Some(pidfd)
    }
}

/// The children of a process, by all of its threads.
pub(crate) fn children(of: Pid) -> Vec<Relative> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", of.as_raw_nonzero())) else { return Vec::new() };
    let mut found = Vec::new();
    for task in tasks.flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(list) => found.extend(list.split(' ').filter_map(parse).filter_map(Relative::find)),
            // A kernel that keeps no such list; or the thread is gone, and then the search finds nothing.
            Err(_) => return children_by_search(of),
        }
    }
    found
}

fn children_by_search(of: Pid) -> Vec<Relative> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.filter_map(|entry| Relative::find(parse(entry.file_name().to_str()?)?));
    all.filter(|one| one.parent == Some(of)).collect()
}

/// Everybody that descends from a process, itself left out, and without these children of it and whoever descends from them; parents before
/// their children.
pub(crate) fn descendants(of: Pid, without: &[Relative]) -> Vec<Relative> {
    let mut found = children(of);
    found.retain(|one| !without.contains(one));
    let mut next = 0;
    while next < found.len() {
        let nested = children(found[next].pid);
        // A list that changes while it is read must not lead in circles.
        found.extend(
            nested.into_iter().filter(|one| !found.iter().any(|known| known.pid == one.pid)).collect::<Vec<_>>(),
        );
        next += 1;
    }
    found
}

/// Whether `/proc` tells about processes at all.
pub(crate) fn is_visible() -> io::Result<()> {
    fs::read_to_string("/proc/self/stat").map(drop)
}

fn parse(pid: &str) -> Option<Pid> {
    Pid::from_raw(pid.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn descendants_are_found_and_only_they_are_signalled() {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().expect("sh");
        let pid = Pid::from_child(&shell);
        let begin = std::time::Instant::now();
        let sleep = loop {
            if let [sleep] = descendants(pid, &[])[..] {
                break sleep;
            }
            assert!(begin.elapsed().as_secs() < 20, "the shell never started its child");
        };
        let stranger = Relative { started: sleep.started + 1, ..sleep };
        stranger.signal(Signal::KILL);
        assert!(!Relative::find(sleep.pid).expect("it lives").is_zombie, "a number alone is nobody");
        assert_eq!(children_by_search(pid), [sleep]);
        let family = descendants(rustix::process::getpid(), &[]);
        assert!(family.contains(&sleep), "{family:?}");
        let shell_itself = Relative::find(pid).expect("it lives");
        assert!(!descendants(rustix::process::getpid(), &[shell_itself]).contains(&sleep));
        sleep.signal(Signal::KILL);
        assert!(shell.wait().expect("it ends").code().is_some());
        assert!(children(pid).is_empty());
    }
}
