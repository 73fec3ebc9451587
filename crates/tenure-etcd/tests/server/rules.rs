//! The rules that this backend keeps by itself, at the seam. Each has a mutant that removes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::backend::{Attempt, AttemptId, Beat, Bid, Cover, Evicted, Grant, Hint, Sight, Standing, TenureId};
use tenure::machine::Plan;
use tenure::{Backend, BootClock, CandidateName, Clock, ErrorKind, Seat, TimingBuilder};
use tenure_etcd::EtcdBackend;
use testbed::Proxy;
use testbed::etcd::Etcd;

use crate::scene::{PATIENCE, Test, backend, campaign_on, leads, run};

pub(crate) const TESTS: &[Test] = &[
    ("rules::whoever_came_first_leads_whatever_its_lease_is_called", whoever_came_first_leads),
    ("rules::an_election_below_another_is_not_in_its_queue", an_election_below_another_is_not_in_its_queue),
    ("rules::a_bid_that_comes_late_takes_no_newer_place", a_bid_that_comes_late_takes_no_newer_place),
    ("rules::a_keepalive_counts_from_before_it_was_sent", a_keepalive_counts_from_before_it_was_sent),
    ("rules::a_watch_whose_connection_breaks_says_so", a_watch_whose_connection_breaks_says_so),
    ("rules::an_evicted_office_is_barred_for_a_lease", an_evicted_office_is_barred_for_a_lease),
    ("rules::the_same_election_on_clones_is_refused", the_same_election_on_clones_is_refused),
    ("rules::a_foreign_holder_is_named_in_plain_text", a_foreign_holder_is_named_in_plain_text),
    ("rules::who_is_asked_to_resign_keeps_its_token", who_is_asked_to_resign_keeps_its_token),
];

const LEASE: Duration = Duration::from_secs(20);

/// One incarnation of a candidate at the seam.
pub(crate) struct Contender {
    pub(crate) backend: EtcdBackend,
    nonce: u64,
    calls: AtomicU64,
}

impl Contender {
    pub(crate) fn new(url: &str) -> Self {
        Contender::on(backend(url))
    }

    pub(crate) fn on(backend: EtcdBackend) -> Self {
        Contender { backend, nonce: fastrand::u64(1..), calls: AtomicU64::new(0) }
    }

    pub(crate) fn bid(&self, seat: &str, count: u64) -> Bid {
        self.bid_for(seat, count, LEASE)
    }

    pub(crate) fn bid_for(&self, seat: &str, count: u64, lease: Duration) -> Bid {
        let timing = TimingBuilder { lease: Some(lease), ..TimingBuilder::default() }.build().expect("it is safe");
        let (seat, name) = (Seat::new(seat).expect("a name"), CandidateName::new("one").expect("a name"));
        let plan = Plan::new(seat, name, self.nonce, Arc::new(timing), self.backend.traits());
        Bid::new(Arc::new(plan), TenureId::new(self.nonce, count), None)
    }

    pub(crate) fn attempt(&self) -> Attempt {
        Attempt { id: AttemptId(self.calls.fetch_add(1, Ordering::Relaxed)), sent: BootClock.now() }
    }

    pub(crate) async fn stands(&self, bid: &Bid) -> Standing {
        self.backend.stand(bid, self.attempt()).await.expect("etcd answers")
    }

    pub(crate) async fn wins(&self, bid: &Bid) -> Grant {
        match self.stands(bid).await {
            Standing::Elected(grant) => grant,
            other => panic!("it was to be elected: {other:?}"),
        }
    }
}

/// The queue is in the order of create revisions: neither of names nor of lease ids.
fn whoever_came_first_leads() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        // Leases that sort before and after every one that etcd makes.
        for (number, lease) in ["1", "7fffffffffffffff"].into_iter().enumerate() {
            let seat = format!("office-{number}");
            etcd.ctl(&["lease", "grant", "60"]).expect("etcdctl works");
            let one = Contender::new(&etcd.url());
            one.wins(&one.bid(&seat, 1)).await;
            etcd.ctl(&["put", &format!("{seat}/{lease}"), "later"]).expect("etcdctl works");
            one.wins(&one.bid(&seat, 1)).await;
            let behind = Contender::new(&etcd.url());
            let bid = behind.bid(&seat, 1);
            assert!(
                matches!(behind.stands(&bid).await, Standing::Queued(Sight::Held(first), _) if first.tenure.is_some())
            );
            one.backend.withdraw(&one.bid(&seat, 1)).await.expect("etcd answers");
            let Standing::Queued(Sight::Held(first), _) = behind.stands(&bid).await else { panic!("it waits") };
            assert_eq!(&*first.holder, "later", "the one that came second is first now");
        }
    });
}

/// SEEDS 24.
fn an_election_below_another_is_not_in_its_queue() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let [one, two] = [Contender::new(&etcd.url()), Contender::new(&etcd.url())];
        etcd.ctl(&["put", "jobs/settings", "not a candidate"]).expect("etcdctl works");
        let below = one.wins(&one.bid("jobs/report", 1)).await;
        let above = two.wins(&two.bid("jobs", 1)).await;
        assert!(above.token > below.token);
        assert!(matches!(one.stands(&one.bid("jobs", 2)).await, Standing::Queued(..)));
    });
}

