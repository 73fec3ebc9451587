//! Why a file cannot be had at this moment.

use std::fmt;

use rustix::fs::{Dev, Stat};

/// What keeps a call from its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Busy {
    /// Somebody has its lock.
    Locked { device: Dev, inode: u64 },
    /// Another file has got its name.
    Replaced,
}

impl Busy {
    pub(super) fn locked(stat: &Stat) -> Self {
        Busy::Locked { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// It asks the kernel, so it is for messages, not for every try.
impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Busy::Locked { device, inode } => write!(f, "its lock is held by {}", whose(device, inode)),
            Busy::Replaced => f.write_str("it is replaced again and again"),
        }
    }
}

/// The process that has the lock of this file: `process 1234 (name), which is stopped`.
#[cfg(target_os = "linux")]
fn whose(device: Dev, inode: u64) -> String {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let Some(pid) = locks.lines().find_map(|line| holder(line, device, inode)) else {
        return "another process".to_owned();
    };
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let name = field("Name:").unwrap_or("of an unknown name");
    let stopped = field("State:").is_some_and(|state| state.starts_with(['T', 't']));
    let state = if stopped { ", which is stopped: let it go on, or kill it" } else { "" };
    format!("process {pid} ({name}){state}")
}

/// Nobody can be asked.
#[cfg(not(target_os = "linux"))]
fn whose(_: Dev, _: u64) -> String {
    "another process".to_owned()
}

/// The process in a line such as `1: FLOCK  ADVISORY  WRITE 1234 fd:00:5678 0 EOF`, if it has the lock and does not only wait for it.
#[cfg(target_os = "linux")]
pub(super) fn holder(line: &str, device: Dev, inode: u64) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let pid = words.nth(2)?.parse().ok()?;
    let mut file = words.next()?.split(':');
    let major = u32::from_str_radix(file.next()?, 16).ok()?;
    let minor = u32::from_str_radix(file.next()?, 16).ok()?;
    let theirs = (rustix::fs::major(device), rustix::fs::minor(device));
    ((major, minor) == theirs && file.next()?.parse() == Ok(inode)).then_some(pid)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_found_among_the_locks_of_the_system() {
        let device = rustix::fs::makedev(0xfd, 1);
        let line = "7: FLOCK  ADVISORY  WRITE 4321 fd:01:77 0 EOF";
        assert_eq!(holder(line, device, 77), Some(4321));
        assert_eq!(holder(line, device, 78), None);
        assert_eq!(holder("7: -> FLOCK  ADVISORY  WRITE 4321 fd:01:77 0 EOF", device, 77), None, "it only waits");
        assert_eq!(holder("7: POSIX  ADVISORY  WRITE 4321 fd:01:77 0 EOF", device, 77), None);
        assert_eq!(holder("7: FLOCK", device, 77), None);
    }
}
