//! A control group of the child's own, below the one this process is in.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

/// A group that was made for one child.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Makes one below our own, where that is delegated to us and the kernel can kill a group (Linux 5.14).
    pub(crate) fn create(name: &str) -> io::Result<Cgroup> {
        let own = own_group()?;
        // Moving a process takes the right to write here, in the ancestor that both places share.
        fs::OpenOptions::new().write(true).open(own.join("cgroup.procs"))?;
        let path = own.join(name);
        fs::create_dir(&path)?;
        let group = Cgroup { path };
        if !group.path.join("cgroup.kill").exists() {
            group.remove();
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel cannot kill a control group"));
        }
        Ok(group)
    }

    /// One that another process has made.
    pub(crate) fn existing(path: &[u8]) -> Cgroup {
        Cgroup { path: PathBuf::from(OsStr::from_bytes(path)) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the calling process in; what it starts is born there.
    pub(crate) fn join(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), "0")
    }

    /// Kills all members, those in groups below it too, in one stroke that no fork outruns.
    pub(crate) fn kill(&self) {
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Its members, groups below it left out.
    pub(crate) fn members(&self) -> Vec<Pid> {
        let list = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        list.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
    }

    /// Whether a living process is in it, or in a group below it.
    pub(crate) fn is_populated(&self) -> bool {
        fs::read_to_string(self.path.join("cgroup.events")).is_ok_and(|events| events.contains("populated 1"))
    }

    /// Removes it, once it is empty, and what the child made below it.
    pub(crate) fn remove(&self) {
        remove(&self.path);
    }
}

fn remove(group: &Path) {
    for below in fs::read_dir(group).into_iter().flatten().flatten() {
        if below.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&below.path());
        }
    }
    let _ = fs::remove_dir(group);
}

/// The folder of the group this process is in, in the unified hierarchy.
fn own_group() -> io::Result<PathBuf> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no unified control group hierarchy");
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).ok_or_else(missing)?;
    let (root, mount) = mounts.lines().find_map(unified).ok_or_else(missing)?;
    // A container may see only a part of the hierarchy.
    let below = Path::new(group).strip_prefix(&root).map_err(|_| missing())?;
    Ok(mount.join(below))
}

/// The root and the mount point in a line of `mountinfo`, where it is the unified hierarchy's.
fn unified(line: &str) -> Option<(PathBuf, PathBuf)> {
    let (place, kind) = line.split_once(" - ")?;
    if !kind.starts_with("cgroup2 ") {
        return None;
    }
    let mut fields = place.split(' ').skip(3);
    Some((fields.next()?.into(), fields.next()?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unified_hierarchy_is_found_among_mounts() {
        let line = "31 24 0:27 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw";
        assert_eq!(unified(line), Some(("/".into(), "/sys/fs/cgroup/unified".into())));
        assert_eq!(unified("30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
        assert_eq!(unified(""), None);
    }
}
