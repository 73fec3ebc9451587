//! What is promised is what the server shows, else what was declared, else the least.

use std::time::Duration;

use tenure::{Backend, Election, ErrorKind, ForeignPeers, Promise};
use tenure_redis::Secret;
use testbed::Trials;
use testbed::redis::{Cluster, Fsync, Redis, Sentinels, missing};

use crate::stores::{CANDIDATE, eventually};
use crate::tools::{LEASE, attempt, backend, bid, block_on, plain};

pub(crate) fn tests(trials: Trials) -> Trials {
    trials
        .needing(missing(), "a_server_that_loses_nothing_is_fenced", a_server_that_loses_nothing_is_fenced)
        .needing(missing(), "a_server_that_forgets_is_best_effort_and_says_why", a_server_that_forgets_is_best_effort)
        .needing(missing(), "a_server_that_hides_its_settings_is_what_was_declared", a_server_that_hides_its_settings)
        .needing(missing(), "a_seat_shared_with_lockers_is_never_fenced", a_seat_shared_with_lockers_is_never_fenced)
        .needing(missing(), "servers_that_take_over_from_each_other_are_best_effort", replicas_are_best_effort)
        .needing(missing(), "a_server_that_took_over_is_best_effort", a_server_that_took_over_is_best_effort)
        .needing(missing(), "a_server_that_comes_to_show_less_is_refused", a_server_that_comes_to_show_less)
}

fn a_server_that_loses_nothing_is_fenced() {
    let redis = Redis::with().append_only(Fsync::Always).start().unwrap();
    block_on(async {
        let backend = plain(&redis.url());
        assert_eq!(backend.traits().promise, Promise::BestEffort, "nothing is known yet");
        let examined = backend.examine().await.unwrap();
        assert_eq!((examined.promise, examined.reasons.len()), (Promise::Fenced, 0), "{examined}");
        assert!(examined.server.starts_with("Redis 7"), "{examined}");
        assert_eq!(backend.traits().promise, Promise::Fenced);
        let candidate = Election::new(backend, "office").unwrap().candidate("one").require(Promise::Fenced).build();
        assert!(candidate.is_ok(), "{candidate:?}");
    });
}

fn a_server_that_forgets_is_best_effort() {
    let forgetful = Redis::start().unwrap();
    let hasty = Redis::with().append_only(Fsync::EverySecond).start().unwrap();
    // While a child saves, such a server syncs nothing at all.
    let lazy = Redis::with().append_only(Fsync::Always).line("no-appendfsync-on-rewrite yes").start().unwrap();
    block_on(async {
        let weak = [
            (&forgetful, "set appendonly yes"),
            (&hasty, "appendfsync everysec"),
            (&lazy, "set no-appendfsync-on-rewrite no"),
        ];
        for (redis, reason) in weak {
            let backend = plain(&redis.url());
            let examined = backend.examine().await.unwrap();
            assert_eq!(examined.promise, Promise::BestEffort);
            assert!(examined.to_string().contains(reason), "{examined}");
            let candidate =
                Election::new(backend, "office").unwrap().candidate("one").require(Promise::LeaseOnly).build();
            assert_eq!(candidate.expect_err("it is required").kind(), ErrorKind::PromiseTooWeak);
        }
    });
}

fn a_server_that_hides_its_settings() {
    let redis = Redis::with().append_only(Fsync::Always).user("ada", "s3cret", CANDIDATE).users_only().start().unwrap();
    block_on(async {
        let enter = |declared: Option<Promise>| {
            backend(&redis.url(), |builder| {
                let builder = builder.username("ada").password(Secret::text("s3cret"));
                declared.into_iter().fold(builder, |builder, promise| builder.declare(promise))
            })
        };
        let examined = enter(None).examine().await.unwrap();
        assert_eq!(examined.promise, Promise::BestEffort);
        assert!(examined.to_string().contains("cannot be seen"), "{examined}");
        let declared = enter(Some(Promise::Fenced));
        assert_eq!(declared.traits().promise, Promise::Fenced);
        assert_eq!(declared.examine().await.unwrap().promise, Promise::Fenced);
    });
}

fn a_seat_shared_with_lockers_is_never_fenced() {
    let redis = Redis::with().append_only(Fsync::Always).start().unwrap();
    block_on(async {
        let shared = plain(&format!("{}?peers=lockers", redis.url()));
        assert_eq!(shared.examine().await.unwrap().promise, Promise::LeaseOnly);
        assert_eq!(shared.traits().promise, Promise::LeaseOnly);
        // SAFETY 14: whoever wins settles.
        assert_eq!(shared.traits().peers, Some(ForeignPeers::MayLinger));
    });
}

fn replicas_are_best_effort() {
    let group = Sentinels::with(1, Redis::with().append_only(Fsync::Always)).unwrap();
    let cluster = Cluster::with(Redis::with().append_only(Fsync::Always)).unwrap();
    block_on(async {
        let watched = plain(&format!("redis+sentinel://{}/{}", group.addresses()[0], group.name()));
        let examined = watched.examine().await.unwrap();
        assert_eq!(examined.promise, Promise::BestEffort);
        assert!(examined.to_string().contains("replication is asynchronous"), "{examined}");
        let replicated = plain(&group.servers[0].url());
        assert_eq!(replicated.examine().await.unwrap().promise, Promise::BestEffort, "by address it is no better");
        let alone = plain(&format!("redis+cluster://{}", cluster.nodes[0].address()));
        assert_eq!(alone.examine().await.unwrap().promise, Promise::Fenced, "nobody can take over there");
        assert!(!alone.traits().store_skew.is_zero());
    });
}

/// It has no replicas now, and yet what its predecessor acknowledged last is lost.
fn a_server_that_took_over_is_best_effort() {
    let old = Redis::with().append_only(Fsync::Always).start().unwrap();
    let new = Redis::with().append_only(Fsync::Always).start().unwrap();
    new.ask(&["REPLICAOF", "127.0.0.1", &old.address().port().to_string()]).unwrap();
    let follows = || matches!(new.ask(&["ROLE"]), Ok(role) if format!("{role:?}").contains("\"connected\""));
    eventually(Duration::from_secs(60), "it follows", follows).unwrap();
    new.ask(&["REPLICAOF", "NO", "ONE"]).unwrap();
    block_on(async {
        let examined = plain(&new.url()).examine().await.unwrap();
        assert_eq!(examined.promise, Promise::BestEffort);
        assert!(examined.to_string().contains("took over from another server"), "{examined}");
    });
}

fn a_server_that_comes_to_show_less() {
    let redis = Redis::with().append_only(Fsync::Always).start().unwrap();
    block_on(async {
        let backend = plain(&redis.url());
        backend.examine().await.unwrap();
        redis.ask(&["CONFIG", "SET", "appendfsync", "no"]).unwrap();
        let error = backend.stand(&bid(&backend, LEASE), attempt()).await.expect_err("fenced was promised");
        assert_eq!(error.kind(), ErrorKind::PromiseTooWeak, "{error}");
        redis.ask(&["CONFIG", "SET", "appendfsync", "always"]).unwrap();
        backend.stand(&bid(&backend, LEASE), attempt()).await.expect("it is kept again");
    });
}
