//! The conformance suite on the adapter for stores that write on condition and expire nothing, over the one in memory.

mod conformance_line;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use conformance_line::Line;
use tenure::adapter::{Holder, MemoryRegister, Register, RegisterBackend, RegisterRecord, Writing};
use tenure::backend::{Incarnation, Version};
use tenure::conformance::{Harness, Hook, Hooked, Suite};
use tenure::{Backend, Error, Seat};

fn main() {
    Suite::new("register", Store::default).main()
}

#[derive(Debug, Default)]
struct Store {
    server: Arc<Server>,
    lines: Mutex<Vec<Arc<Line>>>,
}

/// What all clients talk to.
#[derive(Debug, Default)]
struct Server {
    register: RwLock<MemoryRegister>,
    wipes: AtomicU64,
    /// The highest term of a record that was removed by hand.
    removed: AtomicU64,
}

impl Server {
    fn register(&self) -> MemoryRegister {
        self.register.read().unwrap().clone()
    }
}

#[derive(Debug)]
struct Client {
    server: Arc<Server>,
    line: Arc<Line>,
}

impl Register for Client {
    async fn read(&self, seat: &Seat) -> Result<Option<(RegisterRecord, Version)>, Error> {
        self.line.carry(async { self.server.register().read(seat).await }).await
    }

    async fn write(&self, seat: &Seat, expected: Option<&Version>, record: &RegisterRecord) -> Result<Writing, Error> {
        self.line.carry(async { self.server.register().write(seat, expected, record).await }).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(Seat, RegisterRecord, Version)>, Error> {
        self.line.carry(async { self.server.register().list(prefix).await }).await
    }

    /// A record that was deleted starts again, so its term is remembered beside it (SAFETY 18).
    fn next_term(&self, last: u64) -> u64 {
        last.max(self.server.removed.load(Ordering::SeqCst)) + 1
    }

    fn incarnation(&self) -> Option<Incarnation> {
        Some(Incarnation::new(1 + self.server.wipes.load(Ordering::SeqCst)))
    }
}

impl Store {
    fn line(&self, client: usize) -> Arc<Line> {
        self.lines.lock().unwrap()[client].clone()
    }
}

impl Harness for Store {
    fn hooks() -> &'static [Hook] {
        Hook::ALL
    }

    fn client(&self, number: usize) -> Arc<dyn Backend> {
        let mut lines = self.lines.lock().unwrap();
        assert_eq!(lines.len(), number, "clients are asked for one after the other");
        lines.push(Arc::default());
        Arc::new(RegisterBackend::new(Client { server: self.server.clone(), line: lines[number].clone() }))
    }

    fn lease(&self) -> Duration {
        Duration::from_millis(800)
    }

    async fn sever(&self, client: usize) -> Hooked {
        self.line(client).sever();
        Ok(())
    }

    async fn freeze(&self, client: usize) -> Hooked {
        self.line(client).freeze();
        Ok(())
    }

    async fn mute(&self, client: usize) -> Hooked {
        self.line(client).mute();
        Ok(())
    }

    async fn heal(&self, client: usize) -> Hooked {
        self.line(client).heal();
        Ok(())
    }

    async fn restart(&self) -> Hooked {
        let lines = self.lines.lock().unwrap().clone();
        lines.iter().for_each(|line| line.sever());
        self.pass(self.lease() / 10).await;
        lines.iter().for_each(|line| line.heal());
        Ok(())
    }

    async fn remove(&self, seat: &Seat) -> Hooked {
        let register = self.server.register();
        let term = register.record(seat).map_or(0, |record| record.term);
        self.server.removed.fetch_max(term, Ordering::SeqCst);
        register.remove(seat);
        Ok(())
    }

    async fn overwrite(&self, seat: &Seat) -> Hooked {
        let register = self.server.register();
        let (record, version) = register.read(seat).await?.unzip();
        let record = record.unwrap_or_default();
        let foreign = RegisterRecord {
            holder: Some(Holder { name: "a foreign program".into(), tenure: None }),
            lease: self.lease(),
            write: record.write + 1,
            released_by: None,
            ..record
        };
        register.write(seat, version.as_ref(), &foreign).await?;
        Ok(())
    }

    async fn wipe(&self) -> Hooked {
        *self.server.register.write().unwrap() = MemoryRegister::new();
        self.server.wipes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
