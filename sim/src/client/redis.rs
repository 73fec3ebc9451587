//! A client of Redis: the steps of a call in one packet, and the verdict on their answers, as `crates/tenure-redis` has them.

use std::sync::atomic::{AtomicU64, Ordering};

use tenure::backend::{Answer, Attempt, Backend, Bid, Renewal, Sight, Standing, Traits, Vacancy, Version};
use tenure::{Error, Seat};

use super::Wire;
use crate::store::{Drawer, Packet, Reply, Request, Said, Script};

/// A client of one server.
#[derive(Debug)]
pub(super) struct Redis {
    pub(super) wire: Wire,
    pub(super) traits: Traits,
    /// Counts the bids of this process.
    pub(super) draws: AtomicU64,
}

impl Redis {
    /// Runs the steps of a call, and gives the one answer that says something. What an `optional` last step comes to changes nothing.
    async fn call(&self, steps: Vec<Script>, optional: bool) -> Result<Said, Error> {
        let mut said = self.send(&steps, false).await?;
        // What the server does not know it has not run; what follows has found nothing to do, and does it now.
        if let Some(first) = said.iter().position(|said| matches!(said, Said::Unknown)) {
            said.truncate(first);
            said.extend(self.send(&steps[first..], true).await?);
        }
        let needed = said.len() - usize::from(optional);
        if said[..needed].iter().any(|said| matches!(said, Said::Refused)) {
            let error = Error::unavailable("the server refused a script");
            return Err(if said.iter().any(Said::has_landed) { error.indeterminate() } else { error });
        }
        let telling = said.into_iter().rfind(|said| !matches!(said, Said::Done | Said::Refused));
        Ok(telling.unwrap_or(Said::Seen(Sight::Vacant(Vacancy::Free))))
    }

    async fn send(&self, steps: &[Script], in_full: bool) -> Result<Vec<Said>, Error> {
        let packet = Packet { steps: steps.iter().cloned().collect(), in_full, said: Vec::new() };
        match self.wire.ask(0, Request::Scripts(packet)).await? {
            Reply::Scripts(said) => Ok(said),
            other => unreachable!("{other:?} to scripts"),
        }
    }
}

fn sight(said: Said) -> Sight {
    match said {
        Said::Seen(sight) => sight,
        _ => Sight::Vacant(Vacancy::Free),
    }
}

impl Backend for Redis {
    fn traits(&self) -> Traits {
        self.traits
    }

    fn place(&self) -> String {
        "simulated Redis".into()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, _: Attempt) -> Answer<'a, Standing> {
        Box::pin(async move {
            let drawer = Drawer(bid.tenure(), self.draws.fetch_add(1, Ordering::Relaxed));
            let (draw, stand) = (Script::Draw(bid.clone(), drawer), Script::Stand(bid.clone(), drawer));
            match self.call(vec![draw, stand, Script::Tell(Some(bid.tenure()))], true).await? {
                Said::Ours(grant) => Ok(Standing::Elected(grant)),
                other => Ok(Standing::Held(sight(other))),
            }
        })
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        Box::pin(async move {
            match self.call(vec![Script::Renew(bid.clone(), version.clone())], false).await? {
                Said::Ours(grant) => Ok(Renewal::Extended(grant)),
                other => Ok(Renewal::Mismatch(sight(other))),
            }
        })
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        let steps = vec![Script::Withdraw(bid.tenure()), Script::Tell(None)];
        Box::pin(async move { self.call(steps, false).await.map(drop) })
    }

    fn inspect<'a>(&'a self, _: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(async move { self.call(vec![Script::Inspect], false).await.map(sight) })
    }
}
