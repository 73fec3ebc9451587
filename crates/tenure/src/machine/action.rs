//! What a machine orders and reports.

use std::fmt;
use std::time::Duration;

use arrayvec::ArrayVec;

use crate::backend::{Attempt, TenureId, Version};
use crate::{FencingToken, Moment};

/// The actions of one step, in the order in which they are to be carried out.
pub type Actions = ArrayVec<Action, 12>;

/// One order or report of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Publish until when this candidate may believe in its leadership; `None`: not at all.
    SetDeadline(Option<Term>),
    /// Guarded work is to end, and to have ended by then.
    StopWork {
        /// The last instant at which it may still run.
        by: Moment,
    },
    /// Call the backend.
    Call {
        /// The number of the call.
        attempt: Attempt,
        /// The tenure it is for.
        tenure: TenureId,
        /// What to do.
        op: Op,
    },
    /// Wake this machine then; replaces the last such order.
    WakeAt {
        /// When.
        at: Moment,
        /// How much earlier it may be, so that work can be done in batches.
        slack: Duration,
    },
    /// Keep a watch on the election, or none.
    Watch(bool),
    /// A tenure began.
    Begin {
        /// Its id.
        tenure: TenureId,
        /// Its fencing token, where the store has one.
        token: Option<FencingToken>,
    },
    /// The tenure ended.
    End(Ending),
    /// Something worth telling happened.
    Emit(Note),
    /// Something a person should look at happened.
    Alarm(Alarm),
    /// End the process: leadership was lost and its work did not stop in the time that was given (SEEDS 26).
    Kill,
    /// The campaign is over; nothing follows.
    Finish(Finish),
}

/// What a holder may count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Belief ends here.
    pub deadline: Moment,
    /// Guarded work has ended here: the last instant at which the store surely has not given the office away.
    pub expiry: Moment,
}

/// A call to a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Try to win.
    Stand {
        /// The one version of another's record that may be displaced.
        displace: Option<Version>,
    },
    /// Extend, conditional on this version.
    Renew {
        /// The version.
        version: Version,
    },
    /// Remove every trace of the tenure.
    Withdraw,
    /// Read.
    Inspect,
}

/// Why a tenure ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// The holder gave it up.
    Resigned,
    /// The campaign was stopped.
    Stopped,
    /// Somebody asked the holder to resign.
    AskedToResign,
    /// The candidate was no longer fit to lead.
    Unhealthy,
    /// The record is no longer ours.
    Deposed,
    /// No renewal succeeded before the deadline.
    Expired,
    /// More renewals failed than are tolerated.
    RenewalsFailed,
    /// The session that covered the office is gone.
    SessionLost,
    /// The store is another one than before, or its numbers went back.
    TokenWentBack,
    /// The store no longer grants enough time to hold office with.
    GrantTooShort,
    /// tenure's own driver failed.
    DriverFailed,
}

impl Ending {
    /// Whether this candidate gave the office up of its own will, so that it can keep renewing until its work has stopped.
    pub fn is_voluntary(self) -> bool {
        matches!(self, Ending::Resigned | Ending::Stopped | Ending::AskedToResign | Ending::Unhealthy)
    }

    /// Whether a record of this tenure may still be in the store.
    pub(super) fn leaves_record(self) -> bool {
        !matches!(self, Ending::Deposed | Ending::SessionLost | Ending::DriverFailed)
    }

    /// Whether a minimum hold binds it: a tenure that somebody wants over ends at once.
    pub(super) fn honours_minimum_hold(self) -> bool {
        matches!(self, Ending::Resigned | Ending::Stopped)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Resigned => "resigned",
            Ending::Stopped => "stopped",
            Ending::AskedToResign => "asked to resign",
            Ending::Unhealthy => "unhealthy",
            Ending::Deposed => "deposed: the record is no longer ours",
            Ending::Expired => "expired: no renewal succeeded before the deadline",
            Ending::RenewalsFailed => "too many renewals failed",
            Ending::SessionLost => "the session is gone",
            Ending::TokenWentBack => "the store is not the same any more: fencing tokens would go back",
            Ending::GrantTooShort => "the store no longer grants enough time",
            Ending::DriverFailed => "tenure's driver failed",
        })
    }
}