/// SAFETY 9: a bid that was given up comes when a newer one of the same candidate may lead.
fn a_bid_that_comes_late_takes_no_newer_place() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let one = Contender::new(&etcd.url());
        let (early, late) = (one.bid("office", 1), one.bid("office", 2));
        let grant = one.wins(&late).await;
        assert!(matches!(one.stands(&early).await, Standing::Held(sight) if sight.is_of(late.tenure())));
        assert_eq!(one.wins(&late).await.token, grant.token, "its place was taken and given back");
        // And a newer one takes the place of an older, with a number of its own.
        let newest = one.bid("office", 3);
        assert!(one.wins(&newest).await.token > grant.token);
    });
}

/// SAFETY 1.
fn a_keepalive_counts_from_before_it_was_sent() {
    let etcd = Etcd::start().expect("etcd starts");
    let proxy = Proxy::to(etcd.address()).expect("a proxy can be had");
    run(async {
        let one = Contender::new(&etcd.url_at(&[proxy.address()]));
        let Cover::Shared { session, .. } = one.wins(&one.bid("first", 1)).await.cover else { panic!("it is shared") };
        proxy.delay(Duration::from_millis(150));
        let attempt = one.attempt();
        let beat = one.backend.heartbeat(session, attempt).await.expect("etcd answers");
        assert!(matches!(beat, Beat::Extended { ttl } if ttl == LEASE));
        let Cover::Shared { from, .. } = one.wins(&one.bid("second", 1)).await.cover else { panic!("it is shared") };
        assert!(from <= attempt.sent, "it counts from {from:?}, and was sent at {:?}", attempt.sent);
    });
}

fn a_watch_whose_connection_breaks_says_so() {
    let etcd = Etcd::start().expect("etcd starts");
    let proxy = Proxy::to(etcd.address()).expect("a proxy can be had");
    run(async {
        let one = Contender::new(&etcd.url_at(&[proxy.address()]));
        let bid = one.bid("office", 1);
        one.wins(&bid).await;
        let mut watch = one.backend.watch(bid.seat(), Some(&bid)).await.expect("etcd answers");
        assert_eq!(watch.next().await, Some(Hint::Armed));
        proxy.cut();
        let last = tokio::time::timeout(PATIENCE, watch.next()).await.expect("it ends");
        assert_eq!(last, Some(Hint::Lagged));
        assert_eq!(watch.next().await, None);
    });
}

/// I1: the evicted holder may believe by what it was last granted.
fn an_evicted_office_is_barred_for_a_lease() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let [holder, waiting] = [Contender::new(&etcd.url()), Contender::new(&etcd.url())];
        let bid = holder.bid("office", 1);
        holder.wins(&bid).await;
        let behind = waiting.bid("office", 1);
        waiting.stands(&behind).await;
        let administer = waiting.backend.administer().expect("etcd can");
        let evicted = administer.evict(bid.seat()).await.expect("etcd answers");
        assert!(matches!(evicted, Evicted::Barred { remaining } if remaining >= LEASE), "{evicted:?}");
        holder.backend.withdraw(&bid).await.expect("etcd answers");
        assert!(matches!(waiting.stands(&behind).await, Standing::Queued(Sight::Held(bar), _) if bar.tenure.is_none()));
    });
}

/// SAFETY 18, the token table: the create revision, not that of the last write.
fn who_is_asked_to_resign_keeps_its_token() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let one = Contender::new(&etcd.url());
        let bid = one.bid("office", 1);
        let before = one.wins(&bid).await;
        let administer = one.backend.administer().expect("etcd can");
        assert!(administer.ask_to_resign(bid.seat()).await.expect("etcd answers"));
        let after = one.wins(&bid).await;
        assert!(after.asked_to_resign && after.version != before.version);
        assert_eq!(after.token, before.token);
    });
}

/// What others propose may be anything, and an error of ours ends in a terminal.
fn a_foreign_holder_is_named_in_plain_text() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        etcd.ctl(&["put", "office/1f", "red \u{1b}[31m\nname"]).expect("etcdctl works");
        let one = Contender::new(&etcd.url());
        let administer = one.backend.administer().expect("etcd can");
        let error = administer.ask_to_resign(one.bid("office", 1).seat()).await.expect_err("it cannot be asked");
        assert!(error.to_string().contains("[31m") && !error.to_string().contains(char::is_control), "{error:?}");
    });
}

/// SAFETY 21: to etcd the two would be one key.
fn the_same_election_on_clones_is_refused() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let backend = backend(&etcd.url());
        let first = campaign_on(&backend, "office", "first", LEASE);
        leads(&first).await;
        let second = campaign_on(&backend, "office", "second", LEASE);
        let refused = tokio::time::timeout(PATIENCE, second.wait_for_leadership()).await.expect("at once");
        assert_eq!(refused.expect_err("it is refused").kind(), ErrorKind::AlreadyRunning);
        assert!(first.is_leader());
        // At the seam too, where another driver may stand above.
        let [one, other] = [Contender::new(&etcd.url()), Contender::new(&etcd.url())];
        let other = Contender { backend: one.backend.clone(), ..other };
        one.wins(&one.bid("seam", 1)).await;
        let refused = other.backend.stand(&other.bid("seam", 1), other.attempt()).await;
        assert_eq!(refused.expect_err("it is refused").kind(), ErrorKind::AlreadyRunning);
        one.wins(&one.bid("seam", 1)).await;
    });
}
