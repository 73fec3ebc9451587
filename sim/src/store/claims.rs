//! A store that only inserts, swaps and deletes values with a TTL: three functions, to which the library's own adapter adds the rest.

use std::time::Duration;

use tenure::Moment;
use tenure::adapter::{Claim, Claimant, Look};

use super::{Present, Push, Reply, Request, Store, Truth};

/// One key with a TTL, and a counter beside it.
#[derive(Clone, Debug, Default)]
pub struct ClaimStore {
    claim: Option<(Claim<Claimant>, Moment)>,
    counter: u64,
}

impl ClaimStore {
    fn expire(&mut self, now: Moment) {
        if self.claim.as_ref().is_some_and(|(_, expiry)| now >= *expiry) {
            self.claim = None;
        }
    }

    fn has(&self, claim: &Claim<Claimant>) -> bool {
        self.claim.as_ref().is_some_and(|(held, _)| held == claim)
    }

    fn put(&mut self, claim: &Claim<Claimant>, ttl: Duration, now: Moment) {
        self.claim = Some((claim.clone(), now.after(ttl)));
    }
}

impl Store for ClaimStore {
    fn apply(&mut self, now: Moment, _: usize, _: usize, request: &Request) -> Reply {
        self.expire(now);
        match request {
            Request::Insert(claim, ttl) => {
                let free = self.claim.is_none();
                if free {
                    self.put(claim, *ttl, now);
                }
                Reply::Done(free)
            }
            Request::Swap(claims, ttl) => {
                let matches = self.has(&claims.0);
                if matches {
                    self.put(&claims.1, *ttl, now);
                }
                Reply::Done(matches)
            }
            Request::Delete(claim) => {
                let matches = self.has(claim);
                if matches {
                    self.claim = None;
                }
                Reply::Done(matches)
            }
            Request::Look => Reply::Claim(match &self.claim {
                None => Look::Absent,
                Some((claim, expiry)) => {
                    Look::Present { value: Box::new(claim.clone()), remaining: Some(expiry.since(now)) }
                }
            }),
            Request::Draw => {
                self.counter = (self.counter + 1).max(now.as_nanos() / 1_000);
                Reply::Number(self.counter)
            }
            other => unreachable!("{other:?} is not for this store"),
        }
    }

    fn truth(&mut self, present: &Present<'_>) -> Option<Truth> {
        self.expire(present.at(0));
        let (claim, _) = self.claim.as_ref()?;
        Some(Truth { tenure: Some(claim.tenure()), token: claim.value().token })
    }

    fn pushes(&mut self) -> Vec<Push> {
        Vec::new()
    }

    fn next_expiry(&self, present: &Present<'_>) -> u64 {
        self.claim.as_ref().map_or(u64::MAX, |(_, expiry)| present.clocks[0].time_of(*expiry))
    }

    fn remove(&mut self) {
        self.claim = None;
    }

    fn restart(&mut self, _: &Present<'_>, _: usize) {}

    fn wipe(&mut self) {
        *self = ClaimStore::default();
    }

    fn backup(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }
}
