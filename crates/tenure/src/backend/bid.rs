//! What a candidate asks of a store.

use std::sync::Arc;
use std::time::Duration;

use super::{TenureId, Version};
use crate::machine::Plan;
use crate::{Moment, Seat};

/// The number of a call, unique within one campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttemptId(pub u64);

/// One call: its number, and when it was ordered. What it buys counts from then, never from the answer (SAFETY 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// The number of the call.
    pub id: AttemptId,
    /// The candidate's clock before anything was sent.
    pub sent: Moment,
}

/// A candidate's bid for an office, or the claim it renews and withdraws.
#[derive(Clone, Debug)]
pub struct Bid {
    plan: Arc<Plan>,
    tenure: TenureId,
    displace: Option<Version>,
}

impl Bid {
    /// A bid for this tenure by the candidate that `plan` describes.
    pub fn new(plan: Arc<Plan>, tenure: TenureId, displace: Option<Version>) -> Self {
        Bid { plan, tenure, displace }
    }

    /// The election.
    pub fn seat(&self) -> &Seat {
        self.plan.seat()
    }

    /// The candidate's stable name, for people to read.
    pub fn name(&self) -> &str {
        self.plan.name().as_str()
    }

    /// The same, to keep.
    pub fn shared_name(&self) -> Arc<str> {
        self.plan.name().shared()
    }

    /// The id of this tenure: what makes a record ours (SAFETY 11).
    pub fn tenure(&self) -> TenureId {
        self.tenure
    }

    /// For how long the record is to be kept.
    pub fn lease(&self) -> Duration {
        self.plan.timing().lease()
    }

    /// After how long the candidate gives a call up; what waits inside a backend waits no longer.
    pub fn call_timeout(&self) -> Duration {
        self.plan.timing().call_timeout()
    }

    /// What the holder lets others know of itself, at most 1 KiB; empty where nothing was set.
    pub fn advertise(&self) -> &Arc<[u8]> {
        self.plan.advertise()
    }

    /// The one version of another's record that may be displaced.
    pub fn displace(&self) -> Option<&Version> {
        self.displace.as_ref()
    }

    /// Whether the record may say that guarded work ends with this process, so that a proof of its death allows a takeover.
    pub fn work_ends_with_process(&self) -> bool {
        self.plan.work_ends_with_process()
    }
}

/// One of many renewals that are due ([`Backend::renew_many`](super::Backend::renew_many)).
#[derive(Clone, Debug)]
pub struct Due {
    /// The claim.
    pub bid: Bid,
    /// The version it is conditional on.
    pub version: Version,
    /// The call.
    pub attempt: Attempt,
}
