//! What operators and accidents do to etcd while somebody leads.

use std::time::Duration;

use tenure::{Alarm, Campaign, Election, Ending, ErrorKind, Event, Events, State};
use testbed::Proxy;
use testbed::etcd::{Cluster, Etcd};

use crate::scene::{PATIENCE, Test, backend, campaign, eventually, leads, run};

pub(crate) const TESTS: &[Test] = &[
    ("disturbances::a_revoked_lease_ends_the_tenure_at_once", a_revoked_lease_ends_the_tenure_at_once),
    ("disturbances::a_deleted_key_ends_the_tenure_at_once", a_deleted_key_ends_the_tenure_at_once),
    ("disturbances::compaction_deafens_nobody", compaction_deafens_nobody),
    ("disturbances::a_restored_store_is_refused_and_alarmed", a_restored_store_is_refused_and_alarmed),
    ("disturbances::a_cluster_made_anew_is_refused_and_alarmed", a_cluster_made_anew_is_refused_and_alarmed),
    ("disturbances::an_answer_that_was_dropped_after_the_commit_makes_no_second_tenure", dropped_answers),
    ("disturbances::a_member_that_dies_ends_no_tenure", a_member_that_dies_ends_no_tenure),
    ("disturbances::a_member_that_freezes_ends_no_tenure", a_member_that_freezes_ends_no_tenure),
    ("disturbances::a_waiting_candidate_whose_lease_was_revoked_waits_again", a_waiting_candidate_waits_again),
];

const LEASE: Duration = Duration::from_secs(10);

async fn lost(campaign: &Campaign) -> Ending {
    let mut events = campaign.events();
    let found = async {
        while let Some(event) = events.next().await {
            if let Event::Lost { ending } = event {
                return ending;
            }
        }
        panic!("the campaign ended");
    };
    tokio::time::timeout(PATIENCE, found).await.expect("it is told in time")
}

fn lease_of(etcd: &Etcd, election: &str) -> String {
    let key = etcd.ctl(&["get", "--prefix", "--keys-only", &format!("{election}/")]).expect("etcdctl works");
    key.trim().rsplit('/').next().expect("it is named").to_owned()
}

fn a_revoked_lease_ends_the_tenure_at_once() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let campaign = campaign(&etcd.url(), "office", "one", Duration::from_secs(120));
        let first = leads(&campaign).await;
        let ending = tokio::spawn({
            let mut events = campaign.events();
            async move {
                while let Some(event) = events.next().await {
                    if let Event::Lost { ending } = event {
                        return Some(ending);
                    }
                }
                None
            }
        });
        etcd.ctl(&["lease", "revoke", &lease_of(&etcd, "office")]).expect("etcdctl works");
        let ending = tokio::time::timeout(PATIENCE, ending).await.expect("long before the lease would end");
        assert!(matches!(ending, Ok(Some(Ending::Deposed | Ending::SessionLost))), "{ending:?}");
        eventually("it leads again, under another lease", async || {
            campaign.leadership().is_some_and(|next| next.token() > first.token())
        })
        .await;
    });
}

fn a_deleted_key_ends_the_tenure_at_once() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let campaign = campaign(&etcd.url(), "office", "one", Duration::from_secs(120));
        let first = leads(&campaign).await;
        let told = lost(&campaign);
        let deleted = async { etcd.ctl(&["del", "--prefix", "office/"]).expect("etcdctl works") };
        let (ending, _) = tokio::join!(told, deleted);
        assert_eq!(ending, Ending::Deposed);
        eventually("it leads again", async || campaign.leadership().is_some_and(|next| next.token() > first.token()))
            .await;
    });
}

/// A watch that was set up is kept over a compaction, and one that comes too late for its revision is set up anew.
fn compaction_deafens_nobody() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let lease = Duration::from_secs(120);
        let mut first = campaign(&etcd.url(), "office", "first", lease);
        leads(&first).await;
        for round in 0..5 {
            let second = campaign(&etcd.url(), "office", &format!("next-{round}"), lease);
            eventually("it waits", async || second.incumbent().is_some()).await;
            for number in 0..20 {
                etcd.ctl(&["put", "noise", &number.to_string()]).expect("etcdctl works");
                if number % 5 == round % 5 {
                    let revision = etcd.ctl(&["get", "noise", "-w", "fields"]).expect("etcdctl works");
                    let revision = revision.lines().find_map(|line| line.strip_prefix("\"Revision\" : "));
                    etcd.ctl(&["compact", revision.expect("it is told")]).expect("etcdctl works");
                }
            }
            first.stop().await.expect("it is given up");
            leads(&second).await;
            first = second;
        }
    });
}

/// SAFETY 18: numbers that went back are refused, and said.
fn a_restored_store_is_refused_and_alarmed() {
    let (mut etcd, old) = Etcd::with_a_past().expect("etcd starts");
    let url = etcd.url();
    run(async {
        let campaign = campaign(&url, "office", "one", Duration::from_secs(3));
        let token = leads(&campaign).await.token().expect("etcd has numbers");
        let mut events = campaign.events();
        etcd.kill();
        etcd.restore(&old).expect("a copy can be put back");
        etcd.restart().expect("it starts again");
        let alarm = alarm_about_the_store(&mut events).await;
        assert!(matches!(alarm, Alarm::TokenWentBack { .. }), "the cluster has the same id: {alarm}");
        assert!(!campaign.is_leader());
        assert_ne!(campaign.state(), State::Leader);
        // A process that was told what the resource has seen refuses it too.
        let told = Election::new(backend(&url), "office").expect("it is a name").candidate("two").above(token);
        let told = told.lease(Duration::from_secs(3)).build().expect("it is safe");
        assert_eq!(told.campaign().await.expect_err("it was told").kind(), ErrorKind::TokenWentBack);
        // Once an operator has driven the numbers past what was used, it goes on by itself.
        for number in 0..60 {
            etcd.ctl(&["put", "noise", &number.to_string()]).expect("etcdctl works");
        }
        assert!(leads(&campaign).await.token() > Some(token));
    });
}

