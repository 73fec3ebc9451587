//! Servers that take over from each other.

use std::time::Duration;

use tenure::backend::{Due, Renewal, Sight, Standing, Vacancy};
use tenure::{Backend, Campaign, Election, Seat};
use testbed::redis::{Cluster, Redis, Reply, Sentinels, missing};
use testbed::{Proxy, Trials};

use crate::stores::eventually;
use crate::tools::{LEASE, attempt, backend, bid, bid_for, block_on, plain, seat, wins};

pub(crate) fn tests(trials: Trials) -> Trials {
    trials
        .needing(missing(), "an_election_goes_on_after_a_failover", an_election_goes_on_after_a_failover)
        .needing(missing(), "an_election_goes_on_after_its_primary_died", an_election_goes_on_after_its_primary_died)
        .needing(missing(), "who_says_nothing_is_not_waited_for", who_says_nothing_is_not_waited_for)
        .needing(missing(), "a_silent_server_keeps_no_renewal_elsewhere", a_silent_server_keeps_no_renewal_elsewhere)
        .needing(missing(), "a_server_that_became_a_replica_is_left", a_server_that_became_a_replica_is_left)
        .needing(missing(), "a_slot_that_moves_is_followed", a_slot_that_moves_is_followed)
}

const SHORT: Duration = Duration::from_secs(3);

fn campaigns(group: &Sentinels) -> Vec<Campaign> {
    let sentinels: Vec<_> = group.addresses().iter().map(ToString::to_string).collect();
    let url = format!("redis+sentinel://{}/{}", sentinels.join(","), group.name());
    let campaign = |name: &str| {
        let election = Election::new(plain(&url), "office").unwrap();
        election.candidate(name).lease(SHORT).build().unwrap().start().unwrap()
    };
    vec![campaign("one"), campaign("two")]
}

async fn token(campaigns: &[Campaign], above: Option<tenure::FencingToken>) -> tenure::FencingToken {
    let leads = async {
        loop {
            let leading = campaigns.iter().filter_map(Campaign::leadership).filter(|leadership| leadership.is_held());
            if let Some(token) = leading.filter_map(|leadership| leadership.token()).find(|token| Some(*token) > above)
            {
                return token;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), leads).await.expect("somebody leads")
}

fn an_election_goes_on_after_a_failover() {
    let group = Sentinels::start(2).unwrap();
    block_on(async {
        let campaigns = campaigns(&group);
        token(&campaigns, None).await;
        let new = group.failover().unwrap();
        // The record may have come along, or not: somebody leads on the new primary.
        let there = async {
            while !matches!(group.servers[new].ask(&["PTTL", "tenure:office"]), Ok(Reply::Number(1..))) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), there).await.expect("a record is there");
        token(&campaigns, None).await;
    });
}

fn an_election_goes_on_after_its_primary_died() {
    let mut group = Sentinels::start(1).unwrap();
    block_on(async {
        let campaigns = campaigns(&group);
        let first = token(&campaigns, None).await;
        group.servers[0].kill();
        group.await_another(0).unwrap();
        tokio::time::sleep(SHORT * 2).await;
        for campaign in &campaigns {
            let _ = campaign.resign().await;
        }
        assert!(token(&campaigns, Some(first)).await > first);
    });
}

/// A host that is gone does not even refuse. It may be the first that is named, and often the one that the primary was on.
fn who_says_nothing_is_not_waited_for() {
    let group = Sentinels::start(1).unwrap();
    let cluster = Cluster::start().unwrap();
    let silent = Proxy::to(group.addresses()[0]).unwrap();
    silent.half_open();
    let gone = silent.address();
    block_on(async {
        for url in [
            format!("redis+sentinel://{gone},{}/{}", group.addresses()[1], group.name()),
            format!("redis+cluster://{gone},{}", cluster.nodes[0].address()),
        ] {
            let backend = plain(&url);
            wins(&backend, &bid(&backend, LEASE)).await;
        }
    });
}

