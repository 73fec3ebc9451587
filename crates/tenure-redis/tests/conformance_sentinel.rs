//! The conformance suite on a primary with a replica, found by sentinels.

mod stores;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stores::{lock_as_a_foreign_program, remove};
use tenure::conformance::Suite;
use tenure::{Backend, Seat};
use testbed::Failure;
use testbed::conformance::{Proxied, Store};
use testbed::redis::{Fsync, Redis, Sentinels, missing};

fn main() {
    Suite::new("redis with sentinels", Proxied::<Watched>::each())
        .needs("a Redis server", missing().is_none())
        .threads(8)
        .main()
}

struct Watched(Sentinels);

impl Watched {
    fn primary(&self) -> Result<&Redis, Failure> {
        Ok(&self.0.servers[self.0.master()?])
    }
}

impl Store for Watched {
    fn start() -> Result<Self, Failure> {
        Sentinels::with(1, Redis::with().append_only(Fsync::Always)).map(Watched)
    }

    fn servers(&self) -> Vec<SocketAddr> {
        self.0.addresses().into_iter().chain(self.0.servers.iter().map(|server| server.address())).collect()
    }

    fn client(&self, servers: &[SocketAddr]) -> Arc<dyn Backend> {
        let (sentinels, behind) = servers.split_at(self.0.sentinels.len());
        let sentinels: Vec<_> = sentinels.iter().map(SocketAddr::to_string).collect();
        stores::client(&format!("redis+sentinel://{}/{}", sentinels.join(","), self.0.name()), |builder| {
            stores::reached(builder, self.0.servers.iter().map(|server| server.address()), behind)
        })
    }

    fn restart(&mut self) -> Result<(), Failure> {
        let primary = self.0.master()?;
        self.0.servers[primary].restart()
    }

    fn wipe(&mut self) -> Result<(), Failure> {
        self.primary()?.ask(&["FLUSHALL"]).map(drop)
    }

    fn remove(&self, seat: &Seat) -> Result<(), Failure> {
        remove(self.primary()?, seat)
    }

    fn overwrite(&self, seat: &Seat, lease: Duration) -> Result<(), Failure> {
        lock_as_a_foreign_program(self.primary()?, seat, lease)
    }

    fn lease() -> Duration {
        Duration::from_millis(2_500)
    }

    /// Several servers have to keep up.
    fn stretch() -> Duration {
        Duration::from_secs(4)
    }
}
