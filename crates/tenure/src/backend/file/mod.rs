//! Elections in a directory, among the processes of one host: no server, no set-up.
//!
//! ```
//! use tenure::{Election, backend::FileBackend};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tenure::Error> {
//! # let directory = std::env::temp_dir().join(format!("tenure-doc-{}", std::process::id()));
//! let election = Election::new(FileBackend::new(&directory)?, "nightly-report")?;
//! let tenure = election.candidate("worker-1").build()?.campaign().await?;
//! println!("leading with token {:?}", tenure.token());
//! tenure.resign().await?;
//! # std::fs::remove_dir_all(directory).ok();
//! # Ok(())
//! # }
//! ```
//!
//! # What there is
//! - [`FileBackend::new`] takes a directory, and makes it where it is missing. Options:
//!   [`shared_with`](FileBackend::shared_with),
//!   [`trusting_recorded_wall_time`](FileBackend::trusting_recorded_wall_time), [`work_ends`](FileBackend::work_ends) and
//!   [`lock_timeout`](FileBackend::lock_timeout).
//! - A candidate that declares [`work_ends_with_process`](crate::CandidateBuilder::work_ends_with_process) has a *liveness lock* while it holds
//!   the office; when its process dies, another leads without waiting for the lease. [`FileBackend::liveness`] gives another descriptor of
//!   that lock: whoever inherits it (a guardian) keeps it until its own work is over. [`WorkEnds`] says what the lock stands for.
//! - [`Backend::withdraw`] gives up whatever a tenure id holds, in whichever process it is called: the id alone is enough.
//! - [`Administer`]: list, ask to resign, evict.
//!
//! # The files of an election
//! | file | what it is |
//! | --- | --- |
//! | `<election>.json` | the lease file: one JSON object, written in place under a short `flock`; never truncated, renamed or deleted |
//! | `<election>@copy` | the side copy: the last two records that raised the token, on disk before the lease file is written |
//! | `<election>@<tenure>.alive` | the liveness file of one tenure, locked while it lives |
//! | `<election>@new` | a first record before it has its name |
//!
//! `/` in an election's name stands as `+` in file names.
//!
//! # Who may displace whom
//! The rules that a model of this backend must have:
//! - A read is of one whole record. Reads take no lock unless the record is a foreign program's.
//! - A read-modify-write holds the lease file's lock from its read to its write. A process that is frozen in between keeps everybody else from
//!   *writing*; their calls fail after a time. When it goes on, what it read is still true.
//! - A process that dies leaves the record as it was before the write or as it is after it, and frees both of its locks. Whatever it died
//!   in, the highest token that may have been used is in the lease file or in the side copy.
//! - A *vacant* record (given up, or no file) is won by the first that stands.
//! - A *held* record is won only by a bid that names its exact version. The machine permits that after the *holder's* recorded lease on the
//!   contender's own clock from the first sight of that version, stretched by the clock bound for a foreign holder (SAFETY 4); or, where the
//!   record says that work ends with the holder's liveness lock and that lock is free, after the time that the *record* names, from the
//!   sight of the free lock.
//! - A liveness lock is free only when every process that had a descriptor of it is gone or closed it. A file that is missing, or that does not
//!   carry the tenure id and its own inode number (a copy), proves nothing.
//! - A renewal needs the exact version and the tenure, a withdrawal the tenure alone; neither makes a record.
//! - A foreign peer takes a record whose `renewTime` plus `leaseDuration` has passed by the wall clock, whoever holds it, and drops every field
//!   but its own three. The next token then comes from the side copy and the clock.

mod administer;
mod blame;
mod boot;
mod copy;
mod folder;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod json;
mod liveness;
mod locality;
mod names;
#[cfg(target_os = "linux")]
mod notices;
mod office;
mod record;
mod span;
#[cfg(test)]
mod tests;
#[cfg(target_os = "linux")]
mod watching;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::Semaphore;

use self::folder::{Folder, storage};
use self::liveness::Locks;
use self::locality::Locality;
use self::names::Names;
use self::office::{Office, Try};
use super::{
    Administer, Answer, Answers, Attempt, Backend, Bid, Due, Promise, Renewal, Sight, Standing, TenureId, Traits,
    Vacancies, Version, Watch,
};
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, ForeignPeers, Seat};

/// Elections in a directory; see the [module](self).
///
/// Cheap to clone; clones share their liveness locks.
#[derive(Clone, Debug)]
pub struct FileBackend {
    path: Arc<Path>,
    locality: Locality,
    options: Options,
    locks: Arc<Locks>,
    /// How many calls are in the kernel at once: a disk that hangs must not take a thread for every election.
    permits: Arc<Semaphore>,
}

