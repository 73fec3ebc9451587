//! Which files belong to an election.

use crate::Seat;
use crate::backend::TenureId;

/// The files of one election, in one directory.
///
/// `/` stands in a file name as `+`, which no election name has. So is `@`, which parts the election from what a side file is: no name of
/// one election is that of a file of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    stem: String,
}

/// What a file in the directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The lease file.
    Lease,
    /// A liveness file.
    Liveness,
}

impl Names {
    pub(super) fn of(seat: &Seat) -> Self {
        Names { stem: seat.as_str().replace('/', "+") }
    }

    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// The record.
    pub(super) fn lease(&self) -> String {
        format!("{}.json", self.stem)
    }

    /// The record that is to be the first.
    pub(super) fn first(&self) -> String {
        format!("{}@new", self.stem)
    }

    /// The side copy.
    pub(super) fn copy(&self) -> String {
        format!("{}@copy", self.stem)
    }

    /// The file that this tenure keeps locked while it lives.
    pub(super) fn liveness(&self, tenure: TenureId) -> String {
        format!("{}@{tenure}.alive", self.stem)
    }

    /// What a file name means: whose it is, and what.
    pub(super) fn parse(name: &str) -> Option<(&str, Kind)> {
        match name.split_once('@') {
            Some((stem, side)) => side.ends_with(".alive").then_some((stem, Kind::Liveness)),
            None => name.strip_suffix(".json").map(|stem| (stem, Kind::Lease)),
        }
    }

    /// The election whose lease file has this name, if it can be one.
    pub(super) fn election(name: &str) -> Option<Seat> {
        let (stem, kind) = Names::parse(name)?;
        (kind == Kind::Lease).then(|| Seat::new(&stem.replace('+', "/")).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::runs;

    #[test]
    fn no_two_elections_share_a_file() {
        let names = ["a", "a/b", "a.b", "a-b", "a.json", "a.json/b", "a/b.json", "a@new".trim_end_matches("@new")];
        for name in names {
            let seat = Seat::new(name).unwrap();
            let lease = Names::of(&seat).lease();
            assert!(!lease.contains('/'), "{lease}");
            assert_eq!(Names::election(&lease), Some(seat), "a file name says whose it is");
        }
    }

    #[test]
    fn the_longest_names_make_legal_file_names() {
        let seat = Seat::new(&"n".repeat(Seat::MAX_BYTES)).unwrap();
        let names = Names::of(&seat);
        for name in [names.lease(), names.first(), names.copy(), names.liveness(TenureId::new(u64::MAX, u64::MAX))] {
            assert!(name.len() <= 255, "{} bytes", name.len());
        }
    }

    #[test]
    fn side_files_are_no_elections() {
        let names = Names::of(&Seat::new("a/b").unwrap());
        for side in [names.first(), names.copy(), names.liveness(TenureId::new(1, 1))] {
            assert_eq!(Names::election(&side), None, "{side}");
        }
        assert_eq!(Names::election("notes.txt"), None);
        assert_eq!(Names::election("a b.json"), None, "not a name of an election");
    }

    proptest! {
        #![proptest_config(runs(1000))]

        #[test]
        fn a_file_name_says_whose_it_is_and_what(
            segments in prop::collection::vec("[A-Za-z0-9_-][A-Za-z0-9._-]{0,20}", 1..6), nonce in any::<u64>(),
        ) {
            let seat = Seat::new(&segments.join("/")).unwrap();
            let names = Names::of(&seat);
            let lease = names.lease();
            prop_assert_eq!(Names::election(&lease), Some(seat));
            prop_assert_eq!(Names::parse(&lease), Some((names.stem(), Kind::Lease)));
            let liveness = names.liveness(TenureId::new(nonce, 1));
            prop_assert_eq!(Names::parse(&liveness), Some((names.stem(), Kind::Liveness)));
            for side in [names.first(), names.copy()] {
                prop_assert_eq!(Names::parse(&side), None);
            }
        }
    }
}
