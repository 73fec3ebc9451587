//! A bad set-up gets a sentence that says what to change, and nothing is written.

use tenure::{Backend, ErrorKind, Promise};
use tenure_redis::Secret;
use testbed::Trials;
use testbed::certificates::Authority;
use testbed::redis::{Cluster, Redis, Sentinels, Tls, missing};

use crate::stores::CANDIDATE;
use crate::tools::{LEASE, attempt, backend, bid, block_on, plain, refused, seat, wins};

pub(crate) fn tests(trials: Trials) -> Trials {
    trials
        .needing(missing(), "a_wrong_password_is_called_one", a_wrong_password_is_called_one)
        .needing(missing(), "a_password_is_taken_up_anew_from_its_file", a_password_is_taken_up_anew_from_its_file)
        .needing(missing(), "every_right_of_the_rule_is_needed_and_named", every_right_of_the_rule_is_needed_and_named)
        .needing(missing(), "a_replica_is_refused", a_replica_is_refused)
        .needing(missing(), "an_evicting_server_is_refused_unless_accepted", an_evicting_server_is_refused)
        .needing(missing(), "fenced_without_persistence_is_refused", fenced_without_persistence_is_refused)
        .needing(missing(), "a_server_of_a_cluster_is_no_single_one_and_the_other_way_round", cluster_or_not)
        .needing(missing(), "a_certificate_that_is_not_trusted_is_refused", certificates_are_checked)
        .needing(missing(), "certificates_are_taken_up_anew_from_their_files", certificates_are_reloaded)
        .needing(missing(), "sentinels_that_know_no_such_primary_are_named", sentinels_that_know_no_such_primary)
        .needing(missing(), "a_key_of_another_kind_is_neither_free_nor_overwritten", a_key_of_another_kind)
        .needing(missing(), "a_server_that_repeats_a_password_is_not_quoted", a_server_that_repeats_a_password)
        .needing(missing(), "a_server_with_too_many_clients_is_worth_another_try", a_server_with_too_many_clients)
        .test("a_server_that_is_not_there_is_worth_another_try", a_server_that_is_not_there)
}

#[track_caller]
fn assert_denied(error: &tenure::Error, words: &str) {
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    assert!(error.to_string().contains(words), "it has to say {words:?}: {error}");
}

fn a_wrong_password_is_called_one() {
    let redis = Redis::with().user("ada", "s3cret", CANDIDATE).users_only().start().unwrap();
    block_on(async {
        let wrong = backend(&redis.url(), |builder| builder.username("ada").password(Secret::text("s3cre")));
        let error = refused(&wrong).await;
        assert_denied(&error, "does not accept the user and password");
        assert!(!error.is_transient() && !error.to_string().contains("s3cre;"), "{error}");
        assert_denied(&refused(&plain(&redis.url())).await, "wants a password");
        let revoked = backend(&redis.url(), |builder| builder.username("ada").password(Secret::text("s3cret")));
        let bid = bid(&revoked, LEASE);
        wins(&revoked, &bid).await;
        redis.revoke("ada").unwrap();
        let lost = revoked.withdraw(&bid).await.expect_err("it has no rights");
        assert!(lost.is_transient() || lost.kind() == ErrorKind::Denied, "{lost:?}");
        assert_denied(&revoked.withdraw(&bid).await.expect_err("nor later"), "does not accept");
        redis.reinstate("ada").unwrap();
        revoked.withdraw(&bid).await.expect("it has them again");
    });
}

fn a_password_is_taken_up_anew_from_its_file() {
    let redis = Redis::with().user("ada", "old", CANDIDATE).users_only().start().unwrap();
    let file = redis.place().folder().join("password");
    std::fs::write(&file, "old\n").unwrap();
    block_on(async {
        let backend = backend(&redis.url(), |builder| builder.username("ada").password(Secret::file(&file)));
        wins(&backend, &bid(&backend, LEASE)).await;
        redis.ask(&["ACL", "SETUSER", "ada", "resetpass", ">new"]).unwrap();
        redis.ask(&["CLIENT", "KILL", "USER", "ada"]).unwrap();
        assert!(backend.inspect(&seat()).await.is_err());
        assert_denied(&backend.inspect(&seat()).await.expect_err("it is the old one"), "does not accept");
        std::fs::write(&file, "new\n").unwrap();
        assert!(backend.inspect(&seat()).await.expect("it is the new one").held().is_some());
    });
}

