//! The claims of one tenure that may be in the store.

use crate::adapter::{Claim, Claimant};
use crate::backend::Version;

/// Every claim of a tenure that may be what the store has now, lowest write first.
///
/// The store's value only ever moves up this list, so whoever tries the claims one after the other, lowest first, cannot be overtaken
/// unnoticed by a write of ours that is still on its way.
#[derive(Debug, Default)]
pub(super) struct Trail(Vec<Claim<Claimant>>);

impl Trail {
    /// Notes a claim that is about to be written; says whether nobody wrote it before.
    pub(super) fn note(&mut self, claim: &Claim<Claimant>) -> bool {
        if self.0.contains(claim) {
            return false;
        }
        let place = self.0.partition_point(|other| other.write() <= claim.write());
        self.0.insert(place, claim.clone());
        true
    }

    /// The store has, or had, this claim: whatever came before it is past.
    pub(super) fn settle(&mut self, claim: &Claim<Claimant>) {
        self.0.retain(|other| other.write() > claim.write());
        self.0.insert(0, claim.clone());
    }

    /// The claim that comes next after this one, but none of those that were tried `in_vain`.
    pub(super) fn following(
        &self,
        claim: Option<&Claim<Claimant>>,
        in_vain: &[Claim<Claimant>],
    ) -> Option<Claim<Claimant>> {
        let next = match claim {
            None => 0,
            Some(claim) => match self.0.iter().position(|other| other == claim) {
                Some(place) => place + 1,
                None => self.0.partition_point(|other| other.write() <= claim.write()),
            },
        };
        self.0[next..].iter().find(|claim| !in_vain.contains(claim)).cloned()
    }

    /// The claim that has this version.
    pub(super) fn at(&self, version: &Version) -> Option<Claim<Claimant>> {
        self.0.iter().find(|claim| claim.version() == *version).cloned()
    }

    /// The highest write so far; 0 before the first.
    pub(super) fn last_write(&self) -> u64 {
        self.0.last().map_or(0, Claim::write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::TenureId;

    fn claim(write: u64, token: Option<u64>) -> Claim<Claimant> {
        let value =
            Claimant { holder: "a".into(), advertise: Default::default(), since: None, token, asked_to_resign: false };
        Claim::new(value, TenureId::new(1, 1), write)
    }

    fn walk(trail: &Trail) -> Vec<(u64, Option<u64>)> {
        let mut seen = Vec::new();
        let mut last = None;
        while let Some(claim) = trail.following(last.as_ref(), &[]) {
            seen.push((claim.write(), claim.value().token));
            last = Some(claim);
        }
        seen
    }

    #[test]
    fn claims_are_walked_lowest_write_first() {
        let mut trail = Trail::default();
        assert_eq!((trail.last_write(), walk(&trail)), (0, vec![]));
        for (write, token) in [(2, None), (1, None), (3, Some(7)), (2, Some(7))] {
            assert!(trail.note(&claim(write, token)));
        }
        assert!(!trail.note(&claim(2, Some(7))), "it is noted already");
        assert_eq!(walk(&trail), [(1, None), (2, None), (2, Some(7)), (3, Some(7))]);
        assert_eq!(trail.last_write(), 3);
        assert_eq!(trail.at(&claim(3, Some(7)).version()), Some(claim(3, Some(7))));
    }

    #[test]
    fn what_the_store_had_leaves_only_later_claims_possible() {
        let mut trail = Trail::default();
        for write in 1..=4 {
            trail.note(&claim(write, None));
        }
        trail.settle(&claim(3, Some(7)));
        assert_eq!(walk(&trail), [(3, Some(7)), (4, None)]);
        let after_one_that_is_past = trail.following(Some(&claim(2, None)), &[]);
        assert_eq!(after_one_that_is_past, Some(claim(3, Some(7))));
        assert_eq!(trail.following(None, &[claim(3, Some(7))]), Some(claim(4, None)));
    }
}