/// Why a campaign is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Finish {
    /// It was stopped.
    Stopped,
    /// The one tenure it was for has ended.
    TenureEnded,
    /// It was not elected in the time given.
    TimedOut,
    /// Another holds the office, and one try was asked for.
    NotElected,
    /// The store refused in a way that trying again does not mend.
    Refused,
    /// A fencing token would have gone back.
    Barred,
}

/// What happened on the way, for logs, metrics and the curious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// A bid is made, from this state (SEEDS 36).
    Attempting(State),
    /// A bid was made that did not win.
    NotElected,
    /// A bid failed or was not answered.
    AttemptFailed,
    /// The holder was silent for its whole lease: it is displaced.
    Displacing,
    /// Won; leading begins later (SAFETY 14).
    Settling,
    /// Won; no settling, because the last holder released the office in due form.
    SettleSkipped,
    /// A renewal succeeded.
    Renewed,
    /// A renewal failed or was not answered.
    RenewalFailed,
    /// The office was won but cannot be used; it is given back.
    Unusable,
    /// No longer fit to lead, it does not run for the office.
    Resting,
    /// The office was given up, and the store confirmed it.
    Released,
    /// The store did not confirm that the office was given up; it falls vacant by expiry.
    ReleaseUnconfirmed,
}

/// What a person should look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alarm {
    /// The store offers a token that is not above one already seen (SAFETY 18).
    TokenWentBack {
        /// The highest token seen.
        seen: FencingToken,
        /// What the store offers, base included.
        offered: u64,
    },
    /// The store has another incarnation than before (SAFETY 18).
    StoreReplaced {
        /// The highest token seen from the old one.
        seen: Option<FencingToken>,
    },
    /// The store grants too little time to hold office with (SAFETY 2a).
    GrantTooShort,
    /// Guarded work still ran when the store may have given the office away.
    WorkOverran,
    /// The record was taken or removed while this candidate led.
    Deposed,
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Alarm::TokenWentBack { seen, offered } => write!(
                f,
                "fencing tokens went back: {seen} was seen and the store now offers {offered}; it was probably restored or made anew. This \
                 candidate will not lead. Set the token base at least {} higher on every candidate and start them again",
                seen.get().saturating_sub(*offered) + 1
            ),
            Alarm::StoreReplaced { seen: Some(seen) } => write!(
                f,
                "the store is not the one it was: it was wiped, restored or made anew, and its numbers start again. This candidate will not \
                 lead. Set the token base to at least {seen} on every candidate and start them again"
            ),
            Alarm::StoreReplaced { seen: None } => {
                f.write_str("the store is not the one it was: it was wiped, restored or made anew. This candidate will not lead; start it again")
            }
            Alarm::GrantTooShort => {
                f.write_str("the store granted less time than this timing needs; the office was given back. Lengthen the lease that the store allows")
            }
            Alarm::WorkOverran => f.write_str(
                "guarded work still runs past the end of the lease; another may lead now. Make the work stop faster, or lengthen the grace",
            ),
            Alarm::Deposed => f.write_str(
                "the record was taken or removed while this candidate led; somebody deleted or overwrote it. Work stops at once",
            ),
        }
    }
}

/// Where a campaign stands, as its user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Not started, or over.
    Idle,
    /// Running for the office, or waiting for it.
    Candidate,
    /// Won, and waiting for former leaders to stop.
    Settling,
    /// Leading.
    Leader,
    /// Leadership is over; its work stops, or the office is being given up.
    SteppingDown,
    /// Not running for the office, because not fit to lead.
    Resting,
}
