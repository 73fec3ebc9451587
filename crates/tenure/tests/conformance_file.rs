//! The conformance suite on the file backend, all candidates in one process.

mod conformance_line;
mod file_tools;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance_line::Line;
use file_tools::{Scratch, overwrite};
use futures_util::stream::{self, StreamExt};
use tenure::backend::{
    Administer, Answer, Attempt, Bid, FileBackend, Hint, Renewal, Sight, Standing, Traits, Version, Watch,
};
use tenure::conformance::{Harness, Hook, Hooked, Suite};
use tenure::{Backend, Seat};

fn main() {
    Suite::new("file", Store::default).main()
}

#[derive(Debug, Default)]
struct Store {
    directory: Scratch,
    lines: Mutex<Vec<Arc<Line>>>,
}

/// A client on a line that can be cut.
#[derive(Debug)]
struct Client {
    backend: FileBackend,
    line: Arc<Line>,
}

impl Backend for Client {
    fn traits(&self) -> Traits {
        self.backend.traits()
    }

    fn place(&self) -> String {
        self.backend.place()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, attempt: Attempt) -> Answer<'a, Standing> {
        Box::pin(self.line.carry(self.backend.stand(bid, attempt)))
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, attempt: Attempt) -> Answer<'a, Renewal> {
        Box::pin(self.line.carry(self.backend.renew(bid, version, attempt)))
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(self.line.carry(self.backend.withdraw(bid)))
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(self.line.carry(self.backend.inspect(seat)))
    }

    fn watch<'a>(&'a self, seat: &'a Seat, bid: Option<&'a Bid>) -> Answer<'a, Watch> {
        Box::pin(async move {
            let hints = self.line.carry(self.backend.watch(seat, bid)).await?;
            let line = self.line.clone();
            let cut = async move { line.cut().await };
            let told = hints.take_until(Box::pin(cut)).chain(stream::once(async { Hint::Lagged }));
            Ok(Box::pin(told) as Watch)
        })
    }

    fn administer(&self) -> Option<&dyn Administer> {
        self.backend.administer()
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
        let backend = FileBackend::new(self.directory.path()).expect("a directory can be had");
        Arc::new(Client { backend, line: lines[number].clone() })
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
        self.directory.remove(seat)
    }

    async fn overwrite(&self, seat: &Seat) -> Hooked {
        overwrite(&self.directory.lease(seat), "a foreign program", self.lease())
    }

    async fn wipe(&self) -> Hooked {
        self.directory.wipe()
    }
}
