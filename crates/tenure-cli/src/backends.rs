//! The stores that an election can be held in, by the scheme of their URL.
//!
//! A further backend is one more entry in [`SCHEMES`] and the function that builds it.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::file::{FileBackend, WorkEnds};
use tenure::backend::memory::MemoryBackend;
use tenure::backend::{Backend, TenureId, Vacancies};
use tenure::{Election, Observation, Promise, Seat};

use crate::exit::Exit;
use crate::url::BackendUrl;

/// One kind of store.
struct Scheme {
    name: &'static str,
    /// How its URLs look.
    form: &'static str,
    /// Whether people are told of it.
    is_shown: bool,
    build: fn(&BackendUrl) -> Result<Opened, Exit>,
}

const SCHEMES: &[Scheme] = &[
    Scheme { name: "file", form: "file:DIR", is_shown: true, build: file },
    #[cfg(feature = "etcd")]
    Scheme { name: "etcd", form: "etcd://HOST,HOST/PREFIX", is_shown: true, build: etcd },
    #[cfg(feature = "etcd")]
    Scheme { name: "etcds", form: "etcds://HOST,HOST/PREFIX", is_shown: true, build: etcd },
    // Within one process: of use to nobody but tests.
    Scheme { name: "memory", form: "memory:", is_shown: false, build: memory },
];

/// A backend that was opened; nothing has been sent to it yet.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) backend: Arc<dyn Backend>,
    /// The same, where it has liveness locks.
    file: Option<FileBackend>,
    /// Whether candidates declare that their work ends with whoever has the liveness lock.
    pub(crate) work_ends_with_process: bool,
}

impl Opened {
    fn plain(backend: impl Backend) -> Self {
        Opened { backend: Arc::new(backend), file: None, work_ends_with_process: false }
    }

    /// The same for work that the kernel kills with its guardian, within this time: a store that can prove a death hands the office on
    /// after it, and does not wait for the lease (SAFETY: the liveness lock).
    #[must_use]
    pub(crate) fn firmly_supervised(self, within: Duration) -> Self {
        match self.file {
            Some(file) => {
                let file = file.work_ends(WorkEnds::WithTree { within });
                Opened { backend: Arc::new(file.clone()), file: Some(file), work_ends_with_process: true }
            }
            None => self,
        }
    }

    fn has_locks(&self) -> bool {
        self.backend.traits().promise > Promise::BestEffort
    }

    /// What may be asked of whoever holds this office, as soon as it is asked; `None` where the store pushes nothing, and the next renewal
    /// tells.
    pub(crate) fn requests(&self, seat: &Seat) -> Option<Observation> {
        let pushes = self.backend.traits().vacancies == Vacancies::Pushed;
        pushes.then(|| Election::over(self.backend.clone(), seat.clone()).ok()?.observe().ok()).flatten()
    }

    /// Another descriptor of the liveness lock of a tenure, for the guardian to keep; `None` where there is no such lock.
    pub(crate) fn liveness(&self, seat: &Seat, tenure: TenureId) -> io::Result<Option<OwnedFd>> {
        match self.file.as_ref().filter(|_| self.work_ends_with_process).map(|file| file.liveness(seat, tenure)) {
            Some(Ok(lock)) => Ok(Some(lock)),
            // A file system that other hosts may write has no such locks, and its records do not speak of any. Anywhere else the record does, and a
            // guardian without the lock would be taken for dead with its supervisor.
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound && !self.has_locks() => Ok(None),
            Some(Err(error)) => Err(error),
            None => Ok(None),
        }
    }
}

/// Opens the backend at this address.
pub(crate) fn open(url: &BackendUrl) -> Result<Opened, Exit> {
    let scheme = url.scheme().ok_or_else(|| {
        Exit::usage(format!("`{url}` names no backend; an address begins with its kind: {}", forms()))
    })?;
    let known = SCHEMES.iter().find(|known| known.name.eq_ignore_ascii_case(scheme));
    let known = known.ok_or_else(|| Exit::usage(format!("there is no backend `{scheme}:`; there is {}", forms())))?;
    (known.build)(url)
}

fn forms() -> String {
    SCHEMES.iter().filter(|scheme| scheme.is_shown).map(|scheme| scheme.form).collect::<Vec<_>>().join(", ")
}

/// The folder of a `file:` address, where it is not there.
pub(crate) fn missing_folder(url: &BackendUrl) -> Result<Option<PathBuf>, Exit> {
    if !url.scheme().is_some_and(|scheme| scheme.eq_ignore_ascii_case("file")) {
        return Ok(None);
    }
    let folder = folder(url)?;
    let is_missing = std::fs::metadata(&folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    Ok(is_missing.then(|| std::path::absolute(&folder).unwrap_or(folder)))
}

fn file(url: &BackendUrl) -> Result<Opened, Exit> {
    let file = FileBackend::new(folder(url)?)?;
    Ok(Opened { file: Some(file.clone()), ..Opened::plain(file) })
}

fn folder(url: &BackendUrl) -> Result<PathBuf, Exit> {
    // `file:///x` is `file:/x`; a host in between is none of ours.
    let path = match url.rest().strip_prefix("//") {
        None => url.rest(),
        Some(path) if path.starts_with('/') => path,
        Some(_) => {
            let message = "names another host, and files are only elected in here; write file:DIR or file:///DIR";
            return Err(Exit::usage(format!("`{url}` {message}")));
        }
    };
    if path.is_empty() {
        return Err(Exit::usage("`file:` names no folder; write file:DIR, for example file:/var/lib/tenure"));
    }
    Ok(PathBuf::from(path))
}

#[cfg(feature = "etcd")]
fn etcd(url: &BackendUrl) -> Result<Opened, Exit> {
    let backend = tenure_etcd::EtcdBackend::new(url.as_str()).map_err(|error| Exit::usage(error.to_string()))?;
    Ok(Opened::plain(backend))
}

fn memory(_: &BackendUrl) -> Result<Opened, Exit> {
    Ok(Opened::plain(MemoryBackend::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        let exit = open(&BackendUrl::new(url)).expect_err("it is refused");
        assert_eq!(exit.status, 64, "{exit}");
        exit.sentence
    }

    #[test]
    fn an_address_that_leads_nowhere_says_what_there_is() {
        let unknown = refused("mongodb://ada:pw@host");
        assert!(unknown.starts_with("there is no backend `mongodb:`; there is file:DIR"), "{unknown}");
        assert!(refused("/var/lib/tenure").contains("names no backend"));
        assert!(refused("file:").contains("names no folder"));
        assert!(refused("file://elsewhere/x").contains("another host"));
    }

    #[test]
    #[cfg(feature = "etcd")]
    fn a_cluster_is_a_backend_and_no_secret_of_it_is_shown() {
        let opened = open(&BackendUrl::new("etcds://ada:s3cret@a,b:1/services?ca=x")).expect("it is one");
        assert_eq!(opened.backend.place(), "etcds://a:2379,b:1/services/");
        assert!(refused("etcd://ada:s3cret@far.example/").contains("unencrypted"));
        assert!(refused("etcd://h?colour=red").contains("no option of etcd"));
    }

    #[test]
    fn a_folder_is_a_backend_in_both_spellings() {
        let folder = std::env::temp_dir().join(format!("tenure-cli-backends-{}", std::process::id()));
        for url in [format!("file:{}", folder.display()), format!("FILE://{}", folder.display())] {
            let opened = open(&BackendUrl::new(url)).expect("it can be made");
            assert_eq!(opened.backend.place(), format!("file:{}", folder.display()));
        }
        std::fs::remove_dir_all(folder).expect("it was made");
    }
}