/// What the liveness lock of a candidate that declared [`work_ends_with_process`](crate::CandidateBuilder::work_ends_with_process) stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkEnds {
    /// For the process itself: its work is done by its own threads. The kernel closes files only when no thread runs the program any more, so
    /// contenders wait [`WorkEnds::OF_A_PROCESS`] after the lock is free, and that is for what is still on its way.
    WithProcess,
    /// For a tree of processes of which one that has the lock is the guardian: the kernel closes files *before* it kills children, so
    /// contenders wait this long after the lock is free, the time from SIGKILL to a tree that is gone.
    WithTree {
        /// That time.
        within: Duration,
    },
}

impl WorkEnds {
    /// How long contenders wait after a process has died that was its own work.
    pub const OF_A_PROCESS: Duration = Duration::from_millis(25);

    fn within(self) -> Duration {
        match self {
            WorkEnds::WithProcess => Self::OF_A_PROCESS,
            WorkEnds::WithTree { within } => within,
        }
    }
}

/// What decides when a silent holder's time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Observation,
    RecordedWallTime,
}

#[derive(Clone, Copy, Debug)]
struct Options {
    trust: Trust,
    peers: Option<ForeignPeers>,
    work: WorkEnds,
    lock_timeout: Duration,
}

impl FileBackend {
    /// So many calls at once.
    const CALLS: usize = 16;
    /// How long a call waits for a lock, unless its candidate gives it less.
    const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
    const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
    const LONGEST_PAUSE: Duration = Duration::from_millis(5);

    /// Elections in this directory, which is made, with mode 0700, where it is missing.
    ///
    /// All candidates have to run as one user. On a file system of this host the promise is [`Promise::Fenced`]; on one that other hosts may
    /// write (NFS, SMB, FUSE) or that is not known it is [`Promise::BestEffort`].
    pub fn new(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let given = directory.as_ref();
        let path: PathBuf = std::path::absolute(given).map_err(|error| storage(given, "found", error))?;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        let folder = match made {
            // What is there already, and whether it can be used, is seen when it is opened.
            Ok(()) => Folder::open(&path)?,
            Err(_) if std::fs::symlink_metadata(&path).is_ok() => Folder::open(&path)?,
            Err(error) => return Err(storage(&path, "made", error)),
        };
        let locality = Locality::of(folder.fd()).map_err(|error| storage(&path, "looked at", error))?;
        Ok(FileBackend {
            path: path.into(),
            locality,
            options: Options {
                trust: Trust::Observation,
                peers: None,
                work: WorkEnds::WithProcess,
                lock_timeout: Self::LOCK_TIMEOUT,
            },
            locks: Arc::default(),
            permits: Arc::new(Semaphore::new(Self::CALLS)),
        })
    }

    /// Declares that programs other than tenure, which keep to the three fields of the file and its lock, contend here. They show no token, so no
    /// more than [`Promise::LeaseOnly`] is promised (SAFETY 20); and they judge by the wall clock, so a step of it can make two leaders.
    ///
    /// [`Election::shared_with`](crate::Election::shared_with) declares the same of one election.
    #[must_use]
    pub fn shared_with(mut self, peers: ForeignPeers) -> Self {
        self.options.peers = Some(peers);
        self
    }

    /// Judges a silent holder by the wall time in its record, **trusting that the wall clock never steps** while anybody holds an office: a new
    /// process then need not watch the record for a whole lease. If the clock is set forward, two lead.
    #[must_use]
    pub fn trusting_recorded_wall_time(mut self) -> Self {
        self.options.trust = Trust::RecordedWallTime;
        self
    }

    /// Says what the liveness lock stands for; [`WorkEnds::WithProcess`] unless set. It counts for candidates that declare
    /// [`work_ends_with_process`](crate::CandidateBuilder::work_ends_with_process).
    #[must_use]
    pub fn work_ends(mut self, work: WorkEnds) -> Self {
        self.options.work = work;
        self
    }

