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

/// Something done to bytes that were right.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    Flip {
        at: prop::sample::Index,
        bit: u8,
    },
    Cut {
        at: prop::sample::Index,
    },
    Drop {
        at: prop::sample::Index,
        length: usize,
    },
    Put {
        at: prop::sample::Index,
        bytes: Vec<u8>,
    },
    /// What a sector that was never written reads as, or a text that was blanked.
    Fill {
        at: prop::sample::Index,
        length: usize,
        with: u8,
    },
}

impl Damage {
    pub(crate) fn any() -> impl Strategy<Value = Damage> {
        let at = any::<prop::sample::Index>;
        let with = prop::sample::select(vec![0, b' ', b'0', b'"', 0xff]);
        prop_oneof![
            (at(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip { at, bit }),
            at().prop_map(|at| Damage::Cut { at }),
            (at(), 1..40_usize).prop_map(|(at, length)| Damage::Drop { at, length }),
            (at(), prop::collection::vec(any::<u8>(), 1..4)).prop_map(|(at, bytes)| Damage::Put { at, bytes }),
            (at(), 1..600_usize, with).prop_map(|(at, length, with)| Damage::Fill { at, length, with }),
        ]
    }

    pub(crate) fn done_to(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let size = bytes.len();
        match self {
            Damage::Flip { at, bit } => bytes[at.index(size)] ^= 1 << bit,
            Damage::Cut { at } => bytes.truncate(at.index(size)),
            Damage::Drop { at, length } => drop(bytes.drain(at.index(size)..(at.index(size) + length).min(size))),
            Damage::Put { at, bytes: new } => drop(bytes.splice(at.index(size)..at.index(size), new.iter().copied())),
            Damage::Fill { at, length, with } => {
                bytes[at.index(size)..].iter_mut().take(*length).for_each(|b| *b = *with)
            }
        }
    }
}
