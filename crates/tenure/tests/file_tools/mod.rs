//! What tests of the file backend share: a directory of their own, and a hand that writes over a lease file.

#![allow(dead_code, reason = "not every test target uses all of it")]

use std::error::Error as StdError;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tenure::Seat;

/// A directory that is removed with its test.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Default for Scratch {
    fn default() -> Self {
        let name = format!("tenure-file-{}-{:016x}", std::process::id(), fastrand::u64(..));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a directory can be had");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The lease file of an election.
    pub(crate) fn lease(&self, seat: &Seat) -> PathBuf {
        self.0.join(format!("{}.json", seat.as_str().replace('/', "+")))
    }

    /// Removes every file.
    pub(crate) fn wipe(&self) -> Result<(), Box<dyn StdError + Send + Sync>> {
        for entry in fs::read_dir(&self.0)? {
            removed(&entry?.path())?;
        }
        Ok(())
    }

    /// Removes the lease file of an election, if anybody has made one by now.
    pub(crate) fn remove(&self, seat: &Seat) -> Result<(), Box<dyn StdError + Send + Sync>> {
        removed(&self.lease(seat))
    }
}

fn removed(path: &Path) -> Result<(), Box<dyn StdError + Send + Sync>> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes a record as the document of the Go package has it, under the lock that it asks for.
pub(crate) fn overwrite(path: &Path, holder: &str, lease: Duration) -> Result<(), Box<dyn StdError + Send + Sync>> {
    let now = jiff::Timestamp::try_from(SystemTime::now())?;
    let text = format!(r#"{{"holder": "{holder}", "renewTime": "{now}", "leaseDuration": "{}ms"}}"#, lease.as_millis());
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.lock()?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    Ok(())
}
