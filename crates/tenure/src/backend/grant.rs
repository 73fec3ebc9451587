//! What a store answers to those who stand, renew and beat.

use std::time::Duration;

use super::{Incarnation, Sight, TenureId, Vacancy, Version};
use crate::Moment;

/// A session that covers several elections at once; one heartbeat extends them all (SAFETY 21).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// What a successful call buys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// The record has a life of its own, counted from the instant the call was ordered. The backend need not say from when: the
    /// candidate knows it better, and cannot get it wrong (SAFETY 1).
    Own {
        /// What the store *granted*, which may differ from what was asked (SAFETY 2a).
        ttl: Duration,
    },
    /// The record lives as long as a session does.
    Shared {
        /// The session.
        session: SessionId,
        /// The clock before the last request was sent that is known to have extended the session.
        from: Moment,
        /// What the store granted to it.
        ttl: Duration,
    },
}

/// An office that was won or extended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The tenure it was granted to.
    pub tenure: TenureId,
    /// The record's version now.
    pub version: Version,
    /// The store's own number of this tenure, if it has a sound one; the fencing token is this plus the operator's base.
    pub token: Option<u64>,
    /// Which life of the store the number comes from.
    pub incarnation: Option<Incarnation>,
    /// How long it lasts.
    pub cover: Cover,
    /// What was there before (for a win).
    pub over: Vacancy,
    /// Whether somebody asked the holder to resign.
    pub asked_to_resign: bool,
}

/// The answer to a bid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The office is ours.
    Elected(Grant),
    /// The bid waits in the store's queue behind this holder; where a session keeps its place, that is named.
    Queued(Sight, Option<Cover>),
    /// Another holds it, and nothing of us is in the store.
    Held(Sight),
}

/// The answer to a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Extended by a full lease.
    Extended(Grant),
    /// The version was another one, and nothing was written. This is what is there.
    Mismatch(Sight),
}

/// The answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// The session was extended by this much.
    Extended {
        /// What the store granted.
        ttl: Duration,
    },
    /// The store knows no such session any more: everything it covered is gone.
    Lost,
}
