//! A locked file on one host: contenders judge expiry, and a lock that dies with its process shows a dead holder.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure::Moment;
use tenure::backend::{Bid, Cover, Expiry, Grant, Held, Hint, Renewal, Sight, Standing, TenureId, Vacancy, Version};

use super::{Present, Push, Reply, Request, Store, Truth};
use crate::history::Fact;

/// One record that is never deleted, and the liveness locks of tenures.
#[derive(Clone, Debug, Default)]
pub struct FileStore {
    holder: Option<Holder>,
    released_by: Option<TenureId>,
    version: u64,
    term: u64,
    /// Processes that died: their locks are free.
    dead: BTreeSet<usize>,
    pushes: Vec<Push>,
    facts: Vec<Fact>,
}

#[derive(Clone, Debug)]
struct Holder {
    tenure: TenureId,
    name: Arc<str>,
    lease: Duration,
    /// The process that holds the lock of this tenure.
    process: usize,
    /// The record says that the guarded work dies with the process.
    mortal: bool,
}

impl FileStore {
    /// κ: how long a dead process's work may outlive its lock (SAFETY 2c).
    pub const KAPPA: Duration = Duration::from_secs(1);

    fn written(&mut self) {
        self.version += 1;
        let sight = self.look();
        self.pushes.push((None, Hint::Seen(sight)));
    }

    fn is_of(&self, tenure: TenureId) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.tenure == tenure)
    }

    fn look(&self) -> Sight {
        let Some(Holder { tenure, name, lease, process, mortal }) = &self.holder else {
            return Sight::Vacant(self.released_by.map_or(Vacancy::Free, |by| Vacancy::Released { by }));
        };
        let expiry = if *mortal && self.dead.contains(process) {
            Expiry::Dead { after: Self::KAPPA }
        } else {
            Expiry::Observe { recorded: *lease }
        };
        Sight::Held(Held {
            version: Version::number(self.version),
            tenure: Some(*tenure),
            holder: name.clone(),
            token: Some(self.term),
            since: None,
            advertise: Arc::default(),
            asked_to_resign: false,
            expiry,
        })
    }

    fn grant(&self, bid: &Bid, over: Vacancy) -> Grant {
        Grant {
            tenure: bid.tenure(),
            version: Version::number(self.version),
            token: Some(self.term),
            incarnation: None,
            cover: Cover::Own { ttl: bid.lease() },
            over,
            asked_to_resign: false,
        }
    }

    fn stand(&mut self, bid: &Bid, process: usize, now: Moment) -> Standing {
        let mut over = Vacancy::Free;
        match &self.holder {
            Some(holder) if holder.tenure == bid.tenure() => {}
            Some(_) if bid.displace() != Some(&Version::number(self.version)) => return Standing::Held(self.look()),
            _ => {
                let dead = |holder: &Holder| holder.mortal && self.dead.contains(&holder.process);
                if self.holder.as_ref().is_some_and(dead) {
                    self.facts.push(Fact::DeadDisplaced);
                }
                if let (None, Some(by)) = (&self.holder, self.released_by) {
                    over = Vacancy::Released { by };
                }
                self.term = (self.term + 1).max(now.as_nanos() / 1_000);
            }
        }
        self.holder = Some(Holder {
            tenure: bid.tenure(),
            name: bid.shared_name(),
            lease: bid.lease(),
            process,
            mortal: bid.work_ends_with_process(),
        });
        self.released_by = None;
        self.written();
        Standing::Elected(self.grant(bid, over))
    }
}

impl Store for FileStore {
    fn apply(&mut self, now: Moment, _: usize, client: usize, request: &Request) -> Reply {
        match request {
            Request::Stand(bid, _) => Reply::Stood(self.stand(bid, client, now)),
            Request::Renew(bid, version) => {
                if self.is_of(bid.tenure()) && Version::number(self.version) == *version {
                    self.written();
                    Reply::Renewed(Renewal::Extended(self.grant(bid, Vacancy::Free)))
                } else {
                    Reply::Renewed(Renewal::Mismatch(self.look()))
                }
            }
            Request::Withdraw(bid) => {
                if self.is_of(bid.tenure()) {
                    self.holder = None;
                    self.released_by = Some(bid.tenure());
                    self.written();
                }
                Reply::Done(true)
            }
            Request::Inspect => Reply::Seen(self.look()),
            other => unreachable!("{other:?} is not for this store"),
        }
    }

    fn truth(&mut self, _: &Present<'_>) -> Option<Truth> {
        self.holder.as_ref().map(|holder| Truth { tenure: Some(holder.tenure), token: Some(self.term) })
    }

    fn pushes(&mut self) -> Vec<Push> {
        std::mem::take(&mut self.pushes)
    }

    fn next_expiry(&self, _: &Present<'_>) -> u64 {
        u64::MAX
    }

    fn remove(&mut self) {
        // The side file keeps the number.
        (self.holder, self.released_by) = (None, None);
        self.written();
    }

    fn restart(&mut self, _: &Present<'_>, _: usize) {}

    fn wipe(&mut self) {
        (self.holder, self.released_by, self.term) = (None, None, 0);
        self.pushes.push((None, Hint::Lagged));
    }

    fn backup(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }

    fn died(&mut self, client: usize) {
        self.dead.insert(client);
        // The lock's file is closed with the process, and that is an event of its own.
        if self.holder.as_ref().is_some_and(|holder| holder.process == client) {
            self.pushes.push((None, Hint::Changed));
        }
    }

    fn facts(&mut self) -> Vec<Fact> {
        std::mem::take(&mut self.facts)
    }

    fn restored(&mut self, incarnation: u64) {
        self.version += incarnation;
        self.pushes.push((None, Hint::Lagged));
    }
}
