//! A TTL store over the wire, for the library's adapter.

use std::time::Duration;

use tenure::adapter::{Claim, Claimant, Look, TtlStore};
use tenure::backend::{Promise, Traits};
use tenure::{Error, Seat};

use super::Wire;
use crate::store::{Reply, Request};

/// One key on a server.
#[derive(Debug)]
pub(super) struct WiredClaims {
    pub(super) wire: Wire,
}

impl WiredClaims {
    async fn did(&self, request: Request) -> Result<bool, Error> {
        match self.wire.ask(0, request).await? {
            Reply::Done(done) => Ok(done),
            other => unreachable!("{other:?} to a write"),
        }
    }
}

/// The claim without the wall-clock time that it carries for people: that is not the same in every run, and nothing may depend on it.
fn timeless(claim: &Claim<Claimant>) -> Claim<Claimant> {
    Claim::new(Claimant { since: None, ..claim.value().clone() }, claim.tenure(), claim.write())
}

impl TtlStore<Seat, Claim<Claimant>> for WiredClaims {
    async fn insert_if_absent(&self, _: &Seat, value: &Claim<Claimant>, ttl: Duration) -> Result<bool, Error> {
        self.did(Request::Insert(Box::new(timeless(value)), ttl)).await
    }

    async fn compare_and_swap(
        &self,
        _: &Seat,
        old: &Claim<Claimant>,
        new: &Claim<Claimant>,
        ttl: Duration,
    ) -> Result<bool, Error> {
        self.did(Request::Swap(Box::new((timeless(old), timeless(new))), ttl)).await
    }

    async fn compare_and_delete(&self, _: &Seat, value: &Claim<Claimant>) -> Result<bool, Error> {
        self.did(Request::Delete(Box::new(timeless(value)))).await
    }

    async fn look(&self, _: &Seat) -> Result<Look<Claim<Claimant>>, Error> {
        match self.wire.ask(0, Request::Look).await? {
            Reply::Claim(Look::Present { value, remaining }) => Ok(Look::Present { value: *value, remaining }),
            Reply::Claim(_) => Ok(Look::Absent),
            other => unreachable!("{other:?} to a look"),
        }
    }

    async fn next_token(&self, _: &Seat) -> Result<u64, Error> {
        match self.wire.ask(0, Request::Draw).await? {
            Reply::Number(number) => Ok(number),
            other => unreachable!("{other:?} to a draw"),
        }
    }

    fn traits(&self) -> Traits {
        Traits::new(Promise::Fenced)
    }
}
