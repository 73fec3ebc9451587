//! A store that expires keys by its own clock.

use std::time::Duration;

use tenure::Moment;
use tenure::backend::TenureId;

use super::Truth;
use crate::election::message::{Ends, Granted, Reply, Request, Seen};

/// A rule of the seam that a store breaks, to show that the checks notice (SAFETY 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// A renewal makes the record anew where it is gone.
    RenewCreates,
    /// A renewal extends whatever record is there, and makes it its own.
    RenewsAnybody,
    /// A withdrawal removes whatever record is there.
    WithdrawsAnybody,
    /// The counter is not kept when the record goes.
    CounterForgotten,
}

/// One key, and a counter that outlives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TtlStore {
    record: Option<Record>,
    writes: u64,
    pub(super) counter: u64,
    grants: Option<u64>,
    pub(super) flaw: Option<Flaw>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Record {
    tenure: TenureId,
    node: u8,
    version: u64,
    token: u64,
    expiry: Moment,
}

impl TtlStore {
    pub(super) fn new(grants: Option<u64>, flaw: Option<Flaw>) -> Self {
        TtlStore { record: None, writes: 0, counter: 0, grants, flaw }
    }

    pub(super) fn expire(&mut self, now: Moment) -> bool {
        let over = self.record.as_ref().is_some_and(|record| now >= record.expiry);
        if over {
            self.record = None;
            if self.flaw == Some(Flaw::CounterForgotten) {
                self.counter = 0;
            }
        }
        over
    }

    pub(super) fn apply(&mut self, now: Moment, node: u8, request: &Request, lease: u64) -> Reply {
        let ttl = self.grants.unwrap_or(lease);
        match request {
            Request::Stand { tenure, .. } => match &self.record {
                Some(record) if record.tenure != *tenure => Reply::Held(self.seen(now)),
                Some(_) => Reply::Elected(self.extend(ttl, now)),
                None => Reply::Elected(self.take(*tenure, node, ttl, now)),
            },
            Request::Renew { tenure, version } => match &self.record {
                Some(record) if record.version == *version => Reply::Extended(self.extend(ttl, now)),
                Some(_) if self.flaw == Some(Flaw::RenewsAnybody) => {
                    Reply::Extended(self.take(*tenure, node, ttl, now))
                }
                None if self.flaw == Some(Flaw::RenewCreates) => Reply::Extended(self.take(*tenure, node, ttl, now)),
                _ => Reply::Mismatch(self.seen(now)),
            },
            Request::Withdraw { tenure } => {
                let anybody = self.flaw == Some(Flaw::WithdrawsAnybody);
                self.record = self.record.take().filter(|record| record.tenure != *tenure && !anybody);
                Reply::Withdrew
            }
            Request::Inspect => Reply::Inspected(self.seen(now)),
            Request::Beat { session } => Reply::NoSession(*session),
        }
    }

    pub(super) fn truth(&self) -> Option<Truth> {
        let Record { tenure, node, version, token, .. } = self.record.clone()?;
        Some(Truth { tenure, node, token, version })
    }

    fn take(&mut self, tenure: TenureId, node: u8, ttl: u64, now: Moment) -> Granted {
        self.counter += 1;
        self.record = Some(Record { tenure, node, version: 0, token: self.counter, expiry: now });
        self.extend(ttl, now)
    }

    fn extend(&mut self, ttl: u64, now: Moment) -> Granted {
        self.writes += 1;
        let record = self.record.as_mut().expect("only what is there is extended");
        record.version = self.writes;
        record.expiry = now.after(Duration::from_millis(ttl));
        let Record { tenure, version, token, .. } = *record;
        Granted { tenure, version, token, ttl, session: None, released_by: None }
    }

    fn seen(&self, now: Moment) -> Seen {
        match &self.record {
            None => Seen::Vacant(None),
            Some(Record { tenure, node, version, token, expiry }) => Seen::Held {
                version: *version,
                tenure: *tenure,
                node: *node,
                token: *token,
                ends: Ends::Store(Some(expiry.since(now).as_millis() as u64)),
            },
        }
    }
}
