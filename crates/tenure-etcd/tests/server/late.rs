//! Bids that come late, or of which nobody knows whether they came.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tenure::backend::{Bid, Cover, Sight, Standing};
use tenure::{Backend, BootClock, Clock, ErrorKind, Moment};
use tenure_etcd::EtcdBackend;
use testbed::Proxy;
use testbed::etcd::Etcd;

use crate::rules::Contender;
use crate::scene::{Test, backend, eventually, run};

pub(crate) const TESTS: &[Test] = &[
    ("late::a_bid_that_was_found_to_have_landed_is_not_cleared_away", a_bid_that_landed_is_not_cleared_away),
    ("late::a_late_bid_under_another_lease_touches_no_newer_place", a_late_bid_touches_no_newer_place),
    ("late::a_bid_that_landed_and_could_not_look_may_have_landed", a_bid_that_could_not_look_may_have_landed),
    ("late::a_bid_that_lands_after_its_withdrawal_is_cleared_by_a_keepalive", a_bid_that_lands_after_its_withdrawal),
    ("late::a_withdrawal_that_was_refused_may_be_made_later", a_withdrawal_that_was_refused),
    ("late::a_bid_whose_lease_ran_out_as_it_landed_may_have_landed", a_bid_whose_lease_ran_out_as_it_landed),
    ("late::a_tenure_is_found_among_large_proposals", a_tenure_is_found_among_large_proposals),
];

/// SAFETY 9: after an unknown outcome the same bid is made again, and wins. Then its place is no longer one that ought to be gone.
fn a_bid_that_landed_is_not_cleared_away() {
    let etcd = Etcd::start().expect("etcd starts");
    let proxy = Proxy::to(etcd.address()).expect("a proxy can be had");
    run(async {
        let one = Contender::new(&etcd.url_at(&[proxy.address()]));
        let bid = one.bid("office", 1);
        proxy.drop_answer_to(*b"office/");
        let unknown = one.backend.stand(&bid, one.attempt()).await.expect_err("the answer was dropped");
        assert!(unknown.is_indeterminate(), "{unknown}");
        let grant = one.wins(&bid).await;
        let Cover::Shared { session, .. } = grant.cover else { panic!("it is shared") };
        for _ in 0..3 {
            one.backend.heartbeat(session, one.attempt()).await.expect("etcd answers");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        let sight = backend(&etcd.url()).inspect(bid.seat()).await.expect("etcd answers");
        assert!(sight.is_of(bid.tenure()), "a leader's own process removed its place: {sight:?}");
    });
}

/// I6: a bid that was given up long ago finds its newer one under another lease.
fn a_late_bid_touches_no_newer_place() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let one = Contender::new(&etcd.url());
        let (early, late) = (one.bid_for("office", 1, Duration::from_secs(40)), one.bid("office", 2));
        let grant = one.wins(&late).await;
        let answer = one.stands(&early).await;
        assert!(matches!(&answer, Standing::Held(sight) if sight.is_of(late.tenure())), "{answer:?}");
        assert_eq!(one.wins(&late).await.token, grant.token);
    });
}

/// The place is there; who leads could not be read, because what stands first in the queue is none.
fn a_bid_that_could_not_look_may_have_landed() {
    let etcd = Etcd::start().expect("etcd starts");
    let proxy = Proxy::to(etcd.address()).expect("a proxy can be had");
    run(async {
        etcd.ctl(&["put", "jobs/settings", "not a candidate"]).expect("etcdctl works");
        let one = Contender::new(&etcd.url_at(&[proxy.address()]));
        let bid = one.bid("jobs", 1);
        // The end of the range, and then its order: without a limit between them it is the search, not the bid.
        proxy.drop_answer_to([&b"jobs0"[..], &[0x28, 1, 0x30, 2]].concat());
        let failed = one.backend.stand(&bid, one.attempt()).await.expect_err("the answer was dropped");
        assert_eq!(proxy.counts().dropped_answers, 1, "the fault did not bite");
        let places = etcd.ctl(&["get", "--prefix", "--keys-only", "jobs/"]).expect("etcdctl works");
        assert_eq!(places.split_whitespace().count(), 2, "its place is there: {places}");
        assert!(failed.is_indeterminate(), "so it may not say that nothing was written: {failed}");
    });
}

