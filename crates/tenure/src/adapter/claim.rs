//! What stands in a store that can only compare values.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::wall_clock;
use crate::backend::{Bid, Expiry, Held, Sight, TenureId, Version};
use crate::mutant::{Mutant, planted};

/// A user's value with the two ids that make it fresh.
///
/// A store that compares *values* cannot tell a record from a later one that looks the same, so no two writes may look the same
/// (SAFETY 10): the tenure id keeps tenures apart and the write number the writes of one tenure. A renewal of write `n` always writes
/// `n + 1`, whoever repeats it and however often, so a renewal whose outcome is unknown can be resolved by conditional writes alone.
///
/// # Contract
/// A store gives back a value that is equal to the one it was given, and compares all of it: the value, the tenure and the number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim<V> {
    value: V,
    tenure: TenureId,
    write: u64,
}

impl<V> Claim<V> {
    /// The claim with these parts, as a store reads it back.
    pub fn new(value: V, tenure: TenureId, write: u64) -> Self {
        Claim { value, tenure, write }
    }

    /// The user's value.
    pub fn value(&self) -> &V {
        &self.value
    }

    /// The user's value, to keep.
    pub fn into_value(self) -> V {
        self.value
    }

    /// The tenure it belongs to.
    pub fn tenure(&self) -> TenureId {
        self.tenure
    }

    /// The number of the write within the tenure.
    pub fn write(&self) -> u64 {
        self.write
    }

    /// Its version: no other claim, of this tenure or another, has the same.
    pub fn version(&self) -> Version {
        if planted(Mutant::TtlValueCompared) {
            return Version::text(self.tenure.to_string());
        }
        Version::text(format!("{}.{}", self.tenure, self.write))
    }

    /// What a renewal of this claim writes.
    #[must_use]
    pub fn renewed(&self) -> Self
    where
        V: Clone,
    {
        self.followed_by(self.value.clone())
    }

    /// What a write after this one writes that changes the value too.
    #[must_use]
    pub fn followed_by(&self, value: V) -> Self {
        let step = if planted(Mutant::TtlSameWrite) { 0 } else { 1 };
        Claim { value, tenure: self.tenure, write: self.write.wrapping_add(step) }
    }
}

/// Who claims an office, as [`TtlBackend`](super::TtlBackend) stores it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claimant {
    /// The candidate's name.
    pub holder: Arc<str>,
    /// What it advertises.
    pub advertise: Arc<[u8]>,
    /// When its tenure began by its own wall clock, in whole milliseconds: for people, never for decisions (SAFETY 3).
    pub since: Option<SystemTime>,
    /// The store's number of its tenure, once one was drawn.
    pub token: Option<u64>,
    /// Whether somebody asked it to resign.
    pub asked_to_resign: bool,
}

impl Claimant {
    pub(super) fn of(bid: &Bid) -> Self {
        Claimant {
            holder: bid.shared_name(),
            advertise: bid.advertise().clone(),
            since: wall_clock(),
            token: None,
            asked_to_resign: false,
        }
    }
}

impl Claim<Claimant> {
    /// The claim as a read found it, with what the store says is left of its life.
    pub fn sight(&self, remaining: Option<Duration>) -> Sight {
        let Claimant { holder, advertise, since, token, asked_to_resign } = self.value.clone();
        Sight::Held(Held {
            version: self.version(),
            tenure: Some(self.tenure),
            holder,
            token,
            since,
            advertise,
            asked_to_resign,
            expiry: Expiry::Store { remaining },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_writes_of_any_tenure_look_the_same() {
        // SAFETY 10
        let first = Claim::new("value", TenureId::new(1, 1), 1);
        let renewed = first.renewed();
        let other = Claim::new("value", TenureId::new(1, 2), 1);
        assert_ne!(first, renewed);
        assert_ne!(first.version(), renewed.version());
        assert_ne!(first, other);
        assert_ne!(first.version(), other.version(), "a number that starts again with each tenure is no version");
        assert_eq!(first.renewed(), renewed, "to repeat a renewal is to write the same again");
    }

    #[test]
    fn a_claim_is_rebuilt_from_its_parts() {
        let claim = Claim::new("value", TenureId::new(1, 1), 7);
        let tenure = claim.tenure().to_string().parse().unwrap();
        assert_eq!(Claim::new(*claim.value(), tenure, claim.write()), claim);
        assert_eq!(claim.followed_by("another").into_value(), "another");
    }
}
