//! Why a run ended badly.

use std::{error::Error, fmt};

use super::Failure;

/// What went wrong in a [`Handler`](super::Handler) or a [`Source`](super::Source), in their own
/// words.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why [`Reconcile::run`](super::Reconcile::run) ended badly. The cause, where there is one, is its
/// [`source`](Error::source).
#[derive(Debug)]
#[non_exhaustive]
pub enum ReconcileError {
    /// It has been run before.
    AlreadyRan,
    /// The source failed. If this process led, `end` was run.
    Source {
        /// What the source said.
        error: BoxError,
        /// What went wrong on top of it while stopping.
        failure: Option<Failure>,
    },
    /// The run ended, but not well.
    Failed {
        /// In what way.
        failure: Failure,
        /// What `end` said, if its last try failed.
        error: Option<BoxError>,
    },
}

impl ReconcileError {
    /// What could not be brought to a good end, if anything: whatever else went wrong, it decides
    /// what has to be done by hand.
    pub fn failure(&self) -> Option<Failure> {
        match self {
            Self::AlreadyRan => None,
            Self::Source { failure, .. } => *failure,
            Self::Failed { failure, .. } => Some(*failure),
        }
    }
}

impl fmt::Display for ReconcileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyRan => f.write_str("this reconciliation loop has run before: make a new one for another run"),
            Self::Source { failure: None, .. } => f.write_str(
                "the source of the election failed, so the run was ended: \
                     see the cause, then start again",
            ),
            Self::Source { failure: Some(failure), .. } => {
                write!(f, "the source of the election failed, and stopping went wrong too: {failure}")
            }
            Self::Failed { failure, .. } => failure.fmt(f),
        }
    }
}

impl Error for ReconcileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::AlreadyRan => None,
            Self::Source { error, .. } => Some(error.as_ref()),
            Self::Failed { error, .. } => error.as_deref().map(|error| error as _),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_to_do_and_keeps_its_cause_apart() {
        let error = ReconcileError::Source { error: "no route to etcd".into(), failure: Some(Failure::EndFailed) };
        assert!(error.to_string().contains("stop the leader's work by hand"), "{error}");
        assert!(!error.to_string().contains("etcd"), "{error}");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("no route to etcd"));
        assert_eq!(error.failure(), Some(Failure::EndFailed));
    }
}
