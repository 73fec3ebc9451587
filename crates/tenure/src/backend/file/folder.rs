//! The directory, and files in it that are opened with care.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, flock, fstat, fsync, open, openat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::blame::Busy;
use super::boot;
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind};

/// The directory, open for one call: what is done in it is done in one and the same directory, whatever becomes of its path meanwhile.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

/// A file that passed every check.
#[derive(Debug)]
pub(super) struct Checked {
    file: File,
    path: PathBuf,
    stat: Stat,
    /// Its lock is to be given back, and not only closed.
    unlock: bool,
}

/// What came of an attempt to open and lock a file.
#[derive(Debug)]
pub(super) enum Opening<T> {
    Done(T),
    /// There is no such file.
    Absent,
    /// Another process has the lock, or the file was replaced in between: try again.
    Busy(Busy),
}

const USUAL: OFlags = OFlags::CLOEXEC.union(OFlags::NOCTTY).union(OFlags::NONBLOCK);
const OWN: Mode = Mode::from_raw_mode(0o600);

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let fd = open(path, USUAL | OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        let fd = fd.map_err(|error| match error {
            Errno::NOENT => gone(path),
            Errno::NOTDIR => {
                Error::new(ErrorKind::InvalidConfig, format!("{} is not a directory; give one", path.display()))
            }
            error => storage(path, "opened", error),
        })?;
        let folder = Folder { fd, path: path.to_owned() };
        let mode = fstat(&folder.fd).map_err(|error| storage(path, "looked at", error))?.st_mode;
        // Whoever may rename files here can put another in the place of a locked one.
        if mode & 0o1002 == 0o002 && !planted(Mutant::FileWritableByAll) {
            let message = "every user may replace files in it: chmod o-w it, or choose another directory";
            return Err(denied(path, message));
        }
        Ok(folder)
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file for reading.
    pub(super) fn read(&self, name: &str) -> Result<Option<Checked>, Error> {
        self.opened(name, OFlags::RDONLY)
    }

    /// Opens a file for reading and writing; `create` makes an empty one if there is none. It is never truncated.
    pub(super) fn write(&self, name: &str, create: bool) -> Result<Option<Checked>, Error> {
        self.opened(name, if create { OFlags::RDWR | OFlags::CREATE } else { OFlags::RDWR })
    }

    /// Opens a file and locks it; nothing waits.
    pub(super) fn locked(&self, name: &str, create: bool) -> Result<Opening<Checked>, Error> {
        let Some(checked) = self.write(name, create)? else {
            return Ok(Opening::Absent);
        };
        self.lock(name, checked, FlockOperation::NonBlockingLockExclusive)
    }

    /// Takes the short lock of a file that is open, and makes sure that the file is still the one that its name means.
    pub(super) fn lock(
        &self,
        name: &str,
        mut checked: Checked,
        how: FlockOperation,
    ) -> Result<Opening<Checked>, Error> {
        if !planted(Mutant::FileUnlocked) {
            match flock(&checked.file, how) {
                Ok(()) => checked.unlock = true,
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(Opening::Busy(Busy::locked(&checked.stat))),
                Err(error) => return Err(storage(&checked.path, "locked", error)),
            }
        }
        if planted(Mutant::FileInodeNotCompared) {
            return Ok(Opening::Done(checked));
        }
        let replaced = || Ok(Opening::Busy(Busy::Replaced));
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if same(&stat, &checked.stat) => {}
            Ok(_) | Err(Errno::NOENT) => return replaced(),
            Err(error) => return Err(storage(&checked.path, "looked at", error)),
        }
        // What was checked before the lock may have changed until then.
        checked.stat = look_at(&checked.file, &checked.path)?;
        Ok(Opening::Done(checked))
    }

    /// Gives a complete file its name, unless there is one of that name.
    pub(super) fn name(&self, from: &str, to: &str) -> Result<bool, Error> {
        match rustix::fs::renameat_with(&self.fd, from, &self.fd, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            // Some network file systems cannot do it in one step; there only best effort is promised.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.name_in_two_steps(from, to),
            Err(error) => Err(storage(&self.path.join(to), "named", error)),
        }
    }

    fn name_in_two_steps(&self, from: &str, to: &str) -> Result<bool, Error> {
        if statat(&self.fd, to, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Ok(false);
        }
        let renamed = rustix::fs::renameat(&self.fd, from, &self.fd, to);
        renamed.map(|()| true).map_err(|error| storage(&self.path.join(to), "named", error))
    }

    /// Removes a file; it is no harm if there is none.
    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(storage(&self.path.join(name), "removed", error)),
        }
    }

    /// Makes the names in the directory outlive a power failure.
    pub(super) fn sync(&self) -> Result<(), Error> {
        fsync(&self.fd).map_err(|error| storage(&self.path, "written to disk", error))
    }

    /// The names of the files.
    pub(super) fn names(&self) -> Result<Vec<String>, Error> {
        let listed = |error| storage(&self.path, "listed", error);
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd).map_err(listed)? {
            let entry = entry.map_err(listed)?;
            names.extend(entry.file_name().to_str().ok().map(str::to_owned));
        }
        Ok(names)
    }

    fn opened(&self, name: &str, flags: OFlags) -> Result<Option<Checked>, Error> {
        let path = self.path.join(name);
        let follow = if planted(Mutant::FileFollowsLinks) { OFlags::empty() } else { OFlags::NOFOLLOW };
        match openat(&self.fd, name, USUAL | follow | flags, OWN) {
            Ok(file) => Checked::new(File::from(file), path).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(denied(&path, "it is a symbolic link, and none is followed: remove it")),
            Err(Errno::ISDIR | Errno::NXIO) => Err(denied(&path, "it is not a regular file: remove it")),
            Err(error) => Err(storage(&path, "opened", error)),
        }
    }
}

