//! One opaque error for the whole crate family.

use std::error::Error as StdError;
use std::fmt;

/// What went wrong, in one word. New kinds may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A name that cannot be an election's or a candidate's.
    InvalidName,
    /// Text or a number that is no fencing token.
    InvalidToken,
    /// Timing under which two could lead, or none could stay leader.
    UnsafeTiming,
    /// Another setting that cannot be had.
    InvalidConfig,
    /// The backend promises less than was required.
    PromiseTooWeak,
    /// The backend cannot do what was asked.
    Unsupported,
    /// The store did not answer, or not in time.
    Unavailable,
    /// The store refused us: credentials, rights, or a setting of the server.
    Denied,
    /// The store holds something under this name that tenure cannot understand.
    Corrupt,
    /// The candidate, election or store was closed or stopped.
    Closed,
    /// The candidate runs already, or the same election twice on one session.
    AlreadyRunning,
    /// Another holds the office (only where one try was asked for).
    Held,
    /// The time that was given for being elected has passed.
    TimedOut,
    /// Leadership ended.
    LeadershipLost,
    /// A fencing token would have gone back.
    TokenWentBack,
    /// A fault of tenure itself.
    Internal,
}

/// Whether a write that ended in an error may have happened all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    None,
    Unknown,
}

/// An error of tenure or of a backend.
///
/// It says what happened, to which election and what to do; [`is_transient`](Error::is_transient) says whether trying again can help and
/// [`is_indeterminate`](Error::is_indeterminate) whether a write may have landed.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    election: Option<String>,
    operation: Option<&'static str>,
    effect: Effect,
    transient: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of this kind: by default nothing was written, and only [`ErrorKind::Unavailable`] is worth another try.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            election: None,
            operation: None,
            effect: Effect::None,
            transient: matches!(kind, ErrorKind::Unavailable),
            source: None,
        }))
    }

    /// A store that cannot be reached; nothing was written.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unavailable, message)
    }

    /// A store whose answer did not come: the write may have landed.
    pub fn unknown_outcome(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unavailable, message).indeterminate()
    }

    /// Marks that the write may have landed all the same.
    #[must_use]
    pub fn indeterminate(mut self) -> Self {
        self.0.effect = Effect::Unknown;
        self
    }

    /// Says whether trying again can help.
    #[must_use]
    pub fn transient(mut self, transient: bool) -> Self {
        self.0.transient = transient;
        self
    }

    /// Names the election concerned.
    #[must_use]
    pub fn of_election(mut self, election: impl fmt::Display) -> Self {
        self.0.election = Some(election.to_string());
        self
    }

    /// Names what was being done.
    #[must_use]
    pub fn during(mut self, operation: &'static str) -> Self {
        self.0.operation = Some(operation);
        self
    }

    /// Keeps the error beneath.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What went wrong, in one word.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The election concerned, where one is.
    pub fn election(&self) -> Option<&str> {
        self.0.election.as_deref()
    }

    /// What was being done when it happened.
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// Whether trying again can help.
    pub fn is_transient(&self) -> bool {
        self.0.transient
    }

    /// Whether a write may have landed all the same.
    pub fn is_indeterminate(&self) -> bool {
        self.0.effect == Effect::Unknown
    }

    /// The same words again, for a second reader; the error beneath goes with the first.
    pub(crate) fn again(&self) -> Error {
        Error(Box::new(Inner {
            kind: self.0.kind,
            message: self.0.message.clone(),
            election: self.0.election.clone(),
            operation: self.0.operation,
            effect: self.0.effect,
            transient: self.0.transient,
            source: self.0.source.as_ref().map(|source| source.to_string().into()),
        }))
    }
}

/// What cannot fail needs no error; it lets a parsed name stand where one is parsed.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.election, self.0.operation) {
            (Some(election), Some(operation)) => write!(f, "election {election}, {operation}: ")?,
            (Some(election), None) => write!(f, "election {election}: ")?,
            (None, Some(operation)) => write!(f, "{operation}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.0.message)?;
        if let Some(source) = &self.0.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        if self.is_indeterminate() {
            f.write_str(" (the write may have landed)")?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| source.as_ref() as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_election_the_operation_and_the_cause() {
        let error = Error::unavailable("the store did not answer")
            .of_election("nightly")
            .during("renew")
            .because("connection refused");
        assert_eq!(error.to_string(), "election nightly, renew: the store did not answer: connection refused");
        assert!(error.is_transient() && !error.is_indeterminate());
        assert!(Error::unknown_outcome("cut").is_indeterminate());
        assert_eq!(std::mem::size_of::<Error>(), 8);
    }
}
