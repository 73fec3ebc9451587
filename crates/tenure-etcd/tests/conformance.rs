//! The conformance suite on one server.

mod stores;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stores::{Operated, one_server};
use tenure::conformance::Suite;
use tenure::{Backend, Seat};
use testbed::Failure;
use testbed::conformance::{Proxied, Store};
use testbed::etcd::{Etcd, missing};

fn main() {
    Suite::new("etcd", Proxied::<One>::each()).needs("an etcd server", missing().is_none()).threads(8).main()
}

struct One(Etcd);

impl Store for One {
    fn start() -> Result<Self, Failure> {
        Etcd::start().map(One)
    }

    one_server!();

    fn client(&self, servers: &[SocketAddr]) -> Arc<dyn Backend> {
        stores::client(&stores::below(self.0.url_at(servers)))
    }
}
