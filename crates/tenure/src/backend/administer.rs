//! What an operator can do to an office from outside; optional for a backend.

use std::time::Duration;

use super::{Answer, Sight};
use crate::Seat;

/// What evicting did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evicted {
    /// Nobody held the office.
    WasVacant,
    /// The record is barred until every belief of the evicted holder has ended; nobody leads meanwhile.
    Barred {
        /// For how long nobody can win.
        remaining: Duration,
    },
}

/// Listing elections, asking a holder to resign and evicting one.
///
/// None of it makes two leaders: a holder that is asked gives up by itself, after its work stopped, and an evicted one's office stays barred
/// for the rest of its lease.
pub trait Administer: Send + Sync {
    /// All elections whose name begins with `prefix`, by name, with what is seen of each.
    fn list<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<(Seat, Sight)>>;

    /// Leaves word for the holder that it shall resign; it finds that at its next renewal. `false` when nobody holds the office.
    fn ask_to_resign<'a>(&'a self, seat: &'a Seat) -> Answer<'a, bool>;

    /// Takes the office from its holder and bars it for the record's remaining life.
    fn evict<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Evicted>;
}
