//! The conformance suite on three members.

mod stores;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stores::Operated;
use tenure::conformance::Suite;
use tenure::{Backend, Seat};
use testbed::Failure;
use testbed::conformance::{Proxied, Store};
use testbed::etcd::{Cluster, Etcd, missing};

fn main() {
    Suite::new("etcd-cluster", Proxied::<Three>::each()).needs("an etcd server", missing().is_none()).threads(3).main()
}

struct Three(Cluster);

impl Store for Three {
    fn start() -> Result<Self, Failure> {
        Cluster::start(Etcd::with()).map(Three)
    }

    fn servers(&self) -> Vec<SocketAddr> {
        self.0.addresses()
    }

    fn client(&self, servers: &[SocketAddr]) -> Arc<dyn Backend> {
        stores::client(&stores::below(self.0.url_at(servers)))
    }

    fn restart(&mut self) -> Result<(), Failure> {
        self.0.restart()
    }

    fn wipe(&mut self) -> Result<(), Failure> {
        self.0.renew()
    }

    fn remove(&self, seat: &Seat) -> Result<(), Failure> {
        self.0.remove_leader(seat)
    }

    fn overwrite(&self, seat: &Seat, lease: Duration) -> Result<(), Failure> {
        self.0.write_over_leader(seat, lease)
    }

    fn lease() -> Duration {
        stores::LEASE
    }

    fn stretch() -> Duration {
        stores::STRETCH
    }
}
