//! What a machine hears.

use std::time::Duration;

use crate::backend::{AttemptId, Hint, Renewal, Sight, Standing};
use crate::{Error, Moment};

/// What a campaign is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Goal {
    /// Run until stopped: after a tenure, campaign again.
    Forever,
    /// Run until elected; with the tenure the campaign ends.
    OneTenure,
    /// Stand once; if another holds the office, end.
    TryOnce,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Begin to campaign, for at most `patience` without being elected.
    Start {
        /// What for.
        goal: Goal,
        /// How long to try.
        patience: Option<Duration>,
    },
    /// End the campaign: work stops, then the office is given up.
    Stop,
    /// Give up the office, if held.
    Resign,
    /// The guarded work has ended.
    WorkStopped,
    /// Whether this candidate is fit to lead.
    Health(bool),
    /// A call was answered.
    Answer {
        /// Which call.
        attempt: AttemptId,
        /// With what.
        outcome: Outcome,
    },
    /// The store pushed something.
    Hint(Hint),
    /// The session that covers the office was extended.
    CoverMoved {
        /// The clock before the extending request was sent.
        from: Moment,
        /// What was granted.
        ttl: Duration,
    },
    /// The session that covers the office, or the place in its queue, is gone.
    CoverLost,
    /// Time passed.
    Wake,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A bid was judged.
    Stood(Standing),
    /// A renewal was judged.
    Renewed(Renewal),
    /// Nothing of the tenure is in the store any more.
    Withdrew,
    /// The office was read.
    Inspected(Sight),
    /// The call failed.
    Failed(Failure),
}

/// A failed call, as far as a machine cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Trying again can help.
    pub transient: bool,
    /// The write may have landed.
    pub indeterminate: bool,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Failure { transient: error.is_transient(), indeterminate: error.is_indeterminate() }
    }
}
