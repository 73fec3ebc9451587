//! Why something could not be started, frozen or broken.

use std::fmt;
use std::io;

/// One plain sentence: what failed, and what is known of the reason.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure that this sentence tells of.
    pub fn new(sentence: impl Into<String>) -> Self {
        Failure(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure(error.to_string())
    }
}

/// Adds what was tried to an error that only says what went wrong.
pub(crate) trait While<T> {
    fn when(self, doing: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> While<T> for Result<T, E> {
    fn when(self, doing: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure(format!("{doing}: {error}")))
    }
}
