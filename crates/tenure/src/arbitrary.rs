//! Values of any size for property tests: ordinary ones, the edges, and absurd ones.

use std::time::Duration;

use proptest::prelude::*;

/// So many cases, unless `PROPTEST_CASES` says otherwise; proptest prints and shrinks one that fails.
pub(crate) fn runs(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    // Where only what is accepted counts, most of what is absurd is refused.
    ProptestConfig { cases, failure_persistence: None, max_global_rejects: 1_000_000, ..ProptestConfig::default() }
}

/// Any number, with every length equally likely: half of what `any::<u64>()` gives has 64 bits.
pub(crate) fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift),
        1 => prop::sample::select(vec![0, 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX]),
    ]
}

/// Any duration that there is.
pub(crate) fn spans() -> impl Strategy<Value = Duration> {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    const NANO: Duration = Duration::from_nanos(1);
    prop_oneof![
        8 => numbers().prop_map(Duration::from_nanos),
        2 => (numbers(), 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos)),
        1 => prop::sample::select(vec![
            Duration::ZERO,
            NANO,
            Duration::from_millis(10),
            Duration::from_millis(10) - NANO,
            DAY,
            DAY + NANO,
            // What no longer fits into 64 bits of nanoseconds, by one.
            Duration::from_nanos(u64::MAX) + NANO,
            Duration::MAX,
        ]),
    ]
}
