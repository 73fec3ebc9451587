//! SEEDS 58: etcd: TLS; compare by revision; who holds it; an event when the holder changes.

use std::time::Duration;

use tenure::{Backend, Election};
use testbed::certificates::Authority;
use testbed::etcd::Etcd;

use crate::rules::Contender;
use crate::scene::{Test, backend, campaign, eventually, leads, run};

pub(crate) const TESTS: &[Test] = &[
    ("seeds::a_holder_over_tls_is_seen_and_its_change_is_told", a_holder_over_tls_is_seen_and_its_change_is_told),
    ("seeds::the_token_is_the_create_revision_of_the_key", the_token_is_the_create_revision_of_the_key),
    ("seeds::a_record_that_was_written_since_is_not_removed_by_its_old_revision", compared_by_revision),
];

const LEASE: Duration = Duration::from_secs(10);

/// SEEDS 58: the lock over TLS, who holds it, and the event.
fn a_holder_over_tls_is_seen_and_its_change_is_told() {
    let authority = Authority::new().expect("certificates can be made");
    let server = authority.server("server").expect("certificates can be made");
    let etcd = Etcd::with().tls(server, authority.certificate()).start().expect("etcd starts");
    let url = format!("{}/x?ca={}", etcd.url(), authority.certificate().display());
    run(async {
        let observer = Election::new(backend(&url), "nightly").expect("it is a name");
        let mut seen = observer.observe().expect("it can be observed");
        let first = campaign(&url, "nightly", "first", LEASE);
        let token = leads(&first).await.token();
        let second = campaign(&url, "nightly", "second", LEASE);
        let mut tokens = Vec::new();
        let mut next = async |name: &str| {
            loop {
                let told = tokio::time::timeout(crate::scene::PATIENCE, seen.next()).await;
                let told = told.expect("a change is told").expect("the stream goes on");
                if let Some(incumbent) = told.filter(|incumbent| incumbent.name() == name) {
                    tokens.push(incumbent.token());
                    return;
                }
            }
        };
        next("first").await;
        eventually("the second waits", async || second.incumbent().is_some_and(|holder| holder.name() == "first"))
            .await;
        first.stop().await.expect("it is given up");
        next("second").await;
        let second = leads(&second).await.token();
        assert_eq!(tokens, [token, second]);
        assert!(second > token);
    });
}

/// SAFETY 18, the token table.
fn the_token_is_the_create_revision_of_the_key() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let first = campaign(&etcd.url(), "nightly", "first", LEASE);
        let token = leads(&first).await.token().expect("etcd has tokens");
        let fields = etcd.ctl(&["get", "--prefix", "nightly/", "-w", "fields"]).expect("etcdctl works");
        assert!(fields.contains(&format!("\"CreateRevision\" : {token}")), "{fields}");
        // Asking the holder writes to its key, and gives it no other token.
        let election = Election::new(backend(&etcd.url()), "nightly").expect("it is a name");
        let before = election.incumbent().await.expect("it can be seen").expect("somebody leads");
        assert!(election.ask_to_resign().await.expect("it can be asked"));
        assert_eq!(before.token(), Some(token));
    });
}

/// SEEDS 58: compare by revision: whoever gives up late leaves alone what another has written since.
fn compared_by_revision() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let one = Contender::new(&etcd.url());
        let bid = one.bid("nightly", 1);
        one.wins(&bid).await;
        // Somebody else takes the key over, under a lease of its own.
        let key = etcd.ctl(&["get", "--prefix", "--keys-only", "nightly/"]).expect("etcdctl works");
        let granted = etcd.ctl(&["lease", "grant", "30"]).expect("etcdctl works");
        let lease = granted.split_whitespace().nth(1).expect("it is named");
        etcd.ctl(&["put", key.trim(), "another", &format!("--lease={lease}")]).expect("etcdctl works");
        one.backend.withdraw(&bid).await.expect("etcd answers");
        let left = etcd.ctl(&["get", "--prefix", "nightly/", "--print-value-only"]).expect("etcdctl works");
        assert_eq!(left, "another", "what another wrote was removed");
    });
}
