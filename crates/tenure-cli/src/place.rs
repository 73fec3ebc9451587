//! Which backend is meant: what the flag, the environment or a file says, or a folder of this user's.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use tenure::{Backend, Election};

use crate::exit::Exit;
use crate::url::BackendUrl;

/// The flags by which every command is told where elections are held.
#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// Where elections are held, such as file:DIR or redis://HOST; `tenure backends` lists them all
    ///
    /// Where other programs run for the same offices, the address says so: etcd://HOST?peers=elections, redis://HOST?peers=lockers.
    ///
    /// Unless set it is a folder of this user's, ~/.local/state/tenure, or /var/lib/tenure for root. An address with a password in it
    /// belongs in TENURE_BACKEND or in a file (--backend-file): what stands on a command line, everybody on the host can read.
    #[arg(long, value_name = "URL", env = "TENURE_BACKEND", hide_env_values = true)]
    backend: Option<String>,

    /// A file with the address of the backend in it
    #[arg(long, value_name = "PATH", env = "TENURE_BACKEND_FILE", hide_env_values = true)]
    backend_file: Option<PathBuf>,

    /// What is added to the store's numbers to make fencing tokens [default: 0]
    ///
    /// A store that was lost, or restored from an old backup, gives numbers again that were used. Whoever remembers them does not lead, and
    /// says which base to set: the same on every host, wherever the office is used.
    #[arg(long, value_name = "N", env = "TENURE_TOKEN_BASE", hide_env_values = true, value_parser = token_base)]
    token_base: Option<u64>,
}

fn token_base(text: &str) -> Result<u64, String> {
    let wrong = || format!("a base is a whole number from 0 to {}", i64::MAX);
    text.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok()).ok_or_else(wrong)
}

/// Where these flags came from: what is typed counts more than the environment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sources {
    backend_is_typed: bool,
    file_is_typed: bool,
    no_wait_is_typed: bool,
    max_wait_is_typed: bool,
}

impl Sources {
    /// For commands that have them; others ask for none.
    pub(crate) fn of(matches: &ArgMatches) -> Sources {
        let is_typed = |id: &str| {
            let is_known = matches.try_contains_id(id).is_ok();
            is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
        };
        Sources {
            backend_is_typed: is_typed("backend"),
            file_is_typed: is_typed("backend_file"),
            no_wait_is_typed: is_typed("no_wait"),
            max_wait_is_typed: is_typed("max_wait"),
        }
    }

    /// Whether somebody typed how long to wait, and `no wait` is only what the environment says.
    pub(crate) fn waiting_is_typed(self) -> bool {
        self.max_wait_is_typed && !self.no_wait_is_typed
    }
}

impl PlaceArgs {
    /// The election of this name on an open backend.
    pub(crate) fn election(&self, backend: Arc<dyn Backend>, name: &str) -> Result<Election, Exit> {
        Ok(Election::over(backend, name)?.with_token_base(self.token_base()))
    }

    /// What is added to the store's numbers.
    pub(crate) fn token_base(&self) -> u64 {
        self.token_base.unwrap_or_default()
    }

    /// The address.
    pub(crate) fn url(&self, sources: Sources) -> Result<BackendUrl, Exit> {
        if self.backend.is_some() && self.backend_file.is_some() && sources.backend_is_typed == sources.file_is_typed {
            let (one, other) = match sources.backend_is_typed {
                true => ("--backend", "--backend-file"),
                false => ("TENURE_BACKEND", "TENURE_BACKEND_FILE"),
            };
            return Err(Exit::usage(format!("{one} and {other} both name a backend; leave one of them out")));
        }
        if let Some(text) = self.backend.as_ref().filter(|_| !sources.file_is_typed) {
            let url = BackendUrl::new(text.trim());
            if url.has_secret() && sources.backend_is_typed {
                return Err(Exit::usage(format!(
                    "the address of {url} has a secret in it, and everybody on this host can read a command line; put the address into the \
                     environment variable TENURE_BACKEND, or into a file and name that by --backend-file"
                )));
            }
            return Ok(url);
        }
        if let Some(path) = &self.backend_file {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Exit::usage(format!("--backend-file {} cannot be read: {error}", path.display())))?;
            let url = BackendUrl::new(text.trim());
            if url.as_str().is_empty() {
                return Err(Exit::usage(format!("--backend-file {} is empty", path.display())));
            }
            return Ok(url);
        }
        own_folder(rustix::process::geteuid().is_root(), env::var_os("HOME").map(PathBuf::from).as_deref())
    }
}

/// A folder that this user always has. `XDG_STATE_HOME` does not move it: two of whom only one has it set would both lead.
fn own_folder(is_root: bool, home: Option<&Path>) -> Result<BackendUrl, Exit> {
    if is_root {
        return Ok(BackendUrl::new("file:/var/lib/tenure"));
    }
    let home = home.filter(|home| home.is_absolute()).ok_or_else(|| {
        Exit::usage("HOME is not set, so there is no folder to hold elections in; name one by --backend file:DIR")
    })?;
    let folder = home.join(".local/state/tenure");
    let folder = folder.to_str().ok_or_else(|| {
        Exit::usage("HOME is not UTF-8, so it cannot be part of an address; name a folder by --backend file:DIR")
    })?;
    Ok(BackendUrl::new(format!("file:{folder}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_everybody_else_have_a_folder_and_nobody_without_a_home_has() {
        assert_eq!(own_folder(true, None).unwrap().as_str(), "file:/var/lib/tenure");
        let ada = own_folder(false, Some(Path::new("/srv/ada"))).unwrap();
        assert_eq!(ada.as_str(), "file:/srv/ada/.local/state/tenure");
        for homeless in [None, Some(Path::new("")), Some(Path::new("relative"))] {
            assert!(own_folder(false, homeless).unwrap_err().sentence.contains("--backend file:DIR"));
        }
    }
}
