//! Servers that a person can start.

use std::any::Any;

use testbed::Failure;
use testbed::certificates::Authority;
use testbed::etcd::{self, Etcd};
use testbed::redis::{Cluster, Fsync, Redis, Sentinels};

/// What is kept for as long as the servers are wanted, and what a person is told of them.
type Started = (Box<dyn Any>, String);

/// Something that can be started.
struct Offer {
    name: &'static str,
    what: &'static str,
    start: fn() -> Result<Started, Failure>,
}

const OFFERS: &[Offer] = &[
    Offer { name: "redis", what: "one Redis", start: || redis(Redis::with()) },
    Offer {
        name: "redis-aof",
        what: "one Redis that forgets nothing",
        start: || redis(Redis::with().append_only(Fsync::Always)),
    },
    Offer {
        name: "redis-acl",
        what: "one Redis with the user tenure, password tenure",
        start: || redis(Redis::with().user("tenure", "tenure", "~* &* +@all").users_only()),
    },
    Offer { name: "redis-tls", what: "one Redis with TLS, and the certificate to trust", start: redis_tls },
    Offer { name: "sentinel", what: "a Redis master, two replicas, three sentinels", start: sentinel },
    Offer { name: "cluster", what: "a Redis cluster of three", start: cluster },
    Offer { name: "valkey", what: "one Valkey", start: || redis(Redis::with().valkey()) },
    Offer { name: "etcd", what: "one etcd", start: etcd },
    Offer { name: "etcd-tls", what: "one etcd with TLS, and the certificate to trust", start: etcd_tls },
    Offer { name: "etcd-cluster", what: "three etcd members", start: etcd_cluster },
];

/// Starts all that is asked for, and waits. Ctrl-C ends this process, and that ends the servers.
pub(crate) fn up(names: &[&str]) -> Result<(), Failure> {
    let find = |name: &&str| {
        let offer = OFFERS.iter().find(|offer| offer.name == *name);
        offer.ok_or_else(|| Failure::new(format!("{name} cannot be started; what can:\n{}", catalogue())))
    };
    let offers = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let mut kept = Vec::new();
    for offer in offers {
        let (servers, told) = (offer.start)()?;
        println!("{}: {told}", offer.name);
        kept.push(servers);
    }
    println!("Ctrl-C ends them.");
    loop {
        std::thread::park();
    }
}

/// What can be started, a line each.
pub(crate) fn catalogue() -> String {
    OFFERS.iter().map(|offer| format!("  {:<12} {}\n", offer.name, offer.what)).collect()
}

fn redis(settings: testbed::redis::Settings) -> Result<Started, Failure> {
    let redis = settings.start()?;
    let url = redis.url();
    Ok((Box::new(redis), url))
}

fn redis_tls() -> Result<Started, Failure> {
    let authority = Authority::new()?;
    let redis = Redis::with().tls_by(&authority)?.start()?;
    let told = format!("{}, trusting {}", redis.url(), authority.certificate().display());
    Ok((Box::new((redis, authority)), told))
}

fn sentinel() -> Result<Started, Failure> {
    let group = Sentinels::start(2)?;
    let sentinels: Vec<_> = group.addresses().iter().map(|address| address.to_string()).collect();
    let told = format!("sentinels {} for the master {}", sentinels.join(","), group.name());
    Ok((Box::new(group), told))
}

fn cluster() -> Result<Started, Failure> {
    let cluster = Cluster::start()?;
    let told = cluster.urls().join(" ");
    Ok((Box::new(cluster), told))
}

fn etcd() -> Result<Started, Failure> {
    let etcd = Etcd::start()?;
    let url = etcd.url();
    Ok((Box::new(etcd), url))
}

fn etcd_tls() -> Result<Started, Failure> {
    let authority = Authority::new()?;
    let etcd = Etcd::with().tls(authority.server("server")?, authority.certificate()).start()?;
    let told = format!("{}/?ca={}", etcd.url(), authority.certificate().display());
    Ok((Box::new((etcd, authority)), told))
}

fn etcd_cluster() -> Result<Started, Failure> {
    let cluster = etcd::Cluster::start(Etcd::with())?;
    let url = cluster.url();
    Ok((Box::new(cluster), url))
}
