//! A store that only writes conditionally, as Kubernetes, DynamoDB, object stores and a locked file do: contenders judge expiry.

use std::sync::Arc;
use std::time::Duration;

use tenure::Moment;
use tenure::backend::{
    Bid, Cover, Expiry, Grant, Held, Hint, Promise, Renewal, Sight, Standing, TenureId, Traits, Vacancies, Vacancy,
    Version,
};
use tenure::machine::Outcome;

use super::{Reply, Request, Store, Truth};

/// One record with a version and a term; it is never deleted, and never expires.
#[derive(Debug)]
pub struct RegisterStore {
    holder: Option<(TenureId, Arc<str>, Duration)>,
    released_by: Option<TenureId>,
    version: u64,
    term: u64,
    /// Whether changes are pushed with the record, as a Kubernetes watch does.
    pushed: bool,
    pushes: Vec<(Option<usize>, Hint)>,
}

impl RegisterStore {
    /// An empty register that pushes its changes, or not.
    pub fn new(pushed: bool) -> Self {
        RegisterStore { holder: None, released_by: None, version: 0, term: 0, pushed, pushes: Vec::new() }
    }

    fn written(&mut self) {
        self.version += 1;
        if self.pushed {
            let sight = self.look();
            self.pushes.push((None, Hint::Seen(sight)));
        }
    }

    fn look(&self) -> Sight {
        match (&self.holder, self.released_by) {
            (Some((tenure, holder, lease)), _) => Sight::Held(Held {
                version: Version::number(self.version),
                tenure: Some(*tenure),
                holder: holder.clone(),
                token: Some(self.term),
                since: None,
                advertise: Arc::default(),
                asked_to_resign: false,
                expiry: Expiry::Observe { recorded: *lease },
            }),
            (None, Some(by)) => Sight::Vacant(Vacancy::Released { by }),
            (None, None) => Sight::Vacant(Vacancy::Free),
        }
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

    fn stand(&mut self, bid: &Bid) -> Standing {
        let over = match &self.holder {
            Some((tenure, ..)) if *tenure == bid.tenure() => Vacancy::Free,
            Some(_) if bid.displace() != Some(&Version::number(self.version)) => return Standing::Held(self.look()),
            None if self.released_by.is_some() => {
                self.term += 1;
                Vacancy::Released { by: self.released_by.expect("just seen") }
            }
            _ => {
                self.term += 1;
                Vacancy::Free
            }
        };
        self.holder = Some((bid.tenure(), bid.shared_name(), bid.lease()));
        self.released_by = None;
        self.written();
        Standing::Elected(self.grant(bid, over))
    }
}

impl Store for RegisterStore {
    fn traits(&self) -> Traits {
        let mut traits = Traits::new(Promise::Fenced);
        traits.contenders_judge = true;
        traits.names_releases = true;
        traits.vacancies = if self.pushed { Vacancies::Pushed } else { Vacancies::Polled };
        traits
    }

    fn apply(&mut self, _: Moment, _: usize, _: Moment, request: &Request) -> Reply {
        Reply::Outcome(match request {
            Request::Stand(bid) => Outcome::Stood(self.stand(bid)),
            Request::Renew(bid, version) => {
                let ours = self.holder.as_ref().is_some_and(|(tenure, ..)| *tenure == bid.tenure());
                if ours && Version::number(self.version) == *version {
                    self.written();
                    Outcome::Renewed(Renewal::Extended(self.grant(bid, Vacancy::Free)))
                } else {
                    Outcome::Renewed(Renewal::Mismatch(self.look()))
                }
            }
            Request::Withdraw(bid) => {
                if self.holder.as_ref().is_some_and(|(tenure, ..)| *tenure == bid.tenure()) {
                    self.holder = None;
                    self.released_by = Some(bid.tenure());
                    self.written();
                }
                Outcome::Withdrew
            }
            Request::Inspect => Outcome::Inspected(self.look()),
            Request::Beat(..) | Request::Watch => return Reply::Done,
        })
    }

    fn truth(&mut self, _: Moment) -> Option<Truth> {
        self.holder.as_ref().map(|(tenure, ..)| Truth { tenure: Some(*tenure), token: Some(self.term) })
    }

    fn sight(&mut self, _: Moment) -> Sight {
        self.look()
    }

    fn pushes(&mut self) -> Vec<(Option<usize>, Hint)> {
        std::mem::take(&mut self.pushes)
    }

    fn next_expiry(&self) -> Moment {
        Moment::NEVER
    }

    fn remove(&mut self) {
        // Its term goes on: a record that is made anew after a deletion is a wipe, and that is another fault.
        self.holder = None;
        self.released_by = None;
        self.written();
    }
}
