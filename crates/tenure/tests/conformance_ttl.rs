//! The conformance suite on the adapter for stores that expire keys, over the one in memory.

mod conformance_line;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use conformance_line::Line;
use tenure::adapter::{Claim, Claimant, Look, MemoryTtl, TtlBackend, TtlStore};
use tenure::backend::{Incarnation, TenureId, Traits};
use tenure::conformance::{Harness, Hook, Hooked, Suite};
use tenure::{Backend, Error, Seat};

fn main() {
    Suite::new("ttl store", Store::default).main()
}

type Shelf = MemoryTtl<Seat, Claim<Claimant>>;

#[derive(Debug, Default)]
struct Store {
    server: Arc<Server>,
    lines: Mutex<Vec<Arc<Line>>>,
}

/// What all clients talk to.
#[derive(Debug, Default)]
struct Server {
    shelf: RwLock<Shelf>,
    wipes: AtomicU64,
}

impl Server {
    fn shelf(&self) -> Shelf {
        self.shelf.read().unwrap().clone()
    }
}

#[derive(Debug)]
struct Client {
    server: Arc<Server>,
    line: Arc<Line>,
}

impl TtlStore<Seat, Claim<Claimant>> for Client {
    async fn insert_if_absent(&self, key: &Seat, value: &Claim<Claimant>, ttl: Duration) -> Result<bool, Error> {
        self.line.carry(async { self.server.shelf().insert_if_absent(key, value, ttl).await }).await
    }

    async fn compare_and_swap(
        &self,
        key: &Seat,
        old: &Claim<Claimant>,
        new: &Claim<Claimant>,
        ttl: Duration,
    ) -> Result<bool, Error> {
        self.line.carry(async { self.server.shelf().compare_and_swap(key, old, new, ttl).await }).await
    }

    async fn compare_and_delete(&self, key: &Seat, value: &Claim<Claimant>) -> Result<bool, Error> {
        self.line.carry(async { self.server.shelf().compare_and_delete(key, value).await }).await
    }

    async fn look(&self, key: &Seat) -> Result<Look<Claim<Claimant>>, Error> {
        self.line.carry(async { self.server.shelf().look(key).await }).await
    }

    async fn next_token(&self, key: &Seat) -> Result<u64, Error> {
        self.line.carry(async { self.server.shelf().next_token(key).await }).await
    }

    fn traits(&self) -> Traits {
        self.server.shelf().traits()
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
        Arc::new(TtlBackend::new(Client { server: self.server.clone(), line: lines[number].clone() }))
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
        self.server.shelf().remove(seat);
        Ok(())
    }

    async fn overwrite(&self, seat: &Seat) -> Hooked {
        let foreign = Claimant {
            holder: "a foreign program".into(),
            advertise: Arc::default(),
            since: None,
            token: None,
            asked_to_resign: false,
        };
        let shelf = self.server.shelf();
        shelf.remove(seat);
        shelf.insert_if_absent(seat, &Claim::new(foreign, TenureId::new(7, 7), 1), self.lease()).await?;
        Ok(())
    }

    async fn wipe(&self) -> Hooked {
        *self.server.shelf.write().unwrap() = Shelf::new();
        self.server.wipes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
