//! One office as a store keeps it: the specification that answers are compared with.

use std::collections::BTreeSet;

use tenure::Moment;
use tenure::backend::TenureId;

use crate::call::{Act, Call, Granted, Look, Outcome};

/// How a store of this kind behaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// What a bid asks for, in nanoseconds.
    pub(super) lease: u64,
    /// Nothing expires by itself.
    pub(super) contenders_judge: bool,
}

/// The record, as far as it is known, and who waits. That somebody waits allows more and forbids nothing: only what was answered takes anybody out, and
/// calls without an answer do not make a state of each set of those who may have left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Office {
    record: Held,
    queue: BTreeSet<TenureId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Held {
    #[default]
    Nobody,
    /// Somebody changed it behind the store's back: the next look tells.
    Anything,
    By(Entry),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    tenure: Option<TenureId>,
    version: Seen,
    token: Option<u64>,
    /// No sooner can it have run out.
    lasts_until: u64,
    session: Option<u64>,
}

/// A version, or that nobody has seen it yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Seen {
    Known(String),
    /// It is new, so it is not this one.
    Other(String),
    Unknown,
}

impl Seen {
    fn may_be(&self, version: &str) -> bool {
        match self {
            Seen::Known(known) => known == version,
            Seen::Other(other) => other != version,
            Seen::Unknown => true,
        }
    }
}

impl Office {
    /// After somebody changed the record by hand; these may wait as well.
    pub(super) fn touched(&self, waits: &BTreeSet<TenureId>) -> Self {
        Office { record: Held::Anything, queue: self.queue.union(waits).copied().collect() }
    }

    /// The office without how long it lasts, and that: what lasts for less allows more.
    pub(super) fn split(&self) -> (Self, u64) {
        let mut office = self.clone();
        let until = match &mut office.record {
            Held::By(entry) => std::mem::take(&mut entry.lasts_until),
            _ => 0,
        };
        (office, until)
    }

