//! The models of Redlock's token.

use super::{Depth, Entry, Kind};
use crate::redlock::{RISING, UNDER_LOCK, UNIQUE, Variant};

/// The protocol, and each variant with what it breaks.
const VARIANTS: &[(Variant, &[&str])] = &[
    (Variant::SOUND, &[]),
    (Variant::ONE_MASTER, &[UNIQUE, RISING, UNDER_LOCK]),
    (Variant::FIRST_ROUND, &[UNIQUE, RISING, UNDER_LOCK]),
    (Variant::NOT_LOCKED, &[UNDER_LOCK]),
    (Variant::NOT_BELOW, &[UNIQUE]),
    (Variant::NOT_BELOW_ONCE, &[]),
    (Variant::UNCONDITIONAL, &[UNIQUE, UNDER_LOCK]),
    (Variant::UNUSED, &[]),
    (Variant::UNUSED_NOT_BELOW, &[UNIQUE]),
    (Variant::STALE_NONCE, &[UNDER_LOCK]),
    (Variant::STALE_NONCE_NOT_BELOW, &[UNIQUE, UNDER_LOCK]),
    (Variant::FORGETFUL, &[UNIQUE, RISING]),
];

pub(super) fn all(depth: Depth) -> Vec<Entry> {
    let entry = |variant: Variant, breaks: &[&'static str], masters, attempts| Entry {
        name: variant.name,
        about: variant.about,
        breaks: breaks.to_vec(),
        kind: Kind::Redlock { variant, masters, attempts },
    };
    let mut entries: Vec<Entry> = VARIANTS.iter().map(|(variant, breaks)| entry(*variant, breaks, 3, 2)).collect();
    if depth == Depth::Deep {
        entries.push(entry(Variant::THREE_ATTEMPTS, &[], 3, 3));
        entries.push(entry(Variant::FIVE_MASTERS, &[], 5, 2));
    }
    entries
}
