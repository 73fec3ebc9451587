//! Wall-clock time for people and logs; nothing is decided by it (SAFETY 3).

use std::time::SystemTime;

use jiff::Timestamp;

/// RFC 3339, in UTC, to the millisecond: `2026-03-01T04:05:06.789Z`.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let stamp = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{stamp:.3}")
}

pub(crate) fn now() -> String {
    rfc3339(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn times_are_in_utc_to_the_millisecond() {
        let time = UNIX_EPOCH + Duration::from_micros(1_709_251_199_123_456);
        assert_eq!(rfc3339(time), "2024-02-29T23:59:59.123Z");
    }
}