/// Least privilege: with the rule of the page everything works, and without any part of it something does not, and is named.
fn every_right_of_the_rule_is_needed_and_named() {
    let redis = Redis::with().user("ada", "s3cret", CANDIDATE).users_only().start().unwrap();
    let enter = || backend(&redis.url(), |builder| builder.username("ada").password(Secret::text("s3cret")));
    let all = async |candidate: &tenure_redis::RedisBackend| -> Result<(), tenure::Error> {
        let bid = bid(candidate, LEASE);
        drop(candidate.watch(&seat(), Some(&bid)).await?);
        let tenure::backend::Standing::Elected(grant) = candidate.stand(&bid, attempt()).await? else {
            panic!("the office is free")
        };
        candidate.renew(&bid, &grant.version, attempt()).await?;
        candidate.withdraw(&bid).await
    };
    block_on(async {
        all(&enter()).await.expect("the rule is enough");
        for command in ["eval", "get", "set", "del", "time", "publish", "subscribe"] {
            redis.ask(&["SCRIPT", "FLUSH"]).unwrap();
            redis.ask(&["ACL", "SETUSER", "ada", &format!("-{command}")]).unwrap();
            let error = all(&enter()).await.expect_err(command);
            assert!(error.to_string().to_lowercase().contains(command), "it has to name {command}: {error}");
            assert_denied(&error, "Least privilege");
            redis.ask(&["DEL", "tenure:office"]).unwrap();
            redis.ask(&["ACL", "SETUSER", "ada", &format!("+{command}")]).unwrap();
        }
        let other =
            backend(&redis.url(), |builder| builder.username("ada").password(Secret::text("s3cret")).prefix("other:"));
        assert_denied(&refused(&other).await, "Least privilege");
    });
}

fn a_replica_is_refused() {
    let group = Sentinels::start(1).unwrap();
    block_on(async {
        let backend = plain(&group.servers[1].url());
        let error = refused(&backend).await;
        assert_denied(&error, "is a replica; name its primary");
        assert_denied(&backend.inspect(&seat()).await.expect_err("a replica answers the past"), "is a replica");
    });
}

fn an_evicting_server_is_refused() {
    let redis = Redis::with().eviction("allkeys-lru").line("maxmemory 100mb").start().unwrap();
    block_on(async {
        let error = refused(&plain(&redis.url())).await;
        assert_denied(&error, "maxmemory-policy allkeys-lru");
        assert_denied(&error, "eviction=accept");
        let accepting = plain(&format!("{}?eviction=accept", redis.url()));
        wins(&accepting, &bid(&accepting, LEASE)).await;
    });
}

fn fenced_without_persistence_is_refused() {
    let redis = Redis::start().unwrap();
    block_on(async {
        let declared = backend(&redis.url(), |builder| builder.declare(Promise::Fenced));
        let error = refused(&declared).await;
        assert_eq!(error.kind(), ErrorKind::PromiseTooWeak, "{error}");
        assert!(error.to_string().contains("set appendonly yes and appendfsync always"), "{error}");
    });
}

fn cluster_or_not() {
    let (cluster, one) = (Cluster::start().unwrap(), Redis::start().unwrap());
    block_on(async {
        for node in cluster.urls() {
            assert_denied(&refused(&plain(&node)).await, "use redis+cluster://");
        }
        let clustered = plain(&format!("redis+cluster://{}", one.address()));
        assert_denied(&refused(&clustered).await, "is no server of a cluster; use redis://");
    });
}

