//! What the file backend does to its files.

mod danger;
mod format;
mod liveness;
mod locking;
mod records;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::FileBackend;
use crate::backend::{
    Attempt, AttemptId, Backend, Bid, Grant, Held, Renewal, Sight, Standing, TenureId, Vacancy, Version,
};
use crate::machine::Plan;
use crate::{BootClock, CandidateName, Clock, Error, Seat, TimingBuilder};

const LEASE: Duration = Duration::from_secs(10);

/// A directory that is removed with its test, and a backend in it.
struct Rig {
    path: PathBuf,
    backend: FileBackend,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Rig {
    fn new() -> Self {
        Rig::with(|backend| backend)
    }

    fn with(set: impl FnOnce(FileBackend) -> FileBackend) -> Self {
        let name = format!("tenure-unit-{}-{:016x}", std::process::id(), fastrand::u64(..));
        let path = std::env::temp_dir().join(name);
        let backend = FileBackend::new(&path).expect("a directory can be had").lock_timeout(Duration::from_millis(200));
        Rig { path, backend: set(backend) }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn lease(&self) -> PathBuf {
        self.file("office.json")
    }

    fn content(&self) -> String {
        fs::read_to_string(self.lease()).expect("there is a lease file")
    }

    /// The lease file's content as JSON.
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.content()).expect("a lease file is one JSON value")
    }

    /// Writes a lease file by hand.
    fn write(&self, content: impl AsRef<[u8]>) {
        write_own(&self.lease(), content);
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).expect("there is a directory");
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    async fn stand(&self, bid: &Bid) -> Result<Standing, Error> {
        self.backend.stand(bid, attempt()).await
    }

    async fn wins(&self, bid: &Bid) -> Grant {
        match self.stand(bid).await {
            Ok(Standing::Elected(grant)) => grant,
            other => panic!("{} was not elected: {other:?}", bid.name()),
        }
    }

    async fn loses(&self, bid: &Bid) -> Held {
        match self.stand(bid).await {
            Ok(Standing::Held(Sight::Held(held))) => held,
            other => panic!("{} was to find the office held: {other:?}", bid.name()),
        }
    }

    async fn renew(&self, bid: &Bid, version: &Version) -> Result<Renewal, Error> {
        self.backend.renew(bid, version, attempt()).await
    }

    async fn renews(&self, bid: &Bid, version: &Version) -> Grant {
        match self.renew(bid, version).await {
            Ok(Renewal::Extended(grant)) => grant,
            other => panic!("{} could not renew: {other:?}", bid.name()),
        }
    }

    async fn withdraws(&self, bid: &Bid) {
        self.backend.withdraw(bid).await.expect("it can be given up");
    }

    async fn sees(&self) -> Sight {
        self.backend.inspect(&seat()).await.expect("it can be looked at")
    }
}

fn seat() -> Seat {
    Seat::new("office").unwrap()
}

fn attempt() -> Attempt {
    Attempt { id: AttemptId(1), sent: BootClock.now() }
}

fn write_own(path: &Path, content: impl AsRef<[u8]>) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A candidate's bids.
#[derive(Clone)]
struct Candidate {
    name: &'static str,
    nonce: u64,
    lease: Duration,
    advertise: Arc<[u8]>,
    work_ends: bool,
}

impl Candidate {
    fn new(name: &'static str, nonce: u64) -> Self {
        Candidate { name, nonce, lease: LEASE, advertise: Arc::default(), work_ends: false }
    }

    fn work_ends(self) -> Self {
        Candidate { work_ends: true, ..self }
    }

    fn bid(&self, count: u64) -> Bid {
        self.displacing(count, None)
    }

    fn displacing(&self, count: u64, version: Option<Version>) -> Bid {
        let timing = TimingBuilder { lease: Some(self.lease), ..TimingBuilder::default() }.build().unwrap();
        let name = CandidateName::new(self.name).unwrap();
        let traits = crate::backend::Traits::new(crate::Promise::Fenced);
        let plan = Plan::new(seat(), name, self.nonce, Arc::new(timing), traits)
            .advertising(self.advertise.clone())
            .ending_work_with_process(self.work_ends);
        Bid::new(Arc::new(plan), TenureId::new(self.nonce, count), version)
    }
}

fn vacant(sight: &Sight) -> Vacancy {
    match sight {
        Sight::Vacant(why) => *why,
        Sight::Held(held) => panic!("the office is held: {held:?}"),
    }
}
