//! What outlives a campaign.

use crate::FencingToken;
use crate::backend::Incarnation;

/// What a candidate has seen of its store, and holds it to from one campaign to the next (SAFETY 18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// The highest token, in whosever hand.
    pub highest: Option<FencingToken>,
    /// Which life of the store it was in.
    pub incarnation: Option<Incarnation>,
}