    /// What the office may be after a call that was answered so and takes effect no later than `by`; nothing when that answer cannot be. A call
    /// without an answer is told only where it changes something.
    pub(super) fn after(&self, call: &Call, by: Moment, rules: Rules) -> Vec<Office> {
        let at = Instant { start: call.start.as_nanos(), end: by.as_nanos(), rules };
        match (&call.act, &call.outcome) {
            (Act::Stand { tenure, displace }, outcome) => self.stood(*tenure, displace.as_deref(), outcome, at),
            (Act::Renew { tenure, version }, outcome) => self.renewed(*tenure, version, outcome, at),
            (Act::Withdraw { tenure }, outcome) => self.withdrawn(*tenure, *outcome == Outcome::Unknown),
            (Act::Beat { session }, Outcome::Beaten { ttl }) => vec![self.beaten(*session, at.start + ttl)],
            (Act::Beat { session }, Outcome::SessionLost) => self.session_lost(*session, at),
            (_, Outcome::Saw(look)) => self.seen(look, at).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn stood(&self, tenure: TenureId, displace: Option<&str>, outcome: &Outcome, at: Instant) -> Vec<Office> {
        let own = self.is_of(tenure);
        let displaced =
            matches!((&self.record, displace), (Held::By(entry), Some(version)) if entry.version.may_be(version));
        let free = self.may_be_vacant(at) || displaced;
        let won = |entry: Entry| {
            let mut queue = self.queue.clone();
            queue.remove(&tenure);
            Office { record: Held::By(entry), queue }
        };
        match outcome {
            Outcome::Granted(grant) if own.is_some_and(|entry| is_new_token(entry, grant)) => Vec::new(),
            Outcome::Granted(grant) if own.is_some() || free => vec![won(Entry::granted(tenure, grant, at))],
            Outcome::Queued(look) => {
                let mut offices: Vec<_> = self.seen(look, at).into_iter().collect();
                for office in &mut offices {
                    office.queue.insert(tenure);
                }
                offices
            }
            Outcome::Saw(look) => self.seen(look, at).into_iter().collect(),
            Outcome::Unknown => {
                let lasts_until = at.start + at.rules.lease;
                let token = own.and_then(|entry| entry.token);
                let entry = Entry { tenure: Some(tenure), version: Seen::Unknown, token, lasts_until, session: None };
                let won = Office { record: Held::By(entry), queue: self.queue.clone() };
                if own.is_some() || free { vec![won] } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    fn renewed(&self, tenure: TenureId, version: &str, outcome: &Outcome, at: Instant) -> Vec<Office> {
        let anything = self.record == Held::Anything;
        let own = self.is_of(tenure).filter(|entry| entry.version.may_be(version));
        let keep = |entry: Entry| vec![Office { record: Held::By(entry), queue: self.queue.clone() }];
        match outcome {
            Outcome::Granted(grant) if own.is_some_and(|entry| is_new_token(entry, grant)) => Vec::new(),
            Outcome::Granted(grant) if own.is_some() || anything => keep(Entry::granted(tenure, grant, at)),
            // What is there is not what was asked for.
            Outcome::Saw(Look::Held { tenure: Some(found), version: same, .. })
                if *found == tenure && same == version =>
            {
                Vec::new()
            }
            Outcome::Saw(look) => self.seen(look, at).into_iter().collect(),
            Outcome::Unknown => own.map_or_else(Vec::new, |entry| {
                let lasts_until = entry.lasts_until.max(at.start + at.rules.lease);
                keep(Entry { version: Seen::Other(version.to_owned()), lasts_until, ..entry.clone() })
            }),
            _ => Vec::new(),
        }
    }

    fn withdrawn(&self, tenure: TenureId, unknown: bool) -> Vec<Office> {
        let mut office = self.clone();
        let held = self.is_of(tenure).is_some();
        if held {
            office.record = Held::Nobody;
        }
        if !unknown {
            office.queue.remove(&tenure);
        }
        if unknown && !held { Vec::new() } else { vec![office] }
    }

    fn beaten(&self, session: u64, until: u64) -> Office {
        let mut office = self.clone();
        if let Held::By(entry) = &mut office.record
            && entry.session == Some(session)
        {
            entry.lasts_until = entry.lasts_until.max(until);
        }
        office
    }

    fn session_lost(&self, session: u64, at: Instant) -> Vec<Office> {
        match &self.record {
            Held::By(entry) if entry.session == Some(session) && at.end < entry.lasts_until => Vec::new(),
            Held::By(entry) if entry.session == Some(session) => {
                vec![Office { record: Held::Nobody, queue: self.queue.clone() }]
            }
            _ => vec![self.clone()],
        }
    }

    /// The office if a look at it may show this, with what the look adds to what is known.
    fn seen(&self, look: &Look, at: Instant) -> Option<Office> {
        let Look::Held { tenure, version, token } = look else {
            let vacant = Office { record: Held::Nobody, queue: self.queue.clone() };
            return self.may_be_vacant(at).then_some(vacant);
        };
        let known = Seen::Known(version.clone());
        let entry = match &self.record {
            Held::By(entry) if entry.tenure == *tenure => {
                let same_token = entry.token.is_none() || token.is_none() || entry.token == *token;
                let entry = Entry { version: known, token: entry.token.or(*token), ..entry.clone() };
                (same_token && self.version().may_be(version)).then_some(entry)
            }
            Held::Anything => Some(Entry::found(*tenure, known, *token)),
            // The next in line comes into office by itself.
            _ if self.may_be_vacant(at) && tenure.is_some_and(|tenure| self.queue.contains(&tenure)) => {
                Some(Entry::found(*tenure, known, *token))
            }
            _ => None,
        };
        let mut queue = self.queue.clone();
        if let Some(tenure) = tenure {
            queue.remove(tenure);
        }
        entry.map(|entry| Office { record: Held::By(entry), queue })
    }

    fn is_of(&self, tenure: TenureId) -> Option<&Entry> {
        match &self.record {
            Held::By(entry) if entry.tenure == Some(tenure) => Some(entry),
            _ => None,
        }
    }

    fn version(&self) -> Seen {
        match &self.record {
            Held::By(entry) => entry.version.clone(),
            _ => Seen::Unknown,
        }
    }

    fn may_be_vacant(&self, at: Instant) -> bool {
        match &self.record {
            Held::Nobody | Held::Anything => true,
            Held::By(entry) => !at.rules.contenders_judge && at.end >= entry.lasts_until,
        }
    }
}

impl Entry {
    fn granted(tenure: TenureId, grant: &Granted, at: Instant) -> Self {
        let from = grant.session.map_or(at.start, |(_, from)| from);
        Entry {
            tenure: Some(tenure),
            version: Seen::Known(grant.version.clone()),
            token: grant.token,
            lasts_until: from + grant.ttl,
            session: grant.session.map(|(session, _)| session),
        }
    }

    /// Nobody knows how long it lasts.
    fn found(tenure: Option<TenureId>, version: Seen, token: Option<u64>) -> Self {
        Entry { tenure, version, token, lasts_until: 0, session: None }
    }
}

/// The token of a tenure stays what it was.
fn is_new_token(entry: &Entry, grant: &Granted) -> bool {
    matches!((entry.token, grant.token), (Some(old), Some(new)) if old != new)
}

/// When a call was made, and by when it took effect.
#[derive(Clone, Copy)]
struct Instant {
    start: u64,
    end: u64,
    rules: Rules,
}
