//! Set-ups that cannot work get a sentence that says what to change.

use tenure::{Backend, Error, ErrorKind, Seat};
use tenure_etcd::{EtcdBackend, Secret, Tls};
use testbed::certificates::Authority;
use testbed::etcd::{Cluster, Etcd, Release};

use crate::scene::{Test, backend, run};

pub(crate) const TESTS: &[Test] = &[
    ("setups::a_cluster_without_a_majority_says_so", a_cluster_without_a_majority_says_so),
    ("setups::a_role_on_another_prefix_is_told_what_to_grant", a_role_on_another_prefix_is_told_what_to_grant),
    ("setups::a_wrong_password_or_none_is_told", a_wrong_password_or_none_is_told),
    ("setups::a_watch_is_set_up_with_the_login_of_now", a_watch_is_set_up_with_the_login_of_now),
    ("setups::a_user_where_there_are_none_is_told", a_user_where_there_are_none_is_told),
    ("setups::certificates_that_are_not_good_are_told_apart", certificates_that_are_not_good_are_told_apart),
    ("setups::nobody_there_is_told", nobody_there_is_told),
];

fn seat() -> Seat {
    Seat::new("nightly").expect("it is a name")
}

async fn refused(backend: &EtcdBackend) -> Error {
    backend.inspect(&seat()).await.expect_err("it cannot work")
}

#[track_caller]
fn says(error: &Error, words: &str) {
    assert!(error.to_string().contains(words), "`{error}` does not say `{words}`");
}

fn a_cluster_without_a_majority_says_so() {
    let mut cluster = Cluster::start(Etcd::with()).expect("etcd starts");
    let url = cluster.url_at(&[cluster.member(0).address()]);
    cluster.member_mut(1).kill();
    cluster.member_mut(2).kill();
    run(async {
        let backend = backend(&url);
        let mut error = refused(&backend).await;
        // Before its members miss each other for a second or two, it only does not answer.
        for _ in 0..20 {
            if error.to_string().contains("no leader") {
                break;
            }
            error = refused(&backend).await;
        }
        says(&error, "fewer than half of the members reach one another");
        assert!(error.is_transient());
    });
}

fn a_role_on_another_prefix_is_told_what_to_grant() {
    let mut etcd = Etcd::start().expect("etcd starts");
    etcd.admit_only("candidate", "s3cret", "other/").expect("users can be switched on");
    run(async {
        let url = format!("etcd://candidate:s3cret@{}/services", etcd.address());
        let error = refused(&backend(&url)).await;
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(!error.is_transient());
        says(&error, "the user candidate may not do this");
        says(&error, "etcdctl role grant-permission");
        let allowed = backend(&format!("etcd://candidate:s3cret@{}/other", etcd.address()));
        allowed.inspect(&seat()).await.expect("that prefix is its own");
        // A revoked role is noticed, and one that is given back works again.
        etcd.revoke().expect("etcdctl works");
        assert_eq!(refused(&allowed).await.kind(), ErrorKind::Denied);
        etcd.reinstate().expect("etcdctl works");
        allowed.inspect(&seat()).await.expect("it may again");
    });
}

fn a_wrong_password_or_none_is_told() {
    let mut etcd = Etcd::start().expect("etcd starts");
    etcd.admit_only("candidate", "s3cret", "services/").expect("users can be switched on");
    run(async {
        let with = |user: &str| backend(&format!("etcd://{user}{}/services", etcd.address()));
        let wrong = refused(&with("candidate:wrong@")).await;
        says(&wrong, "does not accept the password of the user candidate");
        assert!(!wrong.to_string().contains("wrong@") && wrong.kind() == ErrorKind::Denied);
        says(&refused(&with("")).await, "wants a user and a password");
        // A password is read anew: a token that is no longer good is replaced without anybody's help.
        let file = etcd.place().folder().join("password");
        std::fs::write(&file, "s3cret\n").expect("it can be written");
        let builder = EtcdBackend::builder([etcd.address().to_string()]).prefix("services");
        let backend = builder.user("candidate", Secret::file(&file)).build().expect("it is safe");
        backend.inspect(&seat()).await.expect("it may");
        etcd.ctl(&["auth", "disable"]).expect("etcdctl works");
        etcd.ctl(&["user", "delete", "candidate"]).expect("etcdctl works");
        etcd.ctl(&["user", "add", "candidate:new"]).expect("etcdctl works");
        etcd.ctl(&["user", "grant-role", "candidate", "elector"]).expect("etcdctl works");
        etcd.ctl(&["auth", "enable"]).expect("etcdctl works");
        std::fs::write(&file, "new\n").expect("it can be written");
        backend.inspect(&seat()).await.expect("it logs in again, with the new password");
    });
}

