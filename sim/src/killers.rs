//! Which planted mutants simulation must kill, and where each shows soonest.

use crate::Family;

/// The family and the faults in which a mutant is to be looked for; `None` for one that only tests can kill.
pub fn of(mutant: &str) -> Option<(Family, &'static str)> {
    KILLERS.iter().find(|(name, ..)| *name == mutant).map(|(_, family, faults)| (*family, *faults))
}

/// Every mutant that breaks an invariant in some world. The others break no promise of safety, or one that no store model shows.
pub const KILLERS: &[(&str, Family, &str)] = &[
    ("drift-ignored", Family::Redis, "all"),
    ("grace-forgotten", Family::Redis, "all"),
    ("receipt-time-deadline", Family::Redis, "all"),
    ("no-nonce", Family::Redis, "all"),
    ("released-before-work-stopped", Family::Redis, "all"),
    ("fence-open", Family::Redis, "all"),
    ("redis-token-overtaken", Family::Redis, "all"),
    ("redis-bid-in-one-script", Family::Redis, "all"),
    ("never-settles", Family::RedisShared, "all"),
    ("skew-ignored", Family::Nats, "all"),
    ("echo-withdrawn", Family::Nats, "all"),
    ("ttl-renew-creates", Family::TtlStore, "all"),
    ("ttl-unconditional-release", Family::TtlStore, "all"),
    ("ttl-token-before-insert", Family::TtlStore, "all"),
    ("client-retries", Family::TtlStore, "deletions"),
    ("revived-tenure", Family::Etcd, "all"),
    ("overdue-win-believed", Family::Etcd, "all"),
    ("memory-late-bid-replaces", Family::Etcd, "all"),
    ("asked-not-granted", Family::ZooKeeper, "all"),
    ("lost-wake-up", Family::ZooKeeper, "all"),
    ("read-back-extends", Family::ZooKeeper, "all"),
    ("seen-token-forgotten", Family::ZooKeeper, "records"),
    ("own-lease-observed", Family::Kubernetes, "all"),
    ("observation-never-restarts", Family::Kubernetes, "all"),
    ("token-regression-ignored", Family::Kubernetes, "records"),
    ("register-term-kept", Family::Kubernetes, "all"),
    ("register-renew-creates", Family::Kubernetes, "records"),
    ("register-renews-any-version", Family::Kubernetes, "records"),
    ("register-unconditional-release", Family::Kubernetes, "all"),
    ("any-release-skips", Family::Kubernetes, "deletions"),
    ("announced-unread", Family::Kubernetes, "deletions"),
    ("short-office-vouches", Family::Kubernetes, "deletions"),
    ("foreign-not-stretched", Family::KubernetesShared, "all"),
    ("no-second-try", Family::DynamoDb, "all"),
    ("observation-always-restarts", Family::DynamoDb, "all"),
    ("register-release-forgets-term", Family::DynamoDb, "all"),
    ("register-displaces-any-version", Family::DynamoDb, "all"),
    ("register-same-write", Family::ObjectStore, "all"),
    ("send-time-observation", Family::File, "all"),
    ("reclaim-untrusted", Family::File, "all"),
    ("old-token-shown", Family::File, "all"),
];