/// The lease lives on for another election, and would keep the place for ever. A bid that a partition holds up lands so, if the server does not
/// notice first that nobody waits for the answer: here it is written as it would have been.
fn a_bid_that_lands_after_its_withdrawal() {
    let etcd = Etcd::start().expect("etcd starts");
    let proxy = Proxy::to(etcd.address()).expect("a proxy can be had");
    run(async {
        let one = Contender::new(&etcd.url_at(&[proxy.address()]));
        let Cover::Shared { session, .. } = one.wins(&one.bid("other", 1)).await.cover else { panic!("it is shared") };
        // The first bid of each election has the same record, under the same lease.
        let record = etcd.ctl(&["get", "--prefix", "--print-value-only", "other/"]).expect("etcdctl works");
        let places = || etcd.ctl(&["get", "--prefix", "--keys-only", "office/"]).expect("etcdctl works");
        proxy.drop_answer_to(*b"office/");
        let bid = one.bid("office", 1);
        let unknown = one.backend.stand(&bid, one.attempt()).await.expect_err("the answer was dropped");
        assert!(unknown.is_indeterminate(), "{unknown}");
        one.backend.withdraw(&bid).await.expect("etcd answers");
        assert_eq!(places(), "", "it is withdrawn");
        let lease = format!("{:x}", session.0);
        etcd.ctl(&["put", &format!("office/{lease}"), record.trim(), &format!("--lease={lease}")])
            .expect("etcdctl works");
        let sight = one.backend.inspect(bid.seat()).await.expect("etcd answers");
        assert!(sight.is_of(bid.tenure()), "it is there again: {sight:?}");
        eventually("it is cleared away", async || {
            one.backend.heartbeat(session, one.attempt()).await.expect("etcd answers");
            places().is_empty()
        })
        .await;
        one.wins(&one.bid("other", 1)).await;
    });
}

/// I11: it is looked for with the next keepalive, and done then. Whoever was told that nothing was written would find the office vacant.
fn a_withdrawal_that_was_refused() {
    let mut etcd = Etcd::start().expect("etcd starts");
    etcd.admit_only("candidate", "s3cret", "office/").expect("users can be switched on");
    run(async {
        let one = Contender::new(&format!("etcd://candidate:s3cret@{}", etcd.address()));
        let bid = one.bid("office", 1);
        let Cover::Shared { session, .. } = one.wins(&bid).await.cover else { panic!("it is shared") };
        etcd.revoke().expect("etcdctl works");
        let refused = one.backend.withdraw(&bid).await.expect_err("it may not write");
        assert_eq!(refused.kind(), ErrorKind::Denied);
        etcd.reinstate().expect("etcdctl works");
        eventually("it is done later", async || {
            one.backend.heartbeat(session, one.attempt()).await.expect("etcd answers");
            matches!(one.backend.inspect(bid.seat()).await.expect("etcd answers"), Sight::Vacant(_))
        })
        .await;
        assert!(refused.is_indeterminate(), "so it may not say that nothing was written: {refused}");
    });
}

/// A clock that jumps when it has been read so often, as for a process that was frozen there; from then on etcd is out of reach.
#[derive(Debug)]
struct Jumping {
    proxy: Arc<Proxy>,
    left: AtomicI64,
}

impl Clock for Jumping {
    fn now(&self) -> Moment {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            left if left > 0 => BootClock.now(),
            left => {
                if left == 0 {
                    self.proxy.cut();
                }
                BootClock.now().after(Duration::from_secs(60))
            }
        }
    }

    fn wait_until<'a>(&'a self, moment: Moment) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        BootClock.wait_until(moment)
    }
}

/// SAFETY 9: what goes wrong after it has its place does not make it a bid that wrote nothing.
fn a_bid_whose_lease_ran_out_as_it_landed() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let mut landed = 0;
        for reads in 1..=10 {
            let proxy = Arc::new(Proxy::to(etcd.address()).expect("a proxy can be had"));
            let clock = Jumping { proxy: proxy.clone(), left: AtomicI64::new(reads) };
            let builder = EtcdBackend::builder([proxy.address().to_string()]).clock(clock);
            let one = Contender::on(builder.build().expect("it is safe"));
            let seat = format!("office-{reads}");
            let stood = one.backend.stand(&one.bid(&seat, 1), one.attempt()).await;
            let places = etcd.ctl(&["get", "--prefix", "--keys-only", &seat]).expect("etcdctl works");
            if let (Err(failed), false) = (stood, places.is_empty()) {
                landed += 1;
                assert!(failed.is_indeterminate(), "its place is there: {failed}");
            }
        }
        assert!(landed > 0, "it never happened");
    });
}

/// A guardian knows nothing but a tenure id, and foreign programs propose what they like.
fn a_tenure_is_found_among_large_proposals() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let one = Contender::new(&etcd.url());
        let bid: Bid = one.bid("office", 1);
        one.wins(&bid).await;
        let large = "x".repeat(120_000);
        for number in 0..150 {
            etcd.ctl(&["put", &format!("office/{number:x}"), &large]).expect("etcdctl works");
        }
        backend(&etcd.url()).withdraw(&bid).await.expect("it is found");
        let sight = one.backend.inspect(bid.seat()).await.expect("etcd answers");
        assert!(matches!(sight, Sight::Held(first) if first.tenure.is_none()));
    });
}
