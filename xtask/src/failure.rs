//! Why a chore failed.

use std::fmt;

/// One plain sentence for the person at the terminal: what failed and, where it is known, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
