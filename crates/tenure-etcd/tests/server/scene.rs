//! What the tests share.

use std::future::Future;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tenure::{Campaign, Election, Leadership};
use tenure_etcd::EtcdBackend;
use testbed::etcd::Etcd;

/// Something that a busy machine does within this, if it does it at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) type Test = (&'static str, fn());

/// A test in a runtime of its own.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime can be had");
    runtime.block_on(test);
    runtime.shutdown_background();
}

pub(crate) fn backend(url: &str) -> EtcdBackend {
    EtcdBackend::new(url).expect("the testbed's own address")
}

/// A campaign on a client of its own.
pub(crate) fn campaign(url: &str, election: &str, name: &str, lease: Duration) -> Campaign {
    campaign_on(&backend(url), election, name, lease)
}

pub(crate) fn campaign_on(backend: &EtcdBackend, election: &str, name: &str, lease: Duration) -> Campaign {
    let election = Election::new(backend.clone(), election).expect("it is a name");
    election.candidate(name).lease(lease).build().expect("it is safe").start().expect("it can be started")
}

pub(crate) async fn leads(campaign: &Campaign) -> Leadership {
    let elected = tokio::time::timeout(PATIENCE, campaign.wait_for_leadership()).await;
    elected.expect("it is elected in time").expect("it is elected")
}

pub(crate) async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !look().await {
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// How often etcd was asked, by the name of the call.
pub(crate) fn asked(etcd: &Etcd, call: &str) -> u64 {
    let metrics = metrics(etcd.place().address(2));
    let is_it = |line: &&str| {
        line.starts_with("grpc_server_started_total{") && line.contains(&format!("grpc_method=\"{call}\""))
    };
    metrics.lines().filter(is_it).filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
}

fn metrics(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("etcd answers");
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("etcd listens");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("etcd answers in text");
    assert!(text.contains("grpc_server_started_total"), "etcd counts its calls");
    text
}