impl Checked {
    fn new(file: File, path: PathBuf) -> Result<Self, Error> {
        let stat = look_at(&file, &path)?;
        Ok(Checked { file, path, stat, unlock: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Another descriptor of it, which keeps its lock until the last one is closed.
    pub(super) fn keeping_its_lock(mut self) -> Result<OwnedFd, Error> {
        self.unlock = false;
        self.file.try_clone().map(OwnedFd::from).map_err(|error| storage(&self.path, "kept open", error))
    }

    /// How long it was when it was opened.
    pub(super) fn length(&self) -> usize {
        self.stat.st_size as usize
    }

    /// Its number in the file system.
    pub(super) fn inode(&self) -> u64 {
        self.stat.st_ino
    }

    /// What changes with every write, whoever makes it: which file it is, and when it was changed by the kernel's own clock.
    pub(super) fn changed(&self) -> Result<String, Error> {
        let stat = fstat(&self.file).map_err(|error| storage(&self.path, "looked at", error))?;
        Ok(format!("{}.{}.{}", stat.st_ino, stat.st_ctime, stat.st_ctime_nsec))
    }

    /// Whether nobody has written it since the machine was started.
    pub(super) fn is_from_before_boot(&self) -> bool {
        let written = UNIX_EPOCH + Duration::from_secs(self.stat.st_mtime.max(0) as u64 + 1);
        written < boot::began()
    }

    /// Reads from its beginning, at most this many bytes.
    pub(super) fn content(&self, most: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; most];
        let mut length = 0;
        while length < most {
            match self.file.read_at(&mut bytes[length..], length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(storage(&self.path, "read", error)),
            }
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Writes in place, in one call where the kernel takes it in one. A file that has to grow grows first, by blanks: where there is no room
    /// (a limit on file sizes, a quota), a half of what is new must not stand over the whole of what was there.
    pub(super) fn put(&self, bytes: &[u8], at: u64) -> Result<(), Error> {
        let (length, end) = (self.length() as u64, at + bytes.len() as u64);
        if at < length && length < end {
            let blanks = vec![b' '; (end - length) as usize];
            self.file.write_all_at(&blanks, length).map_err(|error| storage(&self.path, "written", error))?;
        }
        self.file.write_all_at(bytes, at).map_err(|error| storage(&self.path, "written", error))
    }

    /// Makes what was written outlive a power failure.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(|error| storage(&self.path, "written to disk", error))
    }
}

/// A process that was forked at this moment has the descriptor too: to close ours alone would leave the lock with it.
impl Drop for Checked {
    fn drop(&mut self) {
        if self.unlock && !planted(Mutant::FileForkKeepsLock) {
            let _ = flock(&self.file, FlockOperation::Unlock);
        }
    }
}

/// Checks what an open file is.
fn look_at(file: &File, path: &Path) -> Result<Stat, Error> {
    let stat = fstat(file).map_err(|error| storage(path, "looked at", error))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(denied(path, "it is not a regular file: remove it"));
    }
    let (owner, user) = (stat.st_uid, rustix::process::geteuid().as_raw());
    if owner != user && !planted(Mutant::FileForeignOwnerTaken) {
        let message = format!("it belongs to user {owner}, and this is user {user}: run all candidates as one user");
        return Err(denied(path, message));
    }
    if stat.st_mode & 0o022 != 0 && !planted(Mutant::FileWritableByAll) {
        return Err(denied(path, "other users may write it: chmod 600 it"));
    }
    if stat.st_mode & 0o600 != 0o600 {
        return Err(denied(path, "its owner may not read and write it: chmod 600 it"));
    }
    if stat.st_nlink > 1 && !planted(Mutant::FileLinkedTwiceTaken) {
        return Err(denied(path, "it has a second name (a hard link): remove that"));
    }
    Ok(stat)
}

fn same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

pub(super) fn gone(path: &Path) -> Error {
    Error::unavailable(format!("the directory {} is not there; make it again, or restore it", path.display()))
}

fn denied(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Denied, format!("{} is not used: {why}", path.display()))
}

/// What a failed system call means to whoever runs the election.
pub(super) fn storage(path: &Path, what: &str, error: impl Into<io::Error>) -> Error {
    let error = error.into();
    let path = path.display();
    let (kind, hint) = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS | Errno::PERM) => (ErrorKind::Denied, "; give this user the right, or run as its owner"),
        Some(Errno::ROFS) => (ErrorKind::Denied, ": the file system is read-only"),
        Some(Errno::NOSPC | Errno::DQUOT) => (ErrorKind::Unavailable, ": make room on the disk"),
        Some(Errno::MFILE | Errno::NFILE) => (ErrorKind::Unavailable, ": raise the limit on open files"),
        _ => (ErrorKind::Unavailable, ""),
    };
    Error::new(kind, format!("{path} could not be {what}{hint}")).because(error)
}