/// The stream of watches keeps the token that it began with, and any change to users or roles makes that one old.
fn a_watch_is_set_up_with_the_login_of_now() {
    let mut etcd = Etcd::with().signed_tokens().start().expect("etcd starts");
    etcd.admit_only("candidate", "s3cret", "services/").expect("users can be switched on");
    run(async {
        let backend = backend(&format!("etcd://candidate:s3cret@{}/services", etcd.address()));
        let _first = backend.watch(&seat(), None).await.expect("it may");
        etcd.ctl(&["role", "add", "unrelated"]).expect("etcdctl works");
        let mut refusals = Vec::new();
        for _ in 0..5 {
            match backend.watch(&seat(), None).await {
                Ok(_) => return,
                Err(error) => refusals.push(error),
            }
        }
        panic!("it may, and is refused for ever: {refusals:?}");
    });
}

fn a_user_where_there_are_none_is_told() {
    let etcd = Etcd::start().expect("etcd starts");
    run(async {
        let error = refused(&backend(&format!("etcd://ada:pw@{}", etcd.address()))).await;
        says(&error, "has no users switched on");
    });
}

fn certificates_that_are_not_good_are_told_apart() {
    let authority = Authority::new().expect("certificates can be made");
    let made = |certificate: Result<_, _>| certificate.expect("certificates can be made");
    let start = |server| {
        let settings = Etcd::with().tls(server, authority.certificate());
        settings.client_certificates(made(authority.client("root"))).start().expect("etcd starts")
    };
    let etcd = start(made(authority.server("server")));
    let (good, late) = (made(authority.client("good")), made(authority.expired_client("late")));
    run(async {
        let with = |tls: Tls| EtcdBackend::builder([etcd.address().to_string()]).tls(tls).build().expect("it is safe");
        let trusting = || Tls::new().authority(authority.certificate());
        let fine = with(trusting().identity(&good.certificate, &good.key));
        fine.inspect(&seat()).await.expect("everything is good");
        let other = Authority::new().expect("certificates can be made");
        let stranger = with(Tls::new().authority(other.certificate()).identity(&good.certificate, &good.key));
        says(&refused(&stranger).await, "name its authority by ca=FILE");
        says(&refused(&with(trusting())).await, "client certificate");
        let expired = refused(&with(trusting().identity(&late.certificate, &late.key))).await;
        says(&expired, "our certificate");
        let plain = EtcdBackend::builder([etcd.address().to_string()]).build().expect("it is safe");
        assert!(refused(&plain).await.is_transient());
    });
    drop(etcd);
    // etcd itself is started with a certificate whose time is over.
    let server = made(authority.expired_server("old"));
    let etcd = start(server);
    run(async {
        let tls = Tls::new().authority(authority.certificate()).identity(&good.certificate, &good.key);
        let backend = EtcdBackend::builder([etcd.address().to_string()]).tls(tls).build().expect("it is safe");
        says(&refused(&backend).await, "has expired");
        let unsecured = Etcd::start().expect("etcd starts");
        let tls = Tls::new().authority(authority.certificate());
        let backend = EtcdBackend::builder([unsecured.address().to_string()]).tls(tls).build().expect("it is safe");
        says(&refused(&backend).await, "write etcd:// if that is meant");
    });
}

fn nobody_there_is_told() {
    run(async {
        // A port that nobody listens on.
        let error = refused(&backend("etcd://127.0.0.1:1")).await;
        says(&error, "127.0.0.1:1 cannot be reached");
        assert!(error.is_transient() && !error.is_indeterminate());
    });
}

/// SAFETY 8: such a server may call a lease extended that it has revoked.
pub(crate) fn flawed_release() {
    let etcd = Etcd::with().release(Release::Flawed).start().expect("etcd starts");
    run(async {
        let error = refused(&backend(&etcd.url())).await;
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        says(&error, "upgrade it to");
    });
}
