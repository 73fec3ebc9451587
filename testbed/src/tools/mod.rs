//! Programs of others that the testbed runs: which version, where it is had, and where it is found.

mod install;
mod list;

use std::fmt;
use std::path::{Path, PathBuf};

pub use install::{Installed, install};
pub use list::*;

use crate::Failure;

/// Stands in a folder of the cache once everything else does.
const WHOLE: &str = "whole";

/// A program that `cargo xtask servers` installs.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// What it is called here, and in `cargo xtask servers <name>`.
    pub name: &'static str,
    /// The programs that it brings; all of them have to be there.
    pub binaries: &'static [&'static str],
    /// The version that is installed. What Debian has is taken as it is, and only said here.
    pub version: &'static str,
    /// Where it comes from.
    pub source: Source,
}

/// Where a program comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Debian packages of these names; in the system's own folders.
    Debian(&'static [&'static str]),
    /// A package of the Python index, in an environment of its own.
    PyPi(&'static str),
    /// A package of npm.
    Npm(&'static str),
    /// A package of Go, built from the module it is in.
    Go(&'static str),
    /// Packages of Go, built in this folder, whose module pins every version: the name of each program, and its package.
    GoModule(&'static str, &'static [(&'static str, &'static str)]),
    /// An artefact of Maven with all that it needs, as `group:artefact`; its jar files are in the folder `lib`.
    Maven(&'static str),
}

/// A program is not there.
#[derive(Debug)]
pub struct Missing {
    tool: &'static str,
    binary: String,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Debian(packages) => write!(f, "Debian, {}", packages.join(" and ")),
            Source::PyPi(package) => write!(f, "PyPI, {package}"),
            Source::Npm(package) => write!(f, "npm, {package}"),
            Source::Go(package) => write!(f, "Go, {package}"),
            Source::GoModule(_, programs) => {
                write!(f, "Go, {}", programs.iter().map(|(_, package)| *package).collect::<Vec<_>>().join(" and "))
            }
            Source::Maven(artefact) => write!(f, "Maven, {artefact}"),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not installed; run `cargo xtask servers {}`", self.binary, self.tool)
    }
}

impl std::error::Error for Missing {}

impl From<Missing> for Failure {
    fn from(missing: Missing) -> Self {
        Failure::new(missing.to_string())
    }
}

impl Tool {
    /// The tool of this name.
    pub fn named(name: &str) -> Option<&'static Tool> {
        ALL.iter().find(|tool| tool.name == name)
    }

    /// Where one of its programs is: on the path for Debian's, in the cache for all others, so that the version is the one said here.
    pub fn find(&self, binary: &str) -> Result<PathBuf, Missing> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places: Vec<PathBuf> = match self.source {
            // A user's own path may lack the folders of servers.
            Source::Debian(_) => std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]).collect(),
            _ => vec![self.folder().join("bin")],
        };
        places.iter_mut().for_each(|place| place.push(binary));
        let missing = || Missing { tool: self.name, binary: binary.to_owned() };
        places.into_iter().find(|place| is_executable(place)).ok_or_else(missing)
    }

    /// What of it is not there; nothing when it is all there.
    pub fn missing(&self) -> Option<Missing> {
        let whole = matches!(self.source, Source::Debian(_)) || self.folder().join(WHOLE).exists();
        if !whole {
            return Some(Missing { tool: self.name, binary: self.name.to_owned() });
        }
        self.binaries.iter().find_map(|binary| self.find(binary).err())
    }

    /// Its folder in the cache.
    pub fn folder(&self) -> PathBuf {
        cache().join(format!("{}-{}", self.name, self.version))
    }
}

/// Where what is installed is kept: `TENURE_SERVERS_CACHE`, or the folder `tenure/servers` in the user's cache.
pub fn cache() -> PathBuf {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    of("TENURE_SERVERS_CACHE")
        .or_else(|| of("XDG_CACHE_HOME").map(|folder| folder.join("tenure/servers")))
        .or_else(|| of("HOME").map(|folder| folder.join(".cache/tenure/servers")))
        .unwrap_or_else(|| std::env::temp_dir().join("tenure-servers"))
}

/// Where Debian has a library of this name, below `/usr/lib` or a folder of it that is named for the machine.
pub fn library(name: &str) -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    [PathBuf::from("/usr/lib")].into_iter().chain(folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
