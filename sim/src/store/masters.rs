//! Independent masters, each with a lock and a counter: Redlock. A majority of locks is the office.

use std::time::Duration;

use tenure::Moment;
use tenure::backend::{Hint, TenureId};

use super::{Lock, Present, Push, Reply, Request, Store, Truth};

/// N masters that know nothing of each other.
#[derive(Clone, Debug)]
pub struct Masters {
    masters: Vec<Master>,
    /// Whether the office was held when it was looked at last.
    held: bool,
    pushes: Vec<Push>,
}

#[derive(Clone, Debug, Default)]
struct Master {
    lock: Option<(Lock, Moment)>,
    counter: u64,
}

impl Masters {
    /// So many masters.
    pub fn new(number: usize) -> Self {
        Masters { masters: vec![Master::default(); number], held: false, pushes: Vec::new() }
    }

    fn expire(&mut self, server: usize, now: Moment) {
        if self.masters[server].lock.as_ref().is_some_and(|(_, expiry)| now >= *expiry) {
            self.masters[server].lock = None;
        }
    }
}

impl Master {
    fn has(&self, nonce: u64) -> bool {
        self.lock.as_ref().is_some_and(|(lock, _)| lock.nonce == nonce)
    }

    fn taken(&self, now: Moment) -> Option<(Lock, Duration)> {
        self.lock.as_ref().map(|(lock, expiry)| (lock.clone(), expiry.since(now)))
    }
}

impl Store for Masters {
    fn apply(&mut self, now: Moment, server: usize, _: usize, request: &Request) -> Reply {
        self.expire(server, now);
        let master = &mut self.masters[server];
        match request {
            Request::Lock(lock) => {
                if master.lock.is_some() && !master.has(lock.nonce) {
                    return Reply::Taken(master.taken(now));
                }
                master.lock = Some((lock.clone(), now.after(lock.ttl)));
                Reply::Locked(master.counter)
            }
            Request::Raise(nonce, token) => {
                let raised = master.has(*nonce) && master.counter < *token;
                if raised {
                    master.counter = *token;
                }
                Reply::Done(raised)
            }
            Request::Prolong(nonce, ttl) => {
                let ours = master.has(*nonce);
                if let (true, Some((_, expiry))) = (ours, &mut master.lock) {
                    *expiry = now.after(*ttl);
                }
                Reply::Done(ours)
            }
            Request::Unlock(tenure) => {
                if master.lock.as_ref().is_some_and(|(lock, _)| lock.tenure == *tenure) {
                    master.lock = None;
                }
                Reply::Done(true)
            }
            Request::Release(nonce) => {
                if master.has(*nonce) {
                    master.lock = None;
                }
                Reply::Done(true)
            }
            Request::Peek => Reply::Taken(master.taken(now)),
            other => unreachable!("{other:?} is not for this store"),
        }
    }

    fn truth(&mut self, present: &Present<'_>) -> Option<Truth> {
        for server in 0..self.masters.len() {
            self.expire(server, present.at(server));
        }
        let holders = self.masters.iter().filter_map(|master| Some(master.lock.as_ref()?.0.tenure));
        let tenures: Vec<TenureId> = holders.collect();
        let needed = self.masters.len() / 2 + 1;
        let holder = tenures.iter().find(|one| tenures.iter().filter(|other| other == one).count() >= needed);
        // A client hears from every master and tells only that a majority is free: a push for every lock that a loser gives back would set all of
        // them on again.
        if std::mem::replace(&mut self.held, holder.is_some()) && holder.is_none() {
            self.pushes.push((None, Hint::Vacant));
        }
        holder.map(|tenure| Truth { tenure: Some(*tenure), token: None })
    }

    fn pushes(&mut self) -> Vec<Push> {
        std::mem::take(&mut self.pushes)
    }

    fn next_expiry(&self, present: &Present<'_>) -> u64 {
        let expiries = self.masters.iter().zip(present.clocks);
        expiries.filter_map(|(master, clock)| Some(clock.time_of(master.lock.as_ref()?.1))).min().unwrap_or(u64::MAX)
    }

    fn remove(&mut self) {
        for master in &mut self.masters {
            master.lock = None;
        }
    }

    fn restart(&mut self, _: &Present<'_>, _: usize) {}

    fn wipe(&mut self) {
        *self = Masters::new(self.masters.len());
        self.pushes.push((None, Hint::Lagged));
    }

    fn backup(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }

    fn restored(&mut self, _: u64) {
        self.pushes.push((None, Hint::Lagged));
    }
}
