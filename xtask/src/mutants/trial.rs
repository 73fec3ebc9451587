//! One run of a test program with one filter, under one mutant or none.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use super::binary::{Binary, directory, parts};
use crate::failure::Failure;
use crate::test_report::TestReport;

/// How a test program ends when a test has failed.
const EXIT_TEST_FAILED: i32 = 101;

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A run that is yet to be made.
#[derive(Debug)]
pub(crate) struct Trial<'a> {
    binary: &'a Binary,
    filter: &'a str,
    mutant: Option<&'a str>,
    log: PathBuf,
}

impl<'a> Trial<'a> {
    /// All runs of one filter: programs built on libtest-mimic take only one at a time.
    pub(crate) fn all(binaries: &'a [Binary], filter: &'a str, mutant: Option<&'a str>) -> impl Iterator<Item = Self> {
        let logs = directory().join("logs").join(mutant.unwrap_or("none"));
        binaries.iter().enumerate().filter(move |(_, binary)| binary.matches(filter)).map(move |(index, binary)| Self {
            binary,
            filter,
            mutant,
            log: logs.join(format!("{}.{index}.log", file_name(filter))),
        })
    }

    /// What the program wrote, for a person to read.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// Runs it, and kills it when `patience` is at its end.
    pub(crate) fn run(&self, patience: Duration) -> Result<Ending, Failure> {
        let failed = |error| Failure::new(format!("a test program could not be run: {error}"));
        fs::create_dir_all(self.log.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        // A file never fills up like a pipe, and stays when the program's children outlive it.
        let log = File::create(&self.log).map_err(failed)?;
        let mut command = self.binary.command();
        command.arg("--include-ignored").arg(parts(self.filter).1).stdout(log.try_clone().map_err(failed)?).stderr(log);
        if let Some(mutant) = self.mutant {
            command.env("TENURE_MUTANT", mutant);
        }
        let mut child = command.spawn().map_err(failed)?;
        let Some(status) = wait(&mut child, patience).map_err(failed)? else {
            return Ok(Ending::Hung);
        };
        let output = fs::read(&self.log).map_err(failed)?;
        Ok(Ending::judge(&String::from_utf8_lossy(&output), status))
    }
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Passed,
    /// These tests failed.
    Failed(Vec<String>),
    Hung,
    /// Neither: it aborted, or refused its arguments. That is no test's verdict.
    Broken(String),
}

impl Ending {
    fn judge(output: &str, status: ExitStatus) -> Self {
        let report = TestReport::read(output);
        match status.code() {
            Some(0) if report.passed > 0 && report.failed == 0 => Self::Passed,
            Some(EXIT_TEST_FAILED) if report.failed > 0 => Self::Failed(report.failed_names),
            _ => Self::Broken(format!("{status}, with {report}")),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Failed(tests) => write!(f, "failed {}", tests.join(", ")),
            Self::Hung => f.write_str("hung"),
            Self::Broken(how) => write!(f, "ended with {how}"),
        }
    }
}

/// The exit status, or nothing when the child had to be killed.
fn wait(child: &mut Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn file_name(filter: &str) -> String {
    filter.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    fn exit(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn only_a_failed_test_counts_as_failed() {
        let failed = "failures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;\n";
        assert_eq!(Ending::judge(failed, exit(EXIT_TEST_FAILED)), Ending::Failed(vec!["a".to_owned()]));
        let usage = Ending::judge("error: Unrecognized option", exit(EXIT_TEST_FAILED));
        assert!(matches!(usage, Ending::Broken(_)), "{usage}");
        let aborted = Ending::judge(failed, ExitStatus::from_raw(6));
        assert!(matches!(aborted, Ending::Broken(_)), "{aborted}");
    }

    #[test]
    fn a_run_without_a_test_is_no_pass() {
        let passed = "test result: ok. 1 passed; 0 failed; 0 ignored;\n";
        assert_eq!(Ending::judge(passed, exit(0)), Ending::Passed);
        let empty = Ending::judge("test result: ok. 0 passed; 0 failed; 0 ignored;\n", exit(0));
        assert!(matches!(empty, Ending::Broken(_)), "{empty}");
    }

    #[test]
    fn a_child_that_hangs_is_killed() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let status = wait(&mut child, Duration::from_millis(30)).expect("it can be killed");
        assert_eq!(status, None);
    }
}