/// Of many renewals that are due at once, only those of the silent server fail.
fn a_silent_server_keeps_no_renewal_elsewhere() {
    let cluster = Cluster::start().unwrap();
    let silent = Proxy::to(cluster.nodes[0].address()).unwrap();
    block_on(async {
        let lease = Duration::from_secs(5);
        let url = format!("redis+cluster://{}", cluster.nodes[1].address());
        let backend = backend(&url, |builder| {
            builder.reach(&cluster.nodes[0].address().to_string(), &silent.address().to_string()).unwrap()
        });
        let mut due = Vec::new();
        for number in 0..40 {
            let bid = bid_for(&backend, Seat::new(&format!("office-{number}")).unwrap(), lease);
            let version = wins(&backend, &bid).await.version;
            due.push(Due { bid, version, attempt: attempt() });
        }
        silent.half_open();
        for round in ["on the connection that was", "on none"] {
            let answers = tokio::time::timeout(lease, backend.renew_many(&due)).await;
            let answers = answers.unwrap_or_else(|_| panic!("{round}: nobody lost anything but a lease of its own"));
            let mut renewed = Vec::new();
            for (one, answer) in due.iter().zip(answers) {
                match answer {
                    Ok(Renewal::Extended(grant)) => renewed.push((one.bid.tenure(), grant.version)),
                    answer => assert!(answer.is_err_and(|error| error.is_transient()), "{round}"),
                }
            }
            assert!((15..40).contains(&renewed.len()), "{round}: {}", renewed.len());
            for (tenure, version) in renewed {
                due.iter_mut().filter(|one| one.bid.tenure() == tenure).for_each(|one| one.version = version.clone());
            }
        }
    });
}

/// It keeps its connections, and answers from the past: neither a look nor a renewal takes that for the truth, and both look for another.
fn a_server_that_became_a_replica_is_left() {
    let (old, new) = (Redis::start().unwrap(), Redis::start().unwrap());
    block_on(async {
        for reads in [true, false] {
            let proxy = Proxy::to(old.address()).unwrap();
            let backend = plain(&old.url_at(proxy.address()));
            let bid = bid(&backend, LEASE);
            let version = wins(&backend, &bid).await.version;
            let attempted = async || match reads {
                true => backend.inspect(&seat()).await.map(|sight| sight.held().is_none()),
                false => backend
                    .renew(&bid, &version, attempt())
                    .await
                    .map(|renewal| renewal == Renewal::Mismatch(Sight::Vacant(Vacancy::Free))),
            };
            // The record comes along, so that only the role is another.
            let record = old.ask(&["GET", "tenure:office"]).unwrap();
            new.ask(&["SET", "tenure:office", record.text().unwrap(), "PX", "60000"]).unwrap();
            old.ask(&["REPLICAOF", "127.0.0.1", &new.address().port().to_string()]).unwrap();
            eventually(Duration::from_secs(60), "it has the other's record", || {
                matches!(old.ask(&["PTTL", "tenure:office"]), Ok(Reply::Number(31_000..)))
            })
            .unwrap();
            for connections in [1, 2] {
                let error = attempted().await.expect_err("a replica answers the past");
                assert!(error.to_string().contains("is a replica"), "{error}");
                assert_eq!(proxy.counts().connections, connections, "the first is given up: {error}");
            }
            old.ask(&["REPLICAOF", "NO", "ONE"]).unwrap();
            old.ask(&["DEL", "tenure:office"]).unwrap();
            assert!(attempted().await.unwrap(), "it is a primary again, and nobody leads");
        }
    });
}

/// A server that no longer has the slot says who has, and a call goes there.
fn a_slot_that_moves_is_followed() {
    let cluster = Cluster::start().unwrap();
    block_on(async {
        let backend = plain(&format!("redis+cluster://{}", cluster.nodes[0].address()));
        let bid = bid(&backend, LEASE);
        wins(&backend, &bid).await;
        let slot = cluster.nodes[0].ask(&["CLUSTER", "KEYSLOT", "tenure:office"]).unwrap();
        let Reply::Number(slot) = slot else { panic!("{slot:?}") };
        let has = |node: &testbed::redis::Redis| node.ask(&["GET", "tenure:office"]).is_ok();
        let from = cluster.nodes.iter().position(has).expect("somebody has it");
        let to = (from + 1) % cluster.nodes.len();
        cluster.nodes[from].ask(&["FLUSHALL"]).unwrap();
        let id = cluster.nodes[to].ask(&["CLUSTER", "MYID"]).unwrap();
        for node in [to, from, (to + 1) % cluster.nodes.len()] {
            cluster.nodes[node].ask(&["CLUSTER", "SETSLOT", &slot.to_string(), "NODE", id.text().unwrap()]).unwrap();
        }
        let standing = backend.stand(&bid, attempt()).await;
        assert!(matches!(standing, Ok(Standing::Elected(_))), "{standing:?}");
        assert!(has(&cluster.nodes[to]), "it is on the other server now");
        assert!(backend.inspect(&seat()).await.unwrap().is_of(bid.tenure()));
    });
}
