//! What must be true of every parser, whatever it is given.
//!
//! Each function takes any bytes, and panics where a promise is broken. The fuzz targets in `fuzz/` call one each; the tests below replay the
//! seeds of those targets, whole and damaged. Compiled only for tests and under `--cfg fuzzing`, which cargo-fuzz sets.

use std::num::NonZeroU64;
use std::path::{Component, Path};
use std::str;

use crate::backend::TenureId;
#[cfg(feature = "file")]
use crate::backend::file::fuzzing as file;
use crate::{CandidateName, Error, ErrorKind, FencingToken, Seat};

/// The name of a fuzz target, and what it calls.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("tenure_id", tenure_id),
    ("fencing_token", fencing_token),
    ("seat", seat),
    ("candidate_name", candidate_name),
    ("fence", fence),
    #[cfg(feature = "file")]
    ("lease_file", file::lease_file),
    #[cfg(feature = "file")]
    ("sealed_lease_file", file::sealed_lease_file),
    #[cfg(feature = "file")]
    ("side_copy", file::side_copy),
    #[cfg(feature = "file")]
    ("duration", file::duration),
    #[cfg(feature = "file")]
    ("time", file::time),
    #[cfg(feature = "file")]
    ("file_name", file::file_name),
    #[cfg(all(feature = "file", target_os = "linux"))]
    ("lock_table", file::lock_table),
];

/// Calls the target of this name.
pub fn call(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("there is such a target");
    target(bytes);
}

fn tenure_id(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match text.parse::<TenureId>() {
        Ok(id) => assert_eq!(id.to_string(), text, "an id has one text"),
        Err(error) => refused(&error, ErrorKind::Corrupt),
    }
}

fn fencing_token(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let digits = !text.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let number = digits.then(|| text.trim_start_matches('0')).filter(|digits| digits.len() < 20);
    let number = number.and_then(|digits| digits.parse::<NonZeroU64>().ok()).filter(|n| n.get() <= i64::MAX as u64);
    match text.parse::<FencingToken>() {
        Ok(token) => assert_eq!(Some(token.get()), number.map(NonZeroU64::get)),
        Err(error) => {
            assert_eq!(number, None);
            refused(&error, ErrorKind::InvalidToken);
        }
    }
}

fn seat(bytes: &[u8]) {
    let is_name = (1..=Seat::MAX_BYTES).contains(&bytes.len())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(byte))
        && bytes.split(|byte| *byte == b'/').all(|segment| !matches!(segment, b"" | b"." | b".."));
    match Seat::try_from(bytes) {
        Ok(seat) => {
            assert!(is_name);
            assert_eq!(seat.as_str().as_bytes(), bytes);
            let inside = Path::new(seat.as_str()).components().all(|part| matches!(part, Component::Normal(_)));
            assert!(inside, "{seat} leads out of a directory");
        }
        Err(error) => {
            assert!(!is_name);
            refused(&error, ErrorKind::InvalidName);
        }
    }
}

fn candidate_name(bytes: &[u8]) {
    let is_name = str::from_utf8(bytes).is_ok_and(|name| {
        name.len() <= CandidateName::MAX_BYTES && !name.trim().is_empty() && !name.contains(char::is_control)
    });
    match CandidateName::try_from(bytes) {
        Ok(name) => {
            assert!(is_name);
            assert_eq!(name.as_str().as_bytes(), bytes);
        }
        Err(error) => {
            assert!(!is_name);
            refused(&error, ErrorKind::InvalidName);
        }
    }
}

fn fence(bytes: &[u8]) {
    match crate::fence::highest(Path::new("fence"), bytes) {
        Ok(None) => assert!(bytes.is_empty(), "a fence that forgot is no fresh one"),
        Ok(Some(token)) => {
            let digits = format!("{token:020}");
            assert!(bytes.windows(20).any(|window| window == digits.as_bytes()), "nobody wrote {token}");
        }
        Err(error) => refused(&error, ErrorKind::Corrupt),
    }
}

/// An error that somebody can read, whatever it was about.
fn refused(error: &Error, kind: ErrorKind) {
    let said = error.to_string();
    assert_eq!(error.kind(), kind, "{said}");
    assert!(!said.is_empty() && said.len() < 700 && !said.contains(char::is_control), "{said:?}");
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::{Damage, runs};

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
    }

    /// The seeds of a target, which stand in the repository.
    fn seeds(target: &str) -> Vec<Vec<u8>> {
        let folder = folder().join("corpus").join(target);
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
    }

    /// The names in a folder of `fuzz`, without what follows a dot.
    #[cfg(all(feature = "file", target_os = "linux"))]
    fn names(folder_name: &str) -> Vec<String> {
        let entries = fs::read_dir(folder().join(folder_name)).unwrap();
        let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap().path())).collect();
        names.sort();
        names
    }

    #[test]
    #[cfg(all(feature = "file", target_os = "linux"))]
    fn every_fuzz_target_has_its_file_and_its_seeds() {
        let mut targets: Vec<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
        targets.sort();
        assert_eq!(names("fuzz_targets"), targets);
        assert_eq!(names("corpus"), targets);
        assert!(targets.iter().all(|target| seeds(target).len() >= 3));
    }

    #[test]
    fn every_seed_of_a_fuzz_target_passes() {
        for (name, target) in TARGETS {
            seeds(name).iter().for_each(|seed| target(seed));
        }
    }

    proptest! {
        #![proptest_config(runs(2000))]

        #[test]
        fn no_bytes_make_a_parser_break_its_word(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for (_, target) in TARGETS {
                target(&bytes);
            }
        }

        #[test]
        fn no_text_makes_a_parser_break_its_word(text in "\\PC{0,60}|[0-9a-z.+:TZ/@ -]{0,60}") {
            for (_, target) in TARGETS {
                target(text.as_bytes());
            }
        }
    }

    #[test]
    fn no_damage_to_a_seed_makes_a_parser_break_its_word() {
        for (name, target) in TARGETS {
            let seeds = seeds(name);
            let damages = prop::collection::vec(Damage::any(), 1..4);
            let mut runner = proptest::test_runner::TestRunner::new(runs(500));
            let tried = runner.run(&(prop::sample::select(seeds), damages), |(mut bytes, damages)| {
                damages.iter().for_each(|damage| damage.done_to(&mut bytes));
                target(&bytes);
                Ok(())
            });
            tried.unwrap_or_else(|failure| panic!("{name}: {failure}"));
        }
    }
}
