//! The stores that an election can be held in, by the scheme of their URL.
//!
//! A further backend is one more entry in [`SCHEMES`] and the function that builds it.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::file::{FileBackend, WorkEnds};
use tenure::backend::memory::MemoryBackend;
use tenure::backend::{Backend, TenureId, Vacancies};
use tenure::{Election, Error, Observation, Promise, Seat};

use crate::exit::Exit;
use crate::url::BackendUrl;

/// One kind of store.
pub(crate) struct Scheme {
    pub(crate) name: &'static str,
    /// How its URLs look.
    pub(crate) form: &'static str,
    /// What elections on it can be relied on for.
    pub(crate) promise: &'static str,
    /// Whether people are told of it.
    is_shown: bool,
    build: fn(&BackendUrl) -> Result<Opened, Exit>,
}

const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "file",
        form: "file:DIR",
        promise: "fenced on a local file system, best-effort on one that other hosts may write",
        is_shown: true,
        build: file,
    },
    #[cfg(feature = "etcd")]
    Scheme { name: "etcd", form: "etcd://HOST,HOST/PREFIX", promise: ETCD, is_shown: true, build: etcd },
    #[cfg(feature = "etcd")]
    Scheme { name: "etcds", form: "etcds://HOST,HOST/PREFIX", promise: ETCD, is_shown: true, build: etcd },
    #[cfg(feature = "redis")]
    Scheme { name: "redis", form: "redis://HOST:PORT/DATABASE", promise: REDIS, is_shown: true, build: redis },
    #[cfg(feature = "redis")]
    Scheme { name: "rediss", form: "rediss://HOST:PORT/DATABASE", promise: REDIS, is_shown: true, build: redis },
    #[cfg(feature = "redis")]
    Scheme {
        name: "redis+sentinel",
        form: "redis+sentinel://HOST:PORT,…/PRIMARY",
        promise: REPLICATED,
        is_shown: true,
        build: redis,
    },
    #[cfg(feature = "redis")]
    Scheme {
        name: "rediss+sentinel", form: "rediss+sentinel://…", promise: REPLICATED, is_shown: false, build: redis
    },
    #[cfg(feature = "redis")]
    Scheme {
        name: "redis+cluster", form: "redis+cluster://HOST:PORT,…", promise: REDIS, is_shown: true, build: redis
    },
    #[cfg(feature = "redis")]
    Scheme { name: "rediss+cluster", form: "rediss+cluster://…", promise: REDIS, is_shown: false, build: redis },
    // Within one process: of use to nobody but tests.
    Scheme { name: "memory", form: "memory:", promise: "fenced", is_shown: false, build: memory },
];

#[cfg(feature = "etcd")]
const ETCD: &str = "fenced; lease-only beside etcdctl elect and Go's elections (peers=elections)";
#[cfg(feature = "redis")]
const REDIS: &str = "fenced on servers that lose nothing (appendonly yes, appendfsync always, no eviction, no replicas), else best-effort; lease-only at most \
                     beside plain lockers (peers=lockers)";
#[cfg(feature = "redis")]
const REPLICATED: &str = "best-effort: a failover can lose what was acknowledged";

/// Asks a store what it promises; the answer is why it does not promise more.
type Examine = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Vec<String>, Error>> + Send>> + Send + Sync>;

/// A backend that was opened; nothing has been sent to it yet.
pub(crate) struct Opened {
    pub(crate) backend: Arc<dyn Backend>,
    /// The same, where it has liveness locks.
    file: Option<FileBackend>,
    /// Where the promise depends on what the server shows.
    examine: Option<Examine>,
    /// Whether candidates declare that their work ends with whoever has the liveness lock.
    pub(crate) work_ends_with_process: bool,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Opened").field(&self.backend).finish()
    }
}

impl Opened {
    fn plain(backend: impl Backend) -> Self {
        Opened { backend: Arc::new(backend), file: None, examine: None, work_ends_with_process: false }
    }

    /// The same for work that the kernel kills with its guardian, within this time: a store that can prove a death hands the office on
    /// after it, and does not wait for the lease (SAFETY: the liveness lock).
    #[must_use]
    pub(crate) fn firmly_supervised(self, within: Duration) -> Self {
        match self.file {
            Some(file) => {
                let file = file.work_ends(WorkEnds::WithTree { within });
                Opened { file: Some(file.clone()), work_ends_with_process: true, ..Opened::plain(file) }
            }
            None => self,
        }
    }

