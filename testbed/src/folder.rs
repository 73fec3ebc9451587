//! Folders that go when they are done with.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Failure;
use crate::failure::While;
use crate::sweeper::sweep;

/// A private folder; removed with all that is in it when it is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new, empty one. The path is short, because a socket in it may have 108 bytes.
    pub fn new(name: &str) -> Result<Self, Failure> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("tenure-testbed-{}-{number}-{name}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    sweep(&path);
                    return Ok(Folder(path));
                }
                // Left by a process with the same number, long ago.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::new(format!("{}: {error}", path.display()))),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes `to` a copy of all that is in `from`. Sockets and the like are left out.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).when(to.display())?;
    for entry in fs::read_dir(from).when(from.display())? {
        let entry = entry.when(from.display())?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().when(source.display())?;
        if kind.is_dir() {
            copy(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target).when(source.display())?;
        }
    }
    Ok(())
}

/// Removes all that is in a folder, and keeps the folder.
pub(crate) fn empty(folder: &Path) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).when(folder.display())? {
        let path = entry.when(folder.display())?.path();
        let metadata = fs::symlink_metadata(&path).when(path.display())?;
        if metadata.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.when(path.display())?;
    }
    Ok(())
}
