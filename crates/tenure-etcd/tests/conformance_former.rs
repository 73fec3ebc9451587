//! The conformance suite on the release line before the newest.

mod stores;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stores::{Operated, one_server};
use tenure::conformance::Suite;
use tenure::{Backend, Seat};
use testbed::Failure;
use testbed::conformance::{Proxied, Store};
use testbed::etcd::{Etcd, Release};

fn main() {
    let there = Release::Former.tool().missing().is_none();
    Suite::new("etcd-3.5", Proxied::<Former>::each()).needs("an etcd 3.5 server", there).threads(8).main()
}

struct Former(Etcd);

impl Store for Former {
    fn start() -> Result<Self, Failure> {
        Etcd::with().release(Release::Former).start().map(Former)
    }

    one_server!();

    fn client(&self, servers: &[SocketAddr]) -> Arc<dyn Backend> {
        stores::client(&stores::below(self.0.url_at(servers)))
    }
}