    /// Finds out what the store promises, where only the store knows. Where something is required of it, a store that promises less or
    /// cannot be asked is refused; otherwise the least is promised until it can.
    pub(crate) async fn examined(&self, required: Option<Promise>) -> Result<(), Exit> {
        let Some(examine) = &self.examine else { return Ok(()) };
        match (examine().await, required) {
            (Ok(reasons), Some(required)) if self.backend.traits().promise < required => {
                let (place, promise) = (self.backend.place(), self.backend.traits().promise);
                let why = reasons.join("; ");
                Err(Exit::usage(format!("{required} is required, and {place} promises {promise}: {why}")))
            }
            (Ok(_), _) => Ok(()),
            // What cannot help but be wrong is said now, and not when the office could be won.
            (Err(error), required) if required.is_some() || !error.is_transient() => Err(error.into()),
            (Err(_), _) => Ok(()),
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

/// The kinds of stores that people are told of.
pub(crate) fn shown() -> impl Iterator<Item = &'static Scheme> {
    SCHEMES.iter().filter(|scheme| scheme.is_shown)
}

fn forms() -> String {
    shown().map(|scheme| scheme.form).collect::<Vec<_>>().join(", ")
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

/// A user and a password that stand in no URL come from the environment, which tenure hands to no command.
#[cfg(feature = "redis")]
fn redis(url: &BackendUrl) -> Result<Opened, Exit> {
    use tenure_redis::{RedisBackend, Secret};

    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut builder = RedisBackend::builder(url.as_str())?;
    if let Some(username) = set("TENURE_REDIS_USERNAME").and_then(|name| name.into_string().ok()) {
        builder = builder.username(username);
    }
    if let Some(file) = set("TENURE_REDIS_PASSWORD_FILE") {
        builder = builder.password(Secret::file(file));
    } else if set("TENURE_REDIS_PASSWORD").is_some() {
        builder = builder.password(Secret::environment("TENURE_REDIS_PASSWORD"));
    }
    if let Some(seen) = builder.password_variables().find(|variable| !variable.starts_with("TENURE_")) {
        return Err(Exit::usage(format!(
            "every command would see the password in the environment variable {seen}; give the variable a name that begins with TENURE_, \
             which no command sees, or name a file by password-file="
        )));
    }
    let backend = builder.build()?;
    let examined = backend.clone();
    let examine: Examine = Arc::new(move || {
        let examined = examined.clone();
        Box::pin(async move { Ok(examined.examine().await?.reasons) })
    });
    Ok(Opened { examine: Some(examine), ..Opened::plain(backend) })
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

    #[cfg(feature = "redis")]
    #[test]
    fn no_command_sees_a_password() {
        for parameter in ["password-env", "sentinel-password-env"] {
            let seen = refused(&format!("redis+sentinel://localhost/main?{parameter}=REDIS_PASSWORD"));
            assert!(seen.contains("REDIS_PASSWORD") && seen.contains("begins with TENURE_"), "{seen}");
        }
        let unseen = BackendUrl::new("redis://localhost?password-env=TENURE_OTHER_PASSWORD");
        assert!(open(&unseen).is_ok());
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
        assert!(refused("etcd://h?peers=lockers").contains("can only be `elections`"));
    }

    #[test]
    #[cfg(feature = "redis")]
    fn a_redis_server_is_a_backend_and_no_secret_of_it_is_shown() {
        for (url, place) in [
            ("redis://localhost", "redis://localhost:6379"),
            ("rediss://ada:s3cret@host/3", "rediss://host:6379/3"),
            ("redis+sentinel://a,b:1/main", "redis+sentinel://a:26379,b:1/main"),
            ("redis+cluster://a,b", "redis+cluster://a:6379,b:6379"),
        ] {
            let opened = open(&BackendUrl::new(url)).expect("it is one");
            assert_eq!(opened.backend.place(), place);
            assert!(!format!("{opened:?}").contains("s3cret"));
        }
        assert!(refused("redis://ada:s3cret@far.example").contains("unencrypted"));
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
