//! Who holds an office, as an observer sees it.

use std::sync::Arc;
use std::time::SystemTime;

use crate::FencingToken;
use crate::backend::{Held, TenureId};
use crate::machine::Plan;

/// The holder of an office.
///
/// All of it comes from the store and is untrusted text; it may be out of date by the time it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incumbent {
    pub(crate) name: Arc<str>,
    pub(crate) tenure: Option<TenureId>,
    pub(crate) token: Option<FencingToken>,
    pub(crate) since: Option<SystemTime>,
    pub(crate) advertise: Arc<[u8]>,
    pub(crate) asked_to_resign: bool,
}

impl Incumbent {
    pub(crate) fn seen(held: &Held, token_base: u64) -> Self {
        Incumbent {
            name: held.holder.clone(),
            tenure: held.tenure,
            token: held.token.and_then(|native| FencingToken::based(token_base, native)),
            since: held.since,
            advertise: held.advertise.clone(),
            asked_to_resign: held.asked_to_resign,
        }
    }

    pub(crate) fn own(plan: &Plan, tenure: TenureId, token: Option<FencingToken>) -> Self {
        let (name, advertise) = (plan.name().shared(), plan.advertise().clone());
        Incumbent { name, tenure: Some(tenure), token, since: None, advertise, asked_to_resign: false }
    }

    /// The holder's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The holder's tenure; `None` for a foreign program.
    pub fn tenure(&self) -> Option<TenureId> {
        self.tenure
    }

    /// The fencing token of its tenure, where the store shows one.
    pub fn token(&self) -> Option<FencingToken> {
        self.token
    }

    /// Since when, by the holder's own wall clock.
    pub fn since(&self) -> Option<SystemTime> {
        self.since
    }

    /// Whether somebody has asked it to resign; it does so at its next renewal at the latest.
    pub fn is_asked_to_resign(&self) -> bool {
        self.asked_to_resign
    }

    /// What the holder advertises, such as its address.
    pub fn advertised(&self) -> &[u8] {
        &self.advertise
    }

    /// The advertised address, where it is text and not empty.
    pub fn address(&self) -> Option<&str> {
        std::str::from_utf8(&self.advertise).ok().filter(|text| !text.is_empty())
    }
}
