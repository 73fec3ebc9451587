//! The conformance suite for a user that may touch the elections' prefix and nothing else.

mod stores;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stores::{Operated, one_server};
use tenure::conformance::Suite;
use tenure::{Backend, Seat};
use tenure_etcd::{EtcdBackend, Secret};
use testbed::Failure;
use testbed::conformance::{Proxied, Store};
use testbed::etcd::{Etcd, missing};

fn main() {
    Suite::new("etcd-users", Proxied::<Users>::each()).needs("an etcd server", missing().is_none()).threads(8).main()
}

struct Users(Etcd);

impl Store for Users {
    fn start() -> Result<Self, Failure> {
        let mut server = Etcd::start()?;
        server.admit_only("candidate", "s3cret", stores::PREFIX)?;
        Ok(Users(server))
    }

    one_server!();

    fn client(&self, servers: &[SocketAddr]) -> Arc<dyn Backend> {
        let builder = EtcdBackend::builder(servers.iter().map(SocketAddr::to_string));
        let builder = builder.prefix(stores::PREFIX).user("candidate", Secret::text("s3cret"));
        Arc::new(builder.build().expect("it does not leave this host"))
    }
}
