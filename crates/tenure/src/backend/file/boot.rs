//! Which boot of the machine this is.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use crate::{BootClock, Clock};

/// The kernel's random id of this boot; empty where it tells none.
pub(super) fn id() -> Arc<str> {
    static ID: OnceLock<Arc<str>> = OnceLock::new();
    ID.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().into()
    })
    .clone()
}

/// When the machine was started, by its wall clock as that is now.
pub(super) fn began() -> SystemTime {
    let up = Duration::from_nanos(BootClock.now().as_nanos());
    SystemTime::now().checked_sub(up).unwrap_or(SystemTime::UNIX_EPOCH)
}
