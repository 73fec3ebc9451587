//! What the conformance targets share: an etcd, and what others do to it by hand.
#![allow(dead_code, unused_imports, unused_macros, reason = "not every target needs all of it")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure::{Backend, Seat};
use tenure_etcd::EtcdBackend;
use testbed::Failure;

/// Elections are held below it.
pub(crate) const PREFIX: &str = "conformance/";

/// etcd takes no shorter lease with its usual timing.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// It ends leases every half second; one that was restarted gives each its full time again.
pub(crate) const STRETCH: Duration = Duration::from_secs(6);

/// A client at this address.
pub(crate) fn client(url: &str) -> Arc<dyn Backend> {
    Arc::new(EtcdBackend::new(url).expect("the testbed's own address"))
}

/// `etcdctl` as an operator runs it.
pub(crate) trait Operated {
    fn etcdctl(&self, words: &[&str]) -> Result<String, Failure>;

    /// The key of whoever leads.
    fn leading_key(&self, seat: &Seat) -> Result<String, Failure> {
        let queue = format!("{PREFIX}{seat}/");
        let first = ["get", "--prefix", "--keys-only", "--sort-by=CREATE", "--order=ASCEND", "--limit=1", &queue];
        self.etcdctl(&first).map(|keys| keys.trim().to_owned())
    }

    fn remove_leader(&self, seat: &Seat) -> Result<(), Failure> {
        let key = self.leading_key(seat)?;
        if key.is_empty() { Ok(()) } else { self.etcdctl(&["del", &key]).map(drop) }
    }

    /// A foreign program writes itself into the leader's key, under a lease of its own.
    fn write_over_leader(&self, seat: &Seat, lease: Duration) -> Result<(), Failure> {
        let seconds = lease.as_secs().max(1).to_string();
        let granted = self.etcdctl(&["lease", "grant", &seconds])?;
        let id = granted.split_whitespace().nth(1).unwrap_or_default().to_owned();
        let key = match self.leading_key(seat)? {
            nobody if nobody.is_empty() => format!("{PREFIX}{seat}/{id}"),
            key => key,
        };
        self.etcdctl(&["put", &key, "a foreign program", &format!("--lease={id}")]).map(drop)
    }
}

impl Operated for testbed::etcd::Etcd {
    fn etcdctl(&self, words: &[&str]) -> Result<String, Failure> {
        self.ctl(words)
    }
}

impl Operated for testbed::etcd::Cluster {
    fn etcdctl(&self, words: &[&str]) -> Result<String, Failure> {
        self.ctl(words)
    }
}

/// What every store on one server, `self.0`, does alike.
macro_rules! one_server {
    () => {
        fn servers(&self) -> Vec<SocketAddr> {
            vec![self.0.address()]
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
    };
}

pub(crate) use one_server;

/// The whole of a URL below which elections are held.
pub(crate) fn below(url: String) -> String {
    format!("{url}/{PREFIX}")
}
