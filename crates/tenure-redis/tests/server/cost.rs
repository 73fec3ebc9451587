//! What elections cost, counted where it passes.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::backend::{Due, Hint, Renewal, Vacancies};
use tenure::{Backend, Election, Seat};
use testbed::redis::{Redis, missing};
use testbed::{Proxy, Trials};

use crate::tools::{LEASE, attempt, bid, bid_for, block_on, plain, seat, wins};

pub(crate) fn tests(trials: Trials) -> Trials {
    trials
        .needing(missing(), "a_follower_sends_nothing_while_nothing_changes", a_follower_sends_nothing)
        .needing(missing(), "a_leader_sends_one_packet_a_renewal", a_leader_sends_one_packet_a_renewal)
        .needing(missing(), "without_events_a_follower_asks_once_a_lease", without_events_a_follower_asks_once_a_lease)
        .needing(missing(), "a_thousand_elections_are_renewed_in_few_packets", a_thousand_elections)
        .needing(missing(), "a_thousand_watches_share_one_connection", a_thousand_watches_share_one_connection)
}

/// A leader, and a follower behind a proxy of its own, for so many leases; what passed there meanwhile.
fn followed(redis: &Redis, lease: Duration, leases: u32) -> (testbed::Counts, testbed::Counts) {
    let (leading, following) = (Proxy::to(redis.address()).unwrap(), Proxy::to(redis.address()).unwrap());
    block_on(async {
        let campaign = |proxy: &Proxy, name: &str| {
            let election = Election::new(plain(&redis.url_at(proxy.address())), "office").unwrap();
            election.candidate(name).lease(lease).build().unwrap().start().unwrap()
        };
        let leader = campaign(&leading, "leader");
        leader.wait_for_leadership().await.unwrap();
        let follower = campaign(&following, "follower");
        // It connects, watches, and stands in vain.
        tokio::time::sleep(lease / 2).await;
        let before = (leading.counts(), following.counts());
        tokio::time::sleep(lease * leases).await;
        let after = (leading.counts(), following.counts());
        assert!(leader.is_leader() && !follower.is_leader());
        let passed = |before: testbed::Counts, after: testbed::Counts| testbed::Counts {
            packets_to_server: after.packets_to_server - before.packets_to_server,
            bytes_to_server: after.bytes_to_server - before.bytes_to_server,
            packets_to_client: after.packets_to_client - before.packets_to_client,
            connections: after.connections,
            ..before
        };
        (passed(before.0, after.0), passed(before.1, after.1))
    })
}

fn a_follower_sends_nothing() {
    let redis = Redis::start().unwrap();
    let (_, follower) = followed(&redis, Duration::from_secs(3), 3);
    assert_eq!((follower.packets_to_server, follower.bytes_to_server), (0, 0), "{follower:?}");
    assert!(follower.packets_to_client > 0, "it hears of renewals: {follower:?}");
    assert_eq!(follower.connections, 1);
}

fn a_leader_sends_one_packet_a_renewal() {
    let redis = Redis::start().unwrap();
    let (leader, _) = followed(&redis, Duration::from_secs(3), 3);
    // It renews after a third of its lease: 9 times, or one more or less at the edges.
    assert!((7..=11).contains(&leader.packets_to_server), "{leader:?}");
    assert!(leader.bytes_to_server < 11 * 400, "{leader:?}");
}

fn without_events_a_follower_asks_once_a_lease() {
    let redis = Redis::with().events("").start().unwrap();
    let (_, follower) = followed(&redis, Duration::from_secs(3), 3);
    // When what is left of the lease is over, which is between two thirds of it and all.
    assert!((1..=6).contains(&follower.packets_to_server), "{follower:?}");
}

fn a_thousand_elections() {
    const MANY: usize = 1_000;
    let redis = Redis::start().unwrap();
    let proxy = Proxy::to(redis.address()).unwrap();
    block_on(async {
        let backend = plain(&redis.url_at(proxy.address()));
        let mut due = Vec::new();
        for number in 0..MANY {
            let bid = bid_for(&backend, Seat::new(&format!("office/{number}")).unwrap(), LEASE);
            let version = wins(&backend, &bid).await.version;
            due.push(Due { bid, version, attempt: attempt() });
        }
        // The first renewal teaches the server the script.
        for round in 0..2 {
            let before = proxy.counts();
            let answers = backend.renew_many(&due).await;
            let after = proxy.counts();
            for (one, answer) in due.iter_mut().zip(answers) {
                match answer {
                    Ok(Renewal::Extended(grant)) => one.version = grant.version,
                    other => panic!("{other:?}"),
                }
            }
            let packets = after.packets_to_server - before.packets_to_server;
            assert!(round == 0 || packets <= 40, "{packets} packets for {MANY} renewals");
        }
    });
}

fn a_thousand_watches_share_one_connection() {
    const MANY: usize = 1_000;
    let redis = Redis::start().unwrap();
    let proxy = Proxy::to(redis.address()).unwrap();
    block_on(async {
        let backend = plain(&redis.url_at(proxy.address()));
        assert_eq!(backend.traits().vacancies, Vacancies::Pushed);
        let holder = bid(&backend, LEASE);
        wins(&backend, &holder).await;
        let mut watches = Vec::new();
        for number in 0..MANY {
            let seat = if number == 0 { seat() } else { Seat::new(&format!("office/{number}")).unwrap() };
            let mut watch = backend.watch(&seat, None).await.unwrap();
            assert_eq!(watch.next().await, Some(Hint::Armed));
            watches.push(watch);
        }
        assert_eq!(proxy.counts().connections, 1);
        backend.withdraw(&holder).await.unwrap();
        let told = async {
            loop {
                match watches[0].next().await {
                    // Where it took long to begin so many, this one has looked for itself.
                    Some(Hint::Seen(sight)) if sight.held().is_some() => {}
                    told => return told,
                }
            }
        };
        let told = tokio::time::timeout(Duration::from_secs(20), told).await;
        assert_eq!(told.expect("it is told"), Some(Hint::Vacant));
        // Nobody listens any more, and the server is told so.
        drop(watches);
        let listening = || redis.ask(&["PUBSUB", "CHANNELS"]).unwrap();
        let silent = async {
            while !matches!(listening(), testbed::redis::Reply::Many(channels) if channels.is_empty()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), silent).await.expect("they are given up");
    });
}
