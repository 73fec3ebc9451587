//! A client of independent masters: Redlock, with the two-round token of SAFETY's table.
//!
//! A lock on a majority is the office. Round one takes locks and reads counters; the token is one above the highest of a majority. Round two raises
//! the counters of exactly those masters, each only where the lock is still of this attempt and the counter below the token; unless a
//! majority does, the win is none.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::{
    Answer, Attempt, Backend, Bid, Cover, Expiry, Grant, Held, Promise, Renewal, Sight, Standing, Traits, Vacancies,
    Vacancy, Version,
};
use tenure::{Error, Seat};

use super::Wire;
use super::wire::Asking;
use crate::rng::Rng;
use crate::store::{Lock, Reply, Request};

/// A client of so many masters.
#[derive(Debug)]
pub(super) struct Redlock {
    pub(super) wire: Wire,
    pub(super) masters: usize,
}

impl Redlock {
    fn majority(&self) -> usize {
        self.masters / 2 + 1
    }

    /// Asks some masters at once, until `enough` have answered what `counts` takes, or cannot any more; what came until then.
    async fn ask(
        &self,
        servers: impl IntoIterator<Item = usize>,
        request: &Request,
        counts: impl Fn(&Reply) -> bool + Send,
    ) -> Vec<(usize, Reply)> {
        let mut open: Vec<(usize, Asking)> =
            servers.into_iter().map(|server| (server, self.wire.ask(server, request.clone()))).collect();
        let (mut heard, mut counted): (Vec<(usize, Reply)>, usize) = (Vec::new(), 0);
        std::future::poll_fn(move |context| {
            let mut still = Vec::with_capacity(open.len());
            for (server, mut asking) in open.drain(..) {
                match std::pin::Pin::new(&mut asking).poll(context) {
                    std::task::Poll::Pending => still.push((server, asking)),
                    std::task::Poll::Ready(Err(_)) => {}
                    std::task::Poll::Ready(Ok(reply)) => {
                        counted += usize::from(counts(&reply));
                        heard.push((server, reply));
                    }
                }
            }
            open = still;
            let enough = counted >= self.majority() || counted + open.len() < self.majority();
            if enough { std::task::Poll::Ready(std::mem::take(&mut heard)) } else { std::task::Poll::Pending }
        })
        .await
    }

    async fn run(&self, bid: &Bid, attempt: Attempt) -> Result<Standing, Error> {
        // A fresh number for every attempt, so that a late message of an earlier one finds nothing of its own.
        let nonce = Rng::new(bid.tenure().nonce() ^ attempt.id.0.rotate_left(32)).word();
        let lock = Lock { nonce, tenure: bid.tenure(), holder: bid.shared_name(), ttl: bid.lease() };
        let first = self.ask(0..self.masters, &Request::Lock(lock), |reply| matches!(reply, Reply::Locked(_))).await;
        let counters: Vec<(usize, u64)> = first
            .iter()
            .filter_map(|(server, reply)| match reply {
                Reply::Locked(counter) => Some((*server, *counter)),
                _ => None,
            })
            .collect();
        if counters.len() < self.majority() {
            self.give_back(nonce);
            if first.len() < self.majority() {
                return Err(Error::unknown_outcome("no majority of masters answered"));
            }
            return Ok(Standing::Held(self.sight(&first)));
        }
        let token = counters.iter().map(|(_, counter)| *counter).max().unwrap_or(0) + 1;
        let used = counters.iter().map(|(server, _)| *server);
        let raised = self.ask(used, &Request::Raise(nonce, token), |reply| matches!(reply, Reply::Done(true))).await;
        if raised.iter().filter(|(_, reply)| matches!(reply, Reply::Done(true))).count() < self.majority() {
            self.give_back(nonce);
            return Err(Error::unknown_outcome("no majority of masters took the token"));
        }
        Ok(Standing::Elected(grant(bid, nonce, Some(token))))
    }

    async fn extend(&self, bid: &Bid, version: &Version) -> Result<Renewal, Error> {
        let nonce = version.as_number().unwrap_or(0);
        let answers = self
            .ask(0..self.masters, &Request::Prolong(nonce, bid.lease()), |reply| matches!(reply, Reply::Done(true)))
            .await;
        let extended = answers.iter().filter(|(_, reply)| matches!(reply, Reply::Done(true))).count();
        if extended >= self.majority() {
            return Ok(Renewal::Extended(grant(bid, nonce, None)));
        }
        if answers.len() - extended >= self.majority() {
            return Ok(Renewal::Mismatch(Sight::Vacant(Vacancy::Free)));
        }
        Err(Error::unknown_outcome("no majority of masters answered"))
    }

    /// Whoever has a majority holds the office. Where the locks are split, nobody does, and nobody will tell when that changes.
    fn sight(&self, answers: &[(usize, Reply)]) -> Sight {
        let held: Vec<_> = answers.iter().filter_map(|(_, reply)| taken(reply)).collect();
        let votes = |tenure| held.iter().filter(|(lock, _)| lock.tenure == tenure).count();
        let Some((lock, remaining)) = held.iter().find(|(lock, _)| votes(lock.tenure) >= self.majority()) else {
            return Sight::Vacant(Vacancy::Free);
        };
        Sight::Held(Held {
            version: Version::number(lock.nonce),
            tenure: Some(lock.tenure),
            holder: lock.holder.clone(),
            token: None,
            since: None,
            advertise: Arc::default(),
            asked_to_resign: false,
            expiry: Expiry::Store { remaining: Some(*remaining) },
        })
    }

    /// Gives back what was had of a majority that was not, without waiting for anybody. By the nonce: a late message by the tenure would unlock its
    /// next attempt.
    fn give_back(&self, nonce: u64) {
        for server in 0..self.masters {
            drop(self.wire.ask(server, Request::Release(nonce)));
        }
    }
}

fn taken(reply: &Reply) -> Option<&(Lock, Duration)> {
    match reply {
        Reply::Taken(Some(taken)) => Some(taken),
        _ => None,
    }
}

fn grant(bid: &Bid, nonce: u64, token: Option<u64>) -> Grant {
    Grant {
        tenure: bid.tenure(),
        version: Version::number(nonce),
        token,
        incarnation: None,
        cover: Cover::Own { ttl: bid.lease() },
        over: Vacancy::Free,
        asked_to_resign: false,
    }
}

impl Backend for Redlock {
    fn traits(&self) -> Traits {
        let mut traits = Traits::new(Promise::Fenced);
        traits.vacancies = Vacancies::Pushed;
        traits
    }

    fn place(&self) -> String {
        "simulated masters".into()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, attempt: Attempt) -> Answer<'a, Standing> {
        Box::pin(self.run(bid, attempt))
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        Box::pin(self.extend(bid, version))
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(async move {
            let answers = self.ask(0..self.masters, &Request::Unlock(bid.tenure()), |_| true).await;
            if answers.len() < self.majority() {
                return Err(Error::unknown_outcome("no majority of masters answered"));
            }
            Ok(())
        })
    }

    fn inspect<'a>(&'a self, _: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(async move {
            let answers = self.ask(0..self.masters, &Request::Peek, |_| true).await;
            if answers.len() < self.majority() {
                return Err(Error::unavailable("no majority of masters answered"));
            }
            Ok(self.sight(&answers))
        })
    }
}
