//! Whether a directory is on a file system of this host.

use rustix::fd::AsFd;

use crate::mutant::{Mutant, planted};

/// Where a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locality {
    /// On a file system whose locks and notices reach every process that can see it.
    Local,
    /// On one that other hosts may write, or that is not known.
    Elsewhere,
}

/// File systems that one kernel alone writes, by the numbers in `statfs(2)`.
#[cfg(target_os = "linux")]
const LOCAL: [u64; 9] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    0x0102_1994, // tmpfs
    0x794c_7630, // overlayfs
    0xf2f5_2010, // f2fs
    0x2fc1_2fc1, // zfs
    0xca45_1a4e, // bcachefs
    0x3153_464a, // jfs
];

impl Locality {
    /// Asks the file system of this directory.
    #[cfg(target_os = "linux")]
    pub(super) fn of(directory: impl AsFd) -> std::io::Result<Self> {
        let magic = rustix::fs::fstatfs(directory)?.f_type as u64 & 0xffff_ffff;
        let local = LOCAL.contains(&magic) || planted(Mutant::FileEverywhereLocal);
        Ok(if local { Locality::Local } else { Locality::Elsewhere })
    }

    /// Nothing is known, so nothing is promised.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_: impl AsFd) -> std::io::Result<Self> {
        Ok(if planted(Mutant::FileEverywhereLocal) { Locality::Local } else { Locality::Elsewhere })
    }
}
