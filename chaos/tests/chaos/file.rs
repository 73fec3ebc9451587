//! The file backend: no server, no network, and contenders who judge expiry themselves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chaos::{Breaks, Fault, Servers, Subject};
use tenure::Backend;
use tenure::backend::FileBackend;
use testbed::{Failure, Folder};

pub(crate) struct File;

impl Subject for File {
    fn name(&self) -> &'static str {
        "file"
    }

    fn start(&self) -> Result<Box<dyn Servers>, Failure> {
        Ok(Box::new(Directory(Folder::new("offices")?)))
    }

    fn backend(&self, place: &str) -> Result<Arc<dyn Backend>, tenure::Error> {
        Ok(Arc::new(FileBackend::new(place)?))
    }
}

struct Directory(Folder);

const REMOVED: &str = "lease file removed";

impl Servers for Directory {
    fn addresses(&self) -> Vec<SocketAddr> {
        Vec::new()
    }

    fn place(&self, _: &[SocketAddr]) -> String {
        self.0.path().display().to_string()
    }

    fn faults(&self) -> Vec<Fault> {
        let lasts = Duration::from_millis(1)..Duration::from_millis(10);
        vec![Fault { name: REMOVED, breaks: Breaks::Record, lasts }]
    }

    fn strike(&mut self, _: &str, _: u64) -> Result<(), Failure> {
        let entries = std::fs::read_dir(self.0.path())?.flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json")) {
            std::fs::remove_file(path)?;
        }
        Ok(())
    }

    fn heal(&mut self, _: &str) -> Result<(), Failure> {
        Ok(())
    }
}
