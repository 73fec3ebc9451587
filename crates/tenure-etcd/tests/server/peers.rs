//! Programs other than tenure in the same queue, as an address declares them.

use std::time::{Duration, Instant};

use tenure::{Backend, Election, ErrorKind, Event, ForeignPeers, Promise};
use testbed::etcd::{Elect, Etcd};

use crate::scene::{PATIENCE, Test, backend, campaign, eventually, leads, run};

pub(crate) const TESTS: &[Test] = &[
    ("peers::declared_peers_are_promised_a_lease_and_no_more", declared_peers_are_promised_a_lease_and_no_more),
    ("peers::a_winner_settles_after_a_foreign_leader", a_winner_settles_after_a_foreign_leader),
];

const LEASE: Duration = Duration::from_secs(3);

/// SAFETY 20; the number that etcd gives stays a token among all who show it.
fn declared_peers_are_promised_a_lease_and_no_more() {
    let etcd = Etcd::start().expect("etcd starts");
    let alone = backend(&etcd.url());
    assert_eq!(alone.traits().promise, Promise::Fenced);
    let shared = backend(&declared(&etcd));
    let traits = shared.traits();
    assert_eq!((traits.promise, traits.peers), (Promise::LeaseOnly, Some(ForeignPeers::MayLinger)));
    let election = Election::new(shared, "office").expect("it is a name");
    let refused = election.candidate("one").require(Promise::Fenced).build().expect_err("they show no token");
    assert_eq!(refused.kind(), ErrorKind::PromiseTooWeak);
    run(async {
        let candidate = election.candidate("one").lease(LEASE).settle(Duration::ZERO).build().expect("it is safe");
        let tenure = candidate.campaign().await.expect("it is elected");
        assert!(tenure.token().is_some());
    });
}

/// SAFETY 14: one that resigned and one whose lease ran out may both still be at work.
fn a_winner_settles_after_a_foreign_leader() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        for ends in [resigns, runs_out] {
            let foreign = Elect::start(&etcd, "office", "foreign").expect("it can be started");
            eventually("the foreign one leads", async || key(&etcd).is_some()).await;
            let ours = campaign(&declared(&etcd), "office", "ours", LEASE);
            eventually("it waits for the foreign one", async || ours.incumbent().is_some()).await;
            let mut events = ours.events();
            let ended = Instant::now();
            ends(foreign, &etcd);
            let settled = async {
                while let Some(event) = events.next().await {
                    match event {
                        Event::Settled => return,
                        Event::Elected { .. } => panic!("it leads while the foreign one may be at work"),
                        _ => {}
                    }
                }
            };
            tokio::time::timeout(PATIENCE, settled).await.expect("it wins in time");
            assert!(!ours.is_leader(), "it has only won");
            leads(&ours).await;
            assert!(ended.elapsed() >= LEASE, "{:?}", ended.elapsed());
            ours.stop().await.expect("it is given up");
        }
    });
}

fn declared(etcd: &Etcd) -> String {
    format!("{}?peers=elections", etcd.url())
}

fn resigns(foreign: Elect, _: &Etcd) {
    foreign.resign().expect("it runs");
}

/// Its lease is a minute, and cannot be chosen: it is ended as etcd would end it.
fn runs_out(foreign: Elect, etcd: &Etcd) {
    let key = key(etcd).expect("it leads");
    drop(foreign);
    let lease = key.rsplit('/').next().unwrap_or_default();
    etcd.ctl(&["lease", "revoke", lease]).expect("etcdctl works");
}

fn key(etcd: &Etcd) -> Option<String> {
    let first = ["get", "--prefix", "--keys-only", "--sort-by=CREATE", "--order=ASCEND", "--limit=1", "office/"];
    let found = etcd.ctl(&first).expect("etcdctl works");
    found.lines().next().filter(|line| !line.is_empty()).map(str::to_owned)
}