    /// How long a call waits for a lock that another process has; 2 s unless set, and never longer than the call timeout of the candidate.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.options.lock_timeout = timeout;
        self
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.path
    }

    /// Another descriptor of the liveness lock of a tenure that was won through this value or a clone of it.
    ///
    /// The lock is free when the last descriptor of it is closed. One that is handed to another process keeps it after this one has died: to be
    /// closed when the work is over. It is closed on exec unless its flag is cleared.
    pub fn liveness(&self, seat: &Seat, tenure: TenureId) -> io::Result<OwnedFd> {
        self.locks.share(seat, tenure)
    }

    /// Makes one call to the files of an election, again and again while they are locked by others, but not for ever.
    async fn call<T: Send + 'static>(
        &self,
        seat: &Seat,
        operation: &'static str,
        timeout: Duration,
        once: impl Fn(&Office<'_>) -> Result<Try<T>, Error> + Clone + Send + 'static,
    ) -> Result<T, Error> {
        let told = |error: Error| error.of_election(seat).during(operation);
        let timeout = timeout.min(self.options.lock_timeout);
        // This clock may stand still in suspend: then a lock is waited for a little longer.
        let start = Instant::now();
        let mut pause = Self::SHORTEST_PAUSE;
        loop {
            let (once, office) = (once.clone(), seat.clone());
            let busy = match self.blocking(move |backend| backend.once(&office, once)).await.map_err(told)? {
                Try::Done(done) => return Ok(done),
                Try::Busy(busy) => busy,
            };
            // SEEDS 56: waiting for the lock obeys its timeout.
            if start.elapsed() + pause >= timeout && !planted(Mutant::FileWaitsForEver) {
                let path = self.path.join(Names::of(seat).lease());
                let message = format!("{} could not be had within {timeout:?}: {busy}", path.display());
                return Err(told(Error::unavailable(message)));
            }
            tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
            pause = (pause * 2).min(Self::LONGEST_PAUSE);
        }
    }

    fn once<T>(&self, seat: &Seat, once: impl Fn(&Office<'_>) -> Result<Try<T>, Error>) -> Result<Try<T>, Error> {
        let folder = Folder::open(&self.path)?;
        let locality = Locality::of(folder.fd()).map_err(|error| storage(&self.path, "looked at", error))?;
        if locality != self.locality && !planted(Mutant::FileRemountUnnoticed) {
            let message = format!(
                "{} is on another kind of file system than when this process began, so its promise is void: restart it",
                self.path.display()
            );
            return Err(Error::new(ErrorKind::Denied, message));
        }
        once(&Office {
            folder,
            seat,
            names: Names::of(seat),
            locality: self.locality,
            options: self.options,
            locks: &self.locks,
        })
    }

    /// Runs what blocks on a thread that may: a disk that is slow delays no other backend's renewals. It runs to its end whatever becomes of
    /// whoever asked.
    async fn blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&FileBackend) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = self.permits.clone().acquire_owned().await;
        let backend = self.clone();
        let ran = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            run(&backend)
        });
        ran.await.unwrap_or_else(|broken| {
            let error = Error::new(ErrorKind::Internal, "the call to the file system broke off");
            Err(error.because(broken.to_string()).indeterminate().transient(true))
        })
    }
}

impl Backend for FileBackend {
    fn traits(&self) -> Traits {
        let local = self.locality == Locality::Local;
        let promise = if local { Promise::Fenced } else { Promise::BestEffort };
        let traits = Traits {
            vacancies: if local && cfg!(target_os = "linux") { Vacancies::Pushed } else { Vacancies::Polled },
            contenders_judge: true,
            names_releases: true,
            has_tokens: local,
            ..Traits::new(promise)
        };
        traits.shared_with(self.options.peers)
    }

    fn place(&self) -> String {
        format!("file:{}", self.path.display())
    }

    fn stand<'a>(&'a self, bid: &'a Bid, _: Attempt) -> Answer<'a, Standing> {
        let claim = bid.clone();
        Box::pin(self.call(bid.seat(), "stand", bid.call_timeout(), move |office| office.stand(&claim)))
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        let (claim, version) = (bid.clone(), version.clone());
        Box::pin(self.call(bid.seat(), "renew", bid.call_timeout(), move |office| office.renew(&claim, &version)))
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        let claim = bid.clone();
        Box::pin(self.call(bid.seat(), "withdraw", bid.call_timeout(), move |office| office.withdraw(&claim)))
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(self.call(seat, "inspect", self.options.lock_timeout, |office| office.inspect()))
    }

    #[cfg(target_os = "linux")]
    fn watch<'a>(&'a self, seat: &'a Seat, _: Option<&'a Bid>) -> Answer<'a, Watch> {
        Box::pin(
            async move { watching::begin(self, seat).await.map_err(|error| error.of_election(seat).during("watch")) },
        )
    }

    /// A batch is one trip to a thread that may block, not one for each; what is locked at that moment is tried again by itself.
    fn renew_many<'a>(&'a self, due: &'a [Due]) -> Answers<'a, Renewal> {
        let batch = due.to_vec();
        Box::pin(async move {
            let tried = self.blocking(move |backend| {
                let renew = |one: &Due| backend.once(one.bid.seat(), |office| office.renew(&one.bid, &one.version));
                Ok(batch.iter().map(renew).collect::<Vec<_>>())
            });
            let tried = match tried.await {
                Ok(tried) => tried,
                Err(error) => return due.iter().map(|_| Err(error.again())).collect(),
            };
            let answers = due.iter().zip(tried).map(|(one, tried)| async move {
                match tried {
                    Ok(Try::Done(renewal)) => Ok(renewal),
                    Ok(Try::Busy(_)) => self.renew(&one.bid, &one.version, one.attempt).await,
                    Err(error) => Err(error.of_election(one.bid.seat()).during("renew")),
                }
            });
            join_all(answers).await
        })
    }

    fn administer(&self) -> Option<&dyn Administer> {
        Some(self)
    }
}
