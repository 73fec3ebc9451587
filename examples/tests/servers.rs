//! The examples that need a server, on a real one.

mod program;

use program::said_with;
use testbed::Trials;
use testbed::etcd::{self, Etcd};
use testbed::redis::{Redis, missing};

fn main() {
    Trials::new()
        .needing(missing(), "redis_pattern_tries_resigns_and_hears_of_changes", redis_pattern_tries_and_resigns)
        .needing(etcd::missing(), "etcd_hands_over_from_one_to_the_next", etcd_hands_over_from_one_to_the_next)
        .main()
}

/// SEEDS leader-election-pattern: try, is, resign, on change.
fn redis_pattern_tries_and_resigns() {
    let redis = Redis::start().expect("Redis starts");
    let said = said_with("redis-pattern", &[("REDIS_URL", &redis.url())]);
    assert!(said.contains("node-1 is leader: true"), "{said}");
    assert!(said.contains("node-2 tries: another leads"), "{said}");
    assert!(said.contains("node-1 hears: not leader, resigned"), "{said}");
    assert!(said.contains("node-2 tries: it leads with token"), "{said}");
    assert!(said.contains("node-1 hears: not leader, stopped"), "{said}");
    assert_eq!(said.matches("node-1 hears: leader, token ").count(), 2, "{said}");
}

fn etcd_hands_over_from_one_to_the_next() {
    let etcd = Etcd::start().expect("etcd starts");
    let said = said_with("etcd", &[("ETCD_URL", &format!("{}/example", etcd.url()))]);
    for name in ["ada", "bob", "eve"] {
        assert!(said.contains(&format!("{name} leads with token")), "{said}");
        assert!(said.contains(&format!("everybody sees {name} at {name}.example:80")), "{said}");
    }
}
