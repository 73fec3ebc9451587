//! etcd of every kind, on the real server.

use std::time::{Duration, Instant};

use testbed::Trials;
use testbed::certificates::Authority;
use testbed::etcd::{Cluster, Etcd, missing};

fn main() {
    Trials::new()
        .at_once(2)
        .needing(missing(), "a_member_remembers_over_a_kill_and_forgets_when_it_is_made_anew", remembers)
        .needing(missing(), "a_member_with_certificates_answers_its_administrator", secured)
        .needing(missing(), "a_user_may_write_below_its_prefix_alone", users)
        .needing(missing(), "a_leader_that_is_cut_off_is_replaced_and_comes_back", cut_off)
        .main()
}

fn remembers() {
    let mut etcd = Etcd::start().expect("etcd starts");
    let id = |etcd: &Etcd| {
        let fields = etcd.ctl(&["get", "key", "-w", "fields"]).expect("etcdctl works");
        fields.lines().find_map(|line| line.strip_prefix("\"ClusterID\" : ")).map(str::to_owned).expect("it has one")
    };
    etcd.ctl(&["put", "key", "value"]).expect("etcdctl works");
    let before = id(&etcd);
    etcd.kill();
    etcd.restart().expect("it starts again");
    assert_eq!(etcd.ctl(&["get", "key", "--print-value-only"]).expect("etcdctl works"), "value");
    assert_eq!(id(&etcd), before);
    etcd.renew().expect("it is made anew");
    assert_eq!(etcd.ctl(&["get", "key", "--print-value-only"]).expect("etcdctl works"), "");
    assert_ne!(id(&etcd), before, "it is another cluster");
}

fn secured() {
    let authority = Authority::new().expect("certificates can be made");
    let server = authority.server("server").expect("certificates can be made");
    let root = authority.client("root").expect("certificates can be made");
    let etcd =
        Etcd::with().tls(server, authority.certificate()).client_certificates(root).start().expect("etcd starts");
    assert!(etcd.url().starts_with("etcds://"));
    etcd.ctl(&["put", "key", "value"]).expect("the administrator has a certificate");
}

fn users() {
    let mut etcd = Etcd::start().expect("etcd starts");
    etcd.admit_only("ada", "s3cret", "services/").expect("users can be switched on");
    etcd.ctl(&["put", "anywhere", "value"]).expect("root may");
    let by_ada = |key: &str| etcd.ctl(&["--user", "ada:s3cret", "put", key, "value"]);
    by_ada("services/x").expect("it is below its prefix");
    by_ada("elsewhere").expect_err("it is not");
    etcd.revoke().expect("etcdctl works");
    by_ada("services/x").expect_err("its role was taken away");
    etcd.reinstate().expect("etcdctl works");
    by_ada("services/x").expect("it has it again");
}

fn cut_off() {
    let cluster = Cluster::start(Etcd::with()).expect("etcd starts");
    let leader = cluster.leader().expect("somebody leads");
    cluster.cut_off(leader);
    let start = Instant::now();
    let others: Vec<_> = (0..Cluster::SIZE).filter(|number| *number != leader).collect();
    let alone = cluster.member(leader);
    // The majority goes on, and the one that is alone does not.
    while cluster.member(others[0]).ctl(&["put", "key", "from the majority"]).is_err() {
        assert!(start.elapsed() < Duration::from_secs(60), "the majority has no leader");
    }
    alone.ctl(&["put", "key", "from one that is alone", "--command-timeout=2s"]).expect_err("it has no majority");
    let seen = alone.ctl(&["get", "key", "--print-value-only", "--consistency=s"]).expect("clients reach it");
    assert_eq!(seen, "", "it was told of nothing");
    cluster.rejoin();
    cluster.settled().expect("they find each other again");
    assert_eq!(alone.ctl(&["get", "key", "--print-value-only"]).expect("etcdctl works"), "from the majority");
}
