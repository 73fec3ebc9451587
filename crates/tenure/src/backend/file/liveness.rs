//! Liveness files: each locked by one tenure while its work may run.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::folder::{Checked, Folder, Opening};
use super::names::Names;
use crate::backend::TenureId;
use crate::mutant::{Mutant, planted};
use crate::{Error, Seat};

/// The liveness locks that this process has.
#[derive(Debug, Default)]
pub(super) struct Locks {
    held: Mutex<HashMap<(Seat, TenureId), OwnedFd>>,
}

/// What a look at a liveness file shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Its lock is free, though the file is there: whoever had it is gone.
    Over,
    /// Its lock is taken.
    Going,
    /// It cannot be said: a file that is missing or was tampered with proves nothing.
    Unknown,
}

impl Locks {
    /// Makes the liveness file of a tenure and locks it. A descriptor that is inherited or duplicated keeps the lock.
    pub(super) fn take(&self, folder: &Folder, seat: &Seat, tenure: TenureId) -> Result<(), Error> {
        if self.held().contains_key(&(seat.clone(), tenure)) {
            return Ok(());
        }
        let name = Names::of(seat).liveness(tenure);
        let checked = match folder.locked(&name, true)? {
            Opening::Done(checked) => checked,
            Opening::Absent => return Err(super::folder::gone(folder.path())),
            Opening::Busy(busy) => {
                let path = folder.path().join(name);
                return Err(Error::unavailable(format!("the liveness file {}: {busy}", path.display())));
            }
        };
        checked.put(mark(tenure, &checked).as_bytes(), 0)?;
        if planted(Mutant::FileLivenessUnlocked) {
            let _ = flock(checked.file(), FlockOperation::Unlock);
        }
        self.held().insert((seat.clone(), tenure), checked.keeping_its_lock()?);
        Ok(())
    }

    /// Lets go of a tenure that no record names any more, and removes its file: first the file, so that nobody finds it free.
    pub(super) fn drop(&self, folder: &Folder, seat: &Seat, tenure: TenureId) {
        let key = (seat.clone(), tenure);
        if self.held().contains_key(&key) {
            sweep(folder, seat, tenure);
            self.held().remove(&key);
        }
    }

    /// Lets go of every tenure of an election but the one that has just won it. Only under the lease file's lock: before its record is written
    /// a tenure has its lock already.
    pub(super) fn keep_only(&self, seat: &Seat, tenure: TenureId) {
        self.held().retain(|(of, other), _| of != seat || *other == tenure);
    }

    /// Another descriptor of the lock of this tenure.
    pub(super) fn share(&self, seat: &Seat, tenure: TenureId) -> io::Result<OwnedFd> {
        match self.held().get(&(seat.clone(), tenure)) {
            Some(fd) => fd.try_clone(),
            None => Err(io::Error::new(
                io::ErrorKind::NotFound,
                "this process has no liveness lock of that tenure: the candidate has to declare work_ends_with_process, on a local file system",
            )),
        }
    }

    /// Lets go of everything, as the death of the process would.
    #[cfg(test)]
    pub(super) fn forget_all(&self) {
        self.held().clear();
    }

    fn held(&self) -> MutexGuard<'_, HashMap<(Seat, TenureId), OwnedFd>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a liveness file says: whose it is, and which file its holder locked. A copy of it (a directory that was restored or swapped while
/// its holder leads) is another file, which nobody ever locked; and while the holder has its own open, no other can have that number.
fn mark(tenure: TenureId, file: &Checked) -> String {
    format!("{tenure} {}", file.inode())
}

/// Whether the holder of this tenure's liveness lock still lives. The lock is tried and given back at once, shared, so that two who try do not
/// take each other for the holder.
pub(super) fn look(folder: &Folder, seat: &Seat, tenure: TenureId) -> Life {
    let missing = if planted(Mutant::FileMissingIsDead) { Life::Over } else { Life::Unknown };
    let Ok(Some(checked)) = folder.read(&Names::of(seat).liveness(tenure)) else {
        return missing;
    };
    let marked = mark(tenure, &checked);
    if checked.content(marked.len() + 1).ok().as_deref() != Some(marked.as_bytes()) {
        return Life::Unknown;
    }
    match flock(checked.file(), FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            let _ = flock(checked.file(), FlockOperation::Unlock);
            Life::Over
        }
        Err(Errno::WOULDBLOCK) => Life::Going,
        Err(_) => Life::Unknown,
    }
}

/// Removes the liveness file of a tenure that no record names any more. That it stays when it cannot be removed harms nobody.
pub(super) fn sweep(folder: &Folder, seat: &Seat, tenure: TenureId) {
    if let Err(error) = folder.remove(&Names::of(seat).liveness(tenure)) {
        tracing::debug!(election = %seat, %tenure, %error, "a liveness file is left over");
    }
}