fn certificates_are_checked() {
    let (authority, stranger) = (Authority::new().unwrap(), Authority::new().unwrap());
    let tls = Tls { server: authority.server("redis").unwrap(), authority: authority.certificate(), clients_too: true };
    let redis = Redis::with().tls(tls).start().unwrap();
    let one = Redis::start().unwrap();
    let client = authority.client("ada").unwrap();
    block_on(async {
        let trusting = |file: std::path::PathBuf| backend(&redis.url(), |builder| builder.authorities(file));
        assert_denied(
            &refused(&trusting(stranger.certificate())).await,
            "is not trusted; name the file of the authority",
        );
        assert_denied(&refused(&plain(&redis.url())).await, "is not trusted");
        let named =
            backend(&redis.url(), |builder| builder.authorities(authority.certificate()).server_name("elsewhere"));
        assert_denied(&refused(&named).await, "connect by a name that stands in it");
        // Whether it is the handshake or the first word that is refused depends on the version of TLS.
        let nameless = refused(&trusting(authority.certificate())).await;
        assert!(nameless.to_string().contains("certificate") || nameless.is_transient(), "{nameless}");
        let known = backend(&redis.url(), |builder| {
            builder.authorities(authority.certificate()).client_certificate(&client.certificate, &client.key)
        });
        wins(&known, &bid(&known, LEASE)).await;
        let plaintext = refused(&plain(&redis.url().replace("rediss", "redis"))).await;
        assert!(plaintext.to_string().contains("rediss://"), "{plaintext}");
        let encrypted =
            backend(&one.url().replace("redis", "rediss"), |builder| builder.authorities(authority.certificate()));
        let deaf = refused(&encrypted).await;
        assert!(deaf.to_string().contains("does not speak TLS there, use redis://"), "{deaf}");
    });
}

fn certificates_are_reloaded() {
    let (old, new) = (Authority::new().unwrap(), Authority::new().unwrap());
    let redis = Redis::with().tls_by(&old).unwrap().start().unwrap();
    let trusted = redis.place().folder().join("trusted.pem");
    std::fs::copy(new.certificate(), &trusted).unwrap();
    block_on(async {
        let backend = backend(&redis.url(), |builder| builder.authorities(&trusted));
        assert_denied(&refused(&backend).await, "is not trusted");
        std::fs::copy(old.certificate(), &trusted).unwrap();
        wins(&backend, &bid(&backend, LEASE)).await;
    });
}

fn sentinels_that_know_no_such_primary() {
    let group = Sentinels::start(1).unwrap();
    block_on(async {
        let sentinel = group.addresses()[0];
        assert_denied(
            &refused(&plain(&format!("redis+sentinel://{sentinel}/nobody"))).await,
            "knows no primary nobody",
        );
    });
}

fn a_key_of_another_kind() {
    let redis = Redis::start().unwrap();
    block_on(async {
        let backend = plain(&redis.url());
        redis.ask(&["LPUSH", "tenure:office", "x"]).unwrap();
        let error = refused(&backend).await;
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("holds something else than a lock"), "{error}");
        redis.ask(&["DEL", "tenure:office"]).unwrap();
        redis.ask(&["SET", "{tenure:office}:token", "many"]).unwrap();
        let error = refused(&backend).await;
        assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("delete that key"), "{error}");
        redis.ask(&["DEL", "{tenure:office}:token"]).unwrap();
        redis.ask(&["SET", "tenure:office", "tenure/2 of another time"]).unwrap();
        let error = backend.stand(&bid(&backend, LEASE), attempt()).await.expect_err("it is not free");
        assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("upgrade"), "{error}");
    });
}

fn a_server_that_repeats_a_password() {
    let redis = Redis::with().password("s3cret").line("rename-command HELLO \"\"").start().unwrap();
    block_on(async {
        let error = refused(&backend(&redis.url(), |builder| builder.password(Secret::text("s3cret")))).await;
        assert_denied(&error, "knows no HELLO");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    });
}

fn a_server_with_too_many_clients() {
    let redis = Redis::with().start().unwrap();
    redis.ask(&["CONFIG", "SET", "maxclients", "1"]).unwrap();
    let _taken = std::net::TcpStream::connect(redis.address()).unwrap();
    block_on(async {
        let error = refused(&plain(&redis.url())).await;
        assert!(error.is_transient() && error.to_string().contains("raise maxclients"), "{error:?}");
    });
}

fn a_server_that_is_not_there() {
    block_on(async {
        let gone = testbed::Port::free().unwrap().address();
        let error = refused(&plain(&format!("redis://{gone}"))).await;
        assert!(error.is_transient() && error.to_string().contains("cannot be reached"), "{error:?}");
    });
}
