//! The programs. A new one is a few lines here; docs/testbed.md says how to go on.

use super::{Source, Tool};

/// Redis, with sentinel.
pub const REDIS: Tool = Tool {
    name: "redis",
    binaries: &["redis-server", "redis-sentinel"],
    version: "7.0",
    source: Source::Debian(&["redis-server", "redis-sentinel"]),
    optional: false,
};

/// All of them.
pub const ALL: &[Tool] = &[REDIS];
