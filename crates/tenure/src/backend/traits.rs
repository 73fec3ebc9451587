//! What a store promises and how it behaves.

use std::fmt;
use std::time::Duration;

use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, Timing};

/// How much an election on a backend can be relied on, lowest first (SAFETY 20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// Usually one leader; a failure of the store can make two.
    BestEffort,
    /// At most one leader at a time under the clock-rate bound, but no sound fencing token.
    LeaseOnly,
    /// That, and a fencing token that never goes back.
    Fenced,
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Promise::BestEffort => "best-effort",
            Promise::LeaseOnly => "lease-only",
            Promise::Fenced => "fenced",
        })
    }
}

/// Programs other than tenure that contend for the same records, the more harmful last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ForeignPeers {
    /// They step down before their record can be taken, as client-go does.
    StepDownInTime,
    /// They may still act after it was taken, as the Go NATS election does: whoever wins waits a whole lease before it leads, unless the
    /// office was given up in due form or another settle time is set (SAFETY 14).
    MayLinger,
}

/// How a candidate hears that an office fell vacant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vacancies {
    /// The store pushes; a candidate that watches need not ask.
    Pushed,
    /// Nobody tells: candidates ask at their retry interval.
    Polled,
}

/// What a backend is like. The conformance suite chooses its cases by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Traits {
    /// What elections on it can be relied on for.
    pub promise: Promise,
    /// The programs other than tenure that contend there, as far as they were declared: see [`shared_with`](Self::shared_with).
    pub peers: Option<ForeignPeers>,
    /// How vacancies are heard of.
    pub vacancies: Vacancies,
    /// Whether contenders judge expiry ([`Expiry::Observe`](super::Expiry::Observe)) and not the store.
    pub contenders_judge: bool,
    /// Whether bids wait in a queue of the store.
    pub queues: bool,
    /// Whether several elections share a session; the same one twice on one backend value is then refused (SAFETY 21).
    pub shares_sessions: bool,
    /// Whether a released record says by whom ([`Vacancy::Released`](super::Vacancy::Released)).
    pub names_releases: bool,
    /// Whether a grant has a number that can be a fencing token.
    pub has_tokens: bool,
    /// The shortest lease it takes.
    pub shortest_lease: Duration,
    /// The longest lease it takes.
    pub longest_lease: Duration,
    /// How far wall clocks of the store's hosts may lie apart where *the store* compares them; subtracted from every grant (SAFETY 3).
    pub store_skew: Duration,
}

impl Traits {
    /// A store that promises this much, expires records itself, pushes nothing and takes every lease.
    pub const fn new(promise: Promise) -> Self {
        Traits {
            promise,
            peers: None,
            vacancies: Vacancies::Polled,
            contenders_judge: false,
            queues: false,
            shares_sessions: false,
            names_releases: false,
            has_tokens: matches!(promise, Promise::Fenced),
            shortest_lease: Timing::SHORTEST_LEASE,
            longest_lease: Timing::LONGEST_LEASE,
            store_skew: Duration::ZERO,
        }
    }

    /// The same where these contend too, the most harmful of all that were declared. They show no token, so that no more than
    /// [`Promise::LeaseOnly`] is promised (SAFETY 20).
    #[must_use]
    pub fn shared_with(mut self, peers: Option<ForeignPeers>) -> Self {
        self.peers = self.peers.max(peers);
        if self.peers.is_some() && !planted(Mutant::FencedWithForeignPeers) {
            self.promise = self.promise.min(Promise::LeaseOnly);
        }
        self
    }

    /// Refuses a requirement above what is promised (SAFETY 20) and a lease that the store does not take.
    pub(crate) fn admit(&self, required: Option<Promise>, timing: &Timing, place: &str) -> Result<(), Error> {
        if let Some(required) = required.filter(|required| *required > self.promise && !planted(Mutant::PromiseIgnored))
        {
            return Err(Error::new(
                ErrorKind::PromiseTooWeak,
                format!(
                    "{required} was required, and {place} promises {}; require less, or use a backend that promises it",
                    self.promise
                ),
            ));
        }
        let (lease, least, most) = (timing.lease(), self.shortest_lease, self.longest_lease);
        if lease < least || lease > most {
            return Err(Error::new(
                ErrorKind::UnsafeTiming,
                format!("{place} takes leases of {least:?} to {most:?}, and this one is {lease:?}; change the lease"),
            ));
        }
        if timing.deadline_after(lease.saturating_sub(self.store_skew)).is_none() {
            return Err(Error::new(
                ErrorKind::UnsafeTiming,
                format!(
                    "{place} compares clocks of several hosts that may differ by {:?}; too little is left of a lease of {lease:?}: lengthen it",
                    self.store_skew
                ),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_never_fenced_and_the_most_harmful_peers_count() {
        // SAFETY 14, 20
        let lingering = Traits::new(Promise::Fenced).shared_with(Some(ForeignPeers::MayLinger));
        assert_eq!((lingering.promise, lingering.has_tokens), (Promise::LeaseOnly, true));
        for declared in [None, Some(ForeignPeers::StepDownInTime)] {
            assert_eq!(lingering.shared_with(declared), lingering, "a second word makes nobody harmless");
        }
        assert_eq!(Traits::new(Promise::Fenced).shared_with(None), Traits::new(Promise::Fenced));
        let loose = Traits::new(Promise::BestEffort).shared_with(Some(ForeignPeers::StepDownInTime));
        assert_eq!(loose.promise, Promise::BestEffort);
    }
}
