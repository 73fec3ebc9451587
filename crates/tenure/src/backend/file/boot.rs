//! Which boot of the machine this is.

use std::sync::{Arc, OnceLock};

/// The kernel's random id of this boot; empty where it tells none.
pub(super) fn id() -> Arc<str> {
    static ID: OnceLock<Arc<str>> = OnceLock::new();
    ID.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().into()
    })
    .clone()
}
