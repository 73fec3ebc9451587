//! The conformance suite on a cluster of three.

mod stores;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stores::{lock_as_a_foreign_program, remove};
use tenure::conformance::Suite;
use tenure::{Backend, Seat};
use testbed::Failure;
use testbed::conformance::{Proxied, Store};
use testbed::redis::{Cluster, Fsync, Redis, missing};

fn main() {
    Suite::new("redis in a cluster", Proxied::<Shared>::each())
        .needs("a Redis server", missing().is_none())
        .threads(8)
        .main()
}

struct Shared(Cluster);

impl Shared {
    /// Does it on the server that has the key; the others refuse.
    fn somewhere(&self, act: impl Fn(&Redis) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut done = Err(Failure::new("there is no server"));
        for node in &self.0.nodes {
            done = act(node);
            if done.is_ok() {
                break;
            }
        }
        done
    }
}

impl Store for Shared {
    fn start() -> Result<Self, Failure> {
        Cluster::with(Redis::with().append_only(Fsync::Always)).map(Shared)
    }

    fn servers(&self) -> Vec<SocketAddr> {
        self.0.nodes.iter().map(|node| node.address()).collect()
    }

    fn client(&self, servers: &[SocketAddr]) -> Arc<dyn Backend> {
        let seeds: Vec<_> = servers.iter().map(SocketAddr::to_string).collect();
        stores::client(&format!("redis+cluster://{}", seeds.join(",")), |builder| {
            stores::reached(builder, self.servers().into_iter(), servers)
        })
    }

    fn restart(&mut self) -> Result<(), Failure> {
        self.0.nodes.iter_mut().for_each(|node| node.kill());
        self.0.nodes.iter_mut().try_for_each(|node| node.restart())?;
        stores::eventually(Duration::from_secs(60), "the cluster is whole again", || {
            self.0.nodes.iter().all(|node| {
                let facts = node.ask(&["CLUSTER", "INFO"]);
                facts.is_ok_and(|facts| facts.text().is_some_and(|facts| facts.contains("cluster_state:ok")))
            })
        })
    }

    fn wipe(&mut self) -> Result<(), Failure> {
        self.0.nodes.iter().try_for_each(|node| node.ask(&["FLUSHALL"]).map(drop))
    }

    fn remove(&self, seat: &Seat) -> Result<(), Failure> {
        self.somewhere(|node| remove(node, seat))
    }

    fn overwrite(&self, seat: &Seat, lease: Duration) -> Result<(), Failure> {
        self.somewhere(|node| lock_as_a_foreign_program(node, seat, lease))
    }

    fn lease() -> Duration {
        Duration::from_millis(2_500)
    }

    /// Several servers have to keep up.
    fn stretch() -> Duration {
        Duration::from_secs(4)
    }
}
