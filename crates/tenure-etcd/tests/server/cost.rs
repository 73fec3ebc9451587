//! What elections cost, counted by etcd and by a proxy.

use std::collections::HashSet;
use std::time::Duration;

use tenure::{Campaign, State};
use testbed::Proxy;
use testbed::etcd::Etcd;

use crate::scene::{Test, asked, backend, campaign, campaign_on, eventually, leads, run};

pub(crate) const TESTS: &[Test] = &[
    ("cost::followers_send_nothing_but_the_shared_keepalive", followers_send_nothing_but_the_shared_keepalive),
    ("cost::a_thousand_elections_cost_one_keepalive_an_interval", a_thousand_elections_cost_one_keepalive_an_interval),
    ("cost::one_more_than_a_thousand_elections_have_two_leases", one_more_than_a_thousand_elections_have_two_leases),
    ("cost::of_a_hundred_that_wait_one_wakes", of_a_hundred_that_wait_one_wakes),
];

/// A keepalive is sent every third of it. Long, or a busy machine loses it.
const LEASE: Duration = Duration::from_secs(15);
const INTERVALS: u64 = 3;

/// All calls but keepalives that elections make.
const OTHER_CALLS: [&str; 5] = ["Range", "Txn", "LeaseGrant", "LeaseTimeToLive", "Watch"];

fn others(etcd: &Etcd) -> u64 {
    OTHER_CALLS.iter().map(|call| asked(etcd, call)).sum()
}

async fn are_waiting(campaigns: &[Campaign]) {
    let waits = |campaign: &Campaign| campaign.state() == State::Candidate && campaign.incumbent().is_some();
    eventually("everybody waits", async || campaigns.iter().all(waits)).await;
    // Each looks once more when its watch stands.
    tokio::time::sleep(Duration::from_secs(2)).await;
}

/// Under how many leases there are places. More may have been granted, to calls that were given up.
fn leases(etcd: &Etcd) -> usize {
    let places = etcd.ctl(&["get", "--prefix", "--keys-only", "seat-"]).expect("etcdctl works");
    let leases: HashSet<_> = places.split_whitespace().filter_map(|place| place.rsplit('/').next()).collect();
    leases.len()
}

/// What was asked for in some time.
struct Spent {
    calls: u64,
    beats: u64,
    packets: u64,
}

/// What elections cost while nothing happens. On a machine that does not keep up candidates look again, so one stretch of two may be disturbed; what it
/// costs to be a candidate is spent in each of them.
async fn spent_at_rest(etcd: &Etcd, proxy: &Proxy, stretch: Duration) -> Spent {
    let mut tries = 2;
    loop {
        let (calls, beats, packets) = (others(etcd), asked(etcd, "LeaseKeepAlive"), proxy.counts().packets_to_server);
        tokio::time::sleep(stretch).await;
        let spent = Spent {
            calls: others(etcd) - calls,
            beats: asked(etcd, "LeaseKeepAlive") - beats,
            packets: proxy.counts().packets_to_server - packets,
        };
        tries -= 1;
        if spent.calls == 0 || tries == 0 {
            return spent;
        }
    }
}

fn followers_send_nothing_but_the_shared_keepalive() {
    let etcd = Etcd::start().expect("etcd starts");
    let proxy = Proxy::to(etcd.address()).expect("a proxy can be had");
    run(async {
        let leader = backend(&etcd.url());
        let seats: Vec<_> = (0..50).map(|number| format!("seat-{number}")).collect();
        let leaders: Vec<_> = seats.iter().map(|seat| campaign_on(&leader, seat, "leader", LEASE)).collect();
        for campaign in &leaders {
            leads(campaign).await;
        }
        let follower = backend(&etcd.url_at(&[proxy.address()]));
        let followers: Vec<_> = seats.iter().map(|seat| campaign_on(&follower, seat, "follower", LEASE)).collect();
        are_waiting(&followers).await;
        // The first keepalives may ask how far the watches are; when nothing changes they know.
        tokio::time::sleep(LEASE / 3).await;
        let spent = spent_at_rest(&etcd, &proxy, LEASE / 3 * INTERVALS as u32).await;
        assert_eq!(spent.calls, 0, "somebody asked for something");
        // One for the leaders' lease and one for the followers', give or take one at the ends.
        assert!((2 * INTERVALS - 2..=2 * INTERVALS + 4).contains(&spent.beats), "{} keepalives", spent.beats);
        // A keepalive is headers, a message, and the end of its stream; HTTP/2 answers pings of the server's beside.
        let sent = spent.packets;
        assert!(sent <= 6 * (INTERVALS + 2), "50 followers sent {sent} packets in {INTERVALS} intervals");
    });
}

fn a_thousand_elections_cost_one_keepalive_an_interval() {
    let etcd = Etcd::start().expect("etcd starts");
    let proxy = Proxy::to(etcd.address()).expect("a proxy can be had");
    run(async {
        let backend = backend(&etcd.url_at(&[proxy.address()]));
        let campaigns: Vec<_> =
            (0..1_000).map(|number| campaign_on(&backend, &format!("seat-{number}"), "one", LEASE)).collect();
        for campaign in &campaigns {
            leads(campaign).await;
        }
        eventually("all share one lease", async || leases(&etcd) == 1).await;
        tokio::time::sleep(LEASE / 3).await;
        let spent = spent_at_rest(&etcd, &proxy, LEASE / 3 * 2).await;
        assert_eq!(spent.calls, 0, "somebody asked for something");
        assert!((1..=3).contains(&spent.beats), "{} keepalives in two intervals", spent.beats);
        let sent = spent.packets;
        assert!(sent <= 6 * 4, "1,000 elections sent {sent} packets in two intervals");
        assert!(campaigns.iter().all(Campaign::is_leader));
    });
}

/// SAFETY 21.
fn one_more_than_a_thousand_elections_have_two_leases() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let backend = backend(&etcd.url());
        let lease = Duration::from_secs(60);
        let campaigns: Vec<_> =
            (0..=1_000).map(|number| campaign_on(&backend, &format!("seat-{number}"), "one", lease)).collect();
        for campaign in &campaigns {
            leads(campaign).await;
        }
        eventually("one of them has a lease of its own", async || leases(&etcd) == 2).await;
    });
}

fn of_a_hundred_that_wait_one_wakes() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let lease = Duration::from_secs(60);
        let leader = campaign(&etcd.url(), "office", "leader", lease);
        leads(&leader).await;
        let proxies: Vec<_> = (0..100).map(|_| Proxy::to(etcd.address()).expect("a proxy can be had")).collect();
        let waiting: Vec<_> = proxies
            .iter()
            .enumerate()
            .map(|(number, proxy)| campaign(&etcd.url_at(&[proxy.address()]), "office", &format!("{number}"), lease))
            .collect();
        are_waiting(&waiting).await;
        let (calls, told) = (others(&etcd), proxies.iter().map(|proxy| proxy.counts()).collect::<Vec<_>>());
        leader.stop().await.expect("it is given up");
        eventually("somebody leads", async || waiting.iter().any(Campaign::is_leader)).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let calls = others(&etcd) - calls;
        assert!(calls <= 5, "a handover to one of a hundred cost {calls} calls");
        let woken = proxies.iter().zip(&told).filter(|(proxy, before)| {
            // A ping of HTTP/2 is 17 bytes; an event has the key in it.
            proxy.counts().bytes_to_client > before.bytes_to_client + 100
        });
        assert_eq!(woken.count(), 1, "only the next in line is told");
    });
}