async fn alarm_about_the_store(events: &mut Events) -> Alarm {
    let alarmed = async {
        while let Some(event) = events.next().await {
            if let Event::Alarmed(alarm @ (Alarm::TokenWentBack { .. } | Alarm::StoreReplaced { .. })) = event {
                return alarm;
            }
        }
        panic!("the campaign ended");
    };
    tokio::time::timeout(PATIENCE, alarmed).await.expect("it is alarmed")
}

/// SAFETY 18: another cluster under the same address is noticed by its id, also where its numbers are higher.
fn a_cluster_made_anew_is_refused_and_alarmed() {
    let mut etcd = Etcd::start().expect("etcd starts");
    let url = etcd.url();
    run(async {
        let campaign = campaign(&url, "office", "one", Duration::from_secs(3));
        leads(&campaign).await;
        let mut events = campaign.events();
        etcd.renew().expect("it is made anew");
        for number in 0..100 {
            etcd.ctl(&["put", "noise", &number.to_string()]).expect("etcdctl works");
        }
        let alarm = alarm_about_the_store(&mut events).await;
        assert!(matches!(alarm, Alarm::StoreReplaced { .. }), "{alarm}");
    });
}

/// I7: the bid lands, its answer does not come; the place is found again or cleared away, and one tenure comes of it.
fn dropped_answers() {
    let etcd = Etcd::start().expect("etcd starts");
    let proxy = Proxy::to(etcd.address()).expect("a proxy can be had");
    run(async {
        for round in 0..5 {
            let election = format!("office-{round}");
            proxy.drop_answer_to(format!("{election}/").into_bytes());
            let dropped = proxy.counts().dropped_answers;
            let one = campaign(&etcd.url_at(&[proxy.address()]), &election, "one", LEASE);
            leads(&one).await;
            assert_eq!(proxy.counts().dropped_answers, dropped + 1, "the fault did not bite");
            let places = etcd.ctl(&["get", "--prefix", "--keys-only", &format!("{election}/")]).expect("etcdctl works");
            assert_eq!(places.split_whitespace().count(), 1, "{places}");
            one.stop().await.expect("it is given up");
            let left = etcd.ctl(&["get", "--prefix", "--keys-only", &format!("{election}/")]).expect("etcdctl works");
            assert_eq!(left, "", "something of it is left");
        }
    });
}

fn a_member_that_dies_ends_no_tenure() {
    no_member_is_needed(|member| member.kill(), |member| member.restart().expect("it starts again"));
}

fn a_member_that_freezes_ends_no_tenure() {
    no_member_is_needed(|member| member.freeze().expect("it runs"), |member| member.thaw().expect("it runs"));
}

/// SAFETY 15: whichever member goes, the other two keep the leases, and clients find them.
fn no_member_is_needed(strike: impl Fn(&mut Etcd), heal: impl Fn(&mut Etcd)) {
    let mut cluster = Cluster::start(Etcd::with()).expect("etcd starts");
    let url = cluster.url();
    run(async {
        let campaign = campaign(&url, "office", "one", Duration::from_secs(20));
        let tenure = leads(&campaign).await.id();
        for number in 0..Cluster::SIZE {
            strike(cluster.member_mut(number));
            // Over two keepalives and more.
            tokio::time::sleep(Duration::from_secs(15)).await;
            assert_eq!(campaign.leadership().map(|leads| leads.id()), Some(tenure), "member {number}");
            heal(cluster.member_mut(number));
            cluster.settled().expect("they find each other again");
        }
    });
}

/// SAFETY 21: no phantom win: a place that went with its lease is none, and another is taken.
fn a_waiting_candidate_waits_again() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let first = campaign(&etcd.url(), "office", "first", Duration::from_secs(120));
        leads(&first).await;
        let of_first = lease_of(&etcd, "office");
        let second = campaign(&etcd.url(), "office", "second", LEASE);
        eventually("it waits", async || second.incumbent().is_some()).await;
        let places = || etcd.ctl(&["get", "--prefix", "--keys-only", "office/"]).expect("etcdctl works");
        eventually("it has a place", async || places().split_whitespace().count() == 2).await;
        let both = places();
        let mut leases = both.split_whitespace().filter_map(|key| key.rsplit('/').next());
        let of_second = leases.find(|lease| *lease != of_first).expect("there are two").to_owned();
        etcd.ctl(&["lease", "revoke", &of_second]).expect("etcdctl works");
        eventually("it has another place", async || {
            let places = places();
            places.split_whitespace().count() == 2 && !places.contains(&of_second)
        })
        .await;
        assert!(first.is_leader() && !second.is_leader());
        first.stop().await.expect("it is given up");
        leads(&second).await;
    });
}
