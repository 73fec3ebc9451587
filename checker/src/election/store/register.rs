//! A store that only writes conditionally: contenders judge expiry (SAFETY 4).

use tenure::backend::TenureId;

use super::Truth;
use crate::election::message::{Ends, Granted, Reply, Request, Seen};

/// One record with a version and a term; it is never deleted and never expires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegisterStore {
    holder: Option<Holder>,
    released_by: Option<TenureId>,
    version: u64,
    pub(super) term: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Holder {
    tenure: TenureId,
    node: u8,
    /// The holder's own lease in milliseconds, as it wrote it.
    lease: u64,
}

impl RegisterStore {
    pub(super) fn apply(&mut self, node: u8, request: &Request, lease: u64) -> Reply {
        match request {
            Request::Stand { tenure, displace } => self.stand(*tenure, *displace, node, lease),
            Request::Renew { tenure, version } => {
                if self.is_held_by(*tenure) && self.version == *version {
                    self.version += 1;
                    Reply::Extended(self.granted_to(*tenure, lease, None))
                } else {
                    Reply::Mismatch(self.seen())
                }
            }
            Request::Withdraw { tenure } => {
                if self.is_held_by(*tenure) {
                    self.holder = None;
                    self.released_by = Some(*tenure);
                    self.version += 1;
                }
                Reply::Withdrew
            }
            Request::Inspect => Reply::Inspected(self.seen()),
            Request::Beat { session } => Reply::NoSession(*session),
        }
    }

    pub(super) fn truth(&self) -> Option<Truth> {
        let Holder { tenure, node, .. } = self.holder.clone()?;
        Some(Truth { tenure, node, token: self.term, version: self.version })
    }

    fn stand(&mut self, tenure: TenureId, displace: Option<u64>, node: u8, lease: u64) -> Reply {
        if !self.is_held_by(tenure) {
            if self.holder.is_some() && displace != Some(self.version) {
                return Reply::Held(self.seen());
            }
            self.term += 1;
        }
        let released_by = self.released_by.take();
        self.holder = Some(Holder { tenure, node, lease });
        self.version += 1;
        Reply::Elected(self.granted_to(tenure, lease, released_by))
    }

    fn is_held_by(&self, tenure: TenureId) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.tenure == tenure)
    }

    fn granted_to(&self, tenure: TenureId, lease: u64, released_by: Option<TenureId>) -> Granted {
        Granted { tenure, version: self.version, token: self.term, ttl: lease, session: None, released_by }
    }

    fn seen(&self) -> Seen {
        match &self.holder {
            None => Seen::Vacant(self.released_by),
            Some(Holder { tenure, node, lease }) => Seen::Held {
                version: self.version,
                tenure: *tenure,
                node: *node,
                token: self.term,
                ends: Ends::Observe(*lease),
            },
        }
    }
}
