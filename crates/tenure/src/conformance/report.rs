//! What a run of the suite found.

use std::fmt;

/// The outcome of a run of a [`Suite`](super::Suite).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub(super) passed: Vec<String>,
    pub(super) failed: Vec<Broken>,
    pub(super) not_run: Vec<NotRun>,
}

/// A case that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The case.
    pub case: String,
    /// What was found instead.
    pub message: String,
}

/// A case that applies to the backend and could not be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRun {
    /// The case.
    pub case: String,
    /// What is missing.
    pub because: String,
}

impl Report {
    /// Whether every case that applies ran and passed, and there was at least one.
    pub fn is_conformant(&self) -> bool {
        self.failed.is_empty() && self.not_run.is_empty() && !self.passed.is_empty()
    }

    /// The cases that passed, by name.
    pub fn passed(&self) -> &[String] {
        &self.passed
    }

    /// The cases that failed, by name.
    pub fn failed(&self) -> &[Broken] {
        &self.failed
    }

    /// The cases that apply and did not run, by name.
    pub fn not_run(&self) -> &[NotRun] {
        &self.not_run
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} passed, {} failed, {} did not run", self.passed.len(), self.failed.len(), self.not_run.len())?;
        for Broken { case, message } in &self.failed {
            writeln!(f, "  failed: {case}: {message}")?;
        }
        for NotRun { case, because } in &self.not_run {
            writeln!(f, "  did not run: {case}: {because}")?;
        }
        Ok(())
    }
}
