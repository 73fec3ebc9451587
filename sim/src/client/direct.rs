//! A client of a store that does a whole call in one step.

use tenure::backend::{Answer, Attempt, Backend, Beat, Bid, Renewal, SessionId, Sight, Standing, Traits, Version};
use tenure::{Error, Seat};

use super::Wire;
use crate::store::{Reply, Request};

/// Forwards calls.
#[derive(Debug)]
pub(super) struct Direct {
    pub(super) wire: Wire,
    pub(super) traits: Traits,
}

impl Direct {
    async fn ask(&self, request: Request) -> Result<Reply, Error> {
        self.wire.ask(0, request).await
    }
}

impl Backend for Direct {
    fn traits(&self) -> Traits {
        self.traits
    }

    fn place(&self) -> String {
        "simulated".into()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, attempt: Attempt) -> Answer<'a, Standing> {
        Box::pin(async move {
            match self.ask(Request::Stand(bid.clone(), attempt.sent)).await? {
                Reply::Stood(standing) => Ok(standing),
                other => unreachable!("{other:?} to a bid"),
            }
        })
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        Box::pin(async move {
            match self.ask(Request::Renew(bid.clone(), version.clone())).await? {
                Reply::Renewed(renewal) => Ok(renewal),
                other => unreachable!("{other:?} to a renewal"),
            }
        })
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(async move { self.ask(Request::Withdraw(bid.clone())).await.map(drop) })
    }

    fn inspect<'a>(&'a self, _: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(async move {
            match self.ask(Request::Inspect).await? {
                Reply::Seen(sight) => Ok(sight),
                other => unreachable!("{other:?} to a look"),
            }
        })
    }

    fn heartbeat<'a>(&'a self, session: SessionId, attempt: Attempt) -> Answer<'a, Beat> {
        Box::pin(async move {
            match self.ask(Request::Beat(session, attempt.sent)).await? {
                Reply::Beat(beat) => Ok(beat),
                other => unreachable!("{other:?} to a heartbeat"),
            }
        })
    }
}
