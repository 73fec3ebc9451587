//! What can be seen of an office from outside.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{TenureId, Version};

/// An office as a read found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Nobody holds it.
    Vacant(Vacancy),
    /// Somebody does.
    Held(Held),
}

impl Sight {
    /// The holder, if there is one.
    pub fn held(&self) -> Option<&Held> {
        match self {
            Sight::Vacant(_) => None,
            Sight::Held(held) => Some(held),
        }
    }

    /// Whether the record is this tenure's.
    pub fn is_of(&self, tenure: TenureId) -> bool {
        self.held().is_some_and(|held| held.tenure == Some(tenure))
    }
}

/// Why nobody holds an office.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vacancy {
    /// No record, and no word why: never held, expired, or removed by hand.
    Free,
    /// The last holder gave it up in due form.
    Released {
        /// Its tenure.
        by: TenureId,
    },
    /// The record was removed by somebody else.
    Removed,
}

/// A record of an office that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The record's version.
    pub version: Version,
    /// The holder's tenure; `None` for a foreign program that writes none.
    pub tenure: Option<TenureId>,
    /// The holder's name: untrusted text.
    pub holder: Arc<str>,
    /// The store's own number of the holder's tenure, if it shows one.
    pub token: Option<u64>,
    /// When it began by the holder's wall clock: for people, never for decisions (SAFETY 3).
    pub since: Option<SystemTime>,
    /// What the holder advertises.
    pub advertise: Arc<[u8]>,
    /// Whether somebody asked the holder to resign.
    pub asked_to_resign: bool,
    /// Who judges when it ends.
    pub expiry: Expiry,
}

/// Who judges when a silent holder's record ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expiry {
    /// The store does, by its own clock.
    Store {
        /// What is left of it, where the store tells.
        remaining: Option<Duration>,
    },
    /// Contenders do: whoever has seen this version unchanged for the recorded duration may displace it (SAFETY 4).
    Observe {
        /// The *holder's* lease as the record has it.
        recorded: Duration,
    },
    /// The holder is proved dead and its work with it: it may be displaced `after` this long.
    Dead {
        /// From the first sight of this version.
        after: Duration,
    },
}

/// A push from the store about an office that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The subscription stands: nothing from now on is missed.
    Armed,
    /// This is what the office looks like now.
    Seen(Sight),
    /// Something changed: look again.
    Changed,
    /// The office fell vacant: stand.
    Vacant,
    /// The office is expected to fall vacant in so long.
    Eta(Duration),
    /// Something may have been missed; the stream ends.
    Lagged,
}
