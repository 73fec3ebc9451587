//! Whether the tests have noticed a mutant.

use std::fmt;
use std::time::{Duration, Instant};

use super::binary::Binary;
use super::plan::Mutant;
use super::trial::{Ending, Trial};
use crate::failure::Failure;

/// What became of one mutant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// By these tests.
    Killed(Vec<String>),
    /// No test failed, but the tests picked by this filter never ended.
    Hung(String),
    Survived,
    /// A test program ended without a verdict.
    Unclear(String),
}

/// Names beyond these add nothing to a table.
const NAMES_SHOWN: usize = 3;

impl Verdict {
    /// Runs all tests that ought to notice, for no longer than `patience` in all.
    pub(crate) fn reach(mutant: &Mutant, binaries: &[Binary], patience: Duration) -> Result<Self, Failure> {
        let started = Instant::now();
        let mut endings = Vec::new();
        for filter in mutant.filters() {
            for trial in Trial::all(binaries, filter, Some(&mutant.name)) {
                let ending = trial.run(patience.saturating_sub(started.elapsed()))?;
                let hung = ending == Ending::Hung;
                endings.push((filter, ending));
                if hung {
                    return Ok(Self::sum(endings));
                }
            }
        }
        Ok(Self::sum(endings))
    }

    /// A test that failed outweighs all; a crash outweighs a pass, since a test may not have run.
    fn sum(endings: Vec<(&str, Ending)>) -> Self {
        let mut killers: Vec<String> = Vec::new();
        let mut otherwise = Self::Survived;
        for (filter, ending) in endings {
            match ending {
                Ending::Passed => {}
                Ending::Failed(tests) => {
                    for test in tests {
                        if !killers.contains(&test) {
                            killers.push(test);
                        }
                    }
                }
                Ending::Hung => otherwise = Self::Hung(filter.to_owned()),
                Ending::Broken(how) => otherwise = Self::Unclear(format!("`{filter}`: {how}")),
            }
        }
        if killers.is_empty() { otherwise } else { Self::Killed(killers) }
    }

    /// Hung counts: a gate that waits forever does not let the mutant through either.
    pub(crate) fn is_killed(&self) -> bool {
        matches!(self, Self::Killed(_) | Self::Hung(_))
    }

    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Killed(_) => "killed",
            Self::Hung(_) => "killed by a hang",
            Self::Survived => "SURVIVED",
            Self::Unclear(_) => "UNCLEAR",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Killed(tests) => {
                let shown = &tests[..tests.len().min(NAMES_SHOWN)];
                write!(f, " by {}", shown.join(", "))?;
                match tests.len() - shown.len() {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::Hung(filter) => write!(f, " of `{filter}`"),
            Self::Survived => Ok(()),
            Self::Unclear(how) => write!(f, ": {how}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(tests: &[&str]) -> Ending {
        Ending::Failed(tests.iter().map(|&test| test.to_owned()).collect())
    }

    #[test]
    fn a_failed_test_kills_whatever_else_happened() {
        let verdict = Verdict::sum(vec![
            ("a", failed(&["a1"])),
            ("b", failed(&["a1", "b1", "b2", "b3"])),
            ("c", Ending::Broken("signal 6".to_owned())),
            ("d", Ending::Hung),
        ]);
        assert!(verdict.is_killed());
        assert_eq!(verdict.to_string(), "killed by a1, b1, b2 and 1 more");
    }

    #[test]
    fn a_hang_kills_and_is_called_a_hang() {
        let verdict = Verdict::sum(vec![("a", Ending::Passed), ("b", Ending::Hung)]);
        assert!(verdict.is_killed());
        assert_eq!(verdict.to_string(), "killed by a hang of `b`");
    }

    #[test]
    fn a_crash_without_a_failed_test_does_not_kill() {
        let broken = Ending::Broken("signal 6".to_owned());
        assert!(!Verdict::sum(vec![("a", broken)]).is_killed());
    }

    #[test]
    fn passing_tests_mean_survival() {
        assert_eq!(Verdict::sum(vec![("a", Ending::Passed)]), Verdict::Survived);
    }
}
