//! The conformance suite on the file backend, every candidate in a process of its own: cut off is killed, frozen is stopped.

mod file_server;
mod file_tools;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use file_server::{Remote, serve_if_asked};
use file_tools::{Scratch, overwrite};
use tenure::conformance::{Harness, Hook, Hooked, Suite};
use tenure::{Backend, Seat};

fn main() {
    serve_if_asked();
    // A case has up to ten processes, and a machine for tests a few cores.
    Suite::new("file, in processes", Store::default).threads(6).main()
}

#[derive(Debug, Default)]
struct Store {
    directory: Scratch,
    clients: Mutex<Vec<Remote>>,
}

impl Store {
    fn remote(&self, client: usize) -> Remote {
        self.clients.lock().unwrap()[client].clone()
    }
}

impl Harness for Store {
    fn hooks() -> &'static [Hook] {
        Hook::ALL
    }

    fn client(&self, number: usize) -> Arc<dyn Backend> {
        let mut clients = self.clients.lock().unwrap();
        assert_eq!(clients.len(), number, "clients are asked for one after the other");
        clients.push(Remote::new(self.directory.path()));
        Arc::new(clients[number].clone())
    }

    async fn sever(&self, client: usize) -> Hooked {
        self.remote(client).kill();
        Ok(())
    }

    async fn freeze(&self, client: usize) -> Hooked {
        self.remote(client).stop();
        Ok(())
    }

    async fn mute(&self, client: usize) -> Hooked {
        self.remote(client).mute();
        Ok(())
    }

    async fn heal(&self, client: usize) -> Hooked {
        self.remote(client).heal();
        Ok(())
    }

    async fn restart(&self) -> Hooked {
        let clients = self.clients.lock().unwrap().clone();
        clients.iter().for_each(Remote::kill);
        self.pass(Duration::from_millis(50)).await;
        clients.iter().for_each(Remote::heal);
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

    async fn clean_up(&self) {
        self.clients.lock().unwrap().iter().for_each(Remote::kill);
    }
}
