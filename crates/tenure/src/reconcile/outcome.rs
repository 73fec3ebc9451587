//! How a run comes to its end.

use std::fmt;

/// How a run ended well: the work was stopped and the office given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It was asked to stop.
    ShutDown,
    /// The source had no more to say.
    SourceEnded,
}

/// How a run ended badly: a program should then exit non-zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// `end` failed as often as [`Policy`](super::Policy) lets it be tried. The office was not
    /// given up: the work may still run.
    EndKeptFailing,
    /// The run was to stop and `end` failed. The office was not given up: the work may still run.
    EndFailed,
    /// The run was to stop and `begin` or `end` was not done in time. The office was not given up:
    /// the work may still run.
    StopTimedOut,
    /// The work was stopped, but giving the office up took too long. It stays taken until its lease
    /// runs out.
    ReleaseTimedOut,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndKeptFailing => {
                "the end handler failed at every attempt, so the office was not given up; \
                 this machine may still act as leader: \
                 stop the leader's work by hand before starting again"
            }
            Self::EndFailed => {
                "the end handler failed while stopping, so the office was not given up; \
                 this machine may still act as leader: \
                 stop the leader's work by hand before the lease runs out"
            }
            Self::StopTimedOut => {
                "the begin or end handler was not done within the shutdown timeout, \
                 so the office was not given up; \
                 this machine may still act as leader: \
                 stop the leader's work by hand, and allow more time to stop"
            }
            Self::ReleaseTimedOut => {
                "the leader's work was stopped, but the office was not given up within the \
                 release timeout; the next leader has to wait for the lease to run out: \
                 check that the backend can be reached"
            }
        })
    }
}
