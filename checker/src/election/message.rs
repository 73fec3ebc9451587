//! What goes between candidates and the store, in a form that can be ordered, so that a network is a sorted list whatever the order of sending.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure::Moment;
use tenure::backend::{
    AttemptId, Cover, Expiry, Grant, Held, Renewal, SessionId, Sight, Standing, TenureId, Vacancy, Version,
};
use tenure::machine::Outcome;

use super::setting::name_of;

/// A message under way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// The candidate that sent it, or that it is for.
    pub node: u8,
    /// The life of it.
    pub life: u8,
    /// The call that it belongs to; 0 where nobody waits for an answer.
    pub attempt: u64,
    /// The candidate's clock when the call was ordered.
    pub sent: Moment,
    /// It is still under way at a tick after the one it was sent at, or may never come.
    pub late: bool,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Body {
    /// A candidate asks the store.
    Asks(Request),
    /// The store answers.
    Answers(Reply),
}

/// What a candidate asks of the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// To win.
    Stand {
        /// The bid.
        tenure: TenureId,
        /// The one version that may be displaced.
        displace: Option<u64>,
    },
    /// To extend.
    Renew {
        /// The tenure.
        tenure: TenureId,
        /// The version that it is conditional on.
        version: u64,
    },
    /// To remove every trace.
    Withdraw {
        /// Of this tenure.
        tenure: TenureId,
    },
    /// To read.
    Inspect,
    /// To extend a session.
    Beat {
        /// The session.
        session: u64,
    },
}

/// What the store answers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// The bid won.
    Elected(Granted),
    /// The bid for this tenure waits in the queue, under this session.
    Queued(TenureId, Seen, Session),
    /// Another holds the office.
    Held(Seen),
    /// The tenure was extended.
    Extended(Granted),
    /// Nothing was written; this is there.
    Mismatch(Seen),
    /// Nothing of the tenure is left.
    Withdrew,
    /// The office looks like this.
    Inspected(Seen),
    /// This session was extended by so many milliseconds.
    Beaten(u64, u64),
    /// There is no such session.
    NoSession(u64),
}

/// An office won or extended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Granted {
    /// To this tenure.
    pub tenure: TenureId,
    /// The version now.
    pub version: u64,
    /// Its number.
    pub token: u64,
    /// For so many milliseconds of the store's clock.
    pub ttl: u64,
    /// Whether a session covers it.
    pub session: Option<Session>,
    /// Who released it before.
    pub released_by: Option<TenureId>,
}

/// A session as the store names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session {
    /// Its number.
    pub id: u64,
    /// The client's clock before the last request was sent that extended it.
    pub from: Moment,
    /// Its life in milliseconds.
    pub ttl: u64,
}

/// The office as it is seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seen {
    /// Nobody holds it; this one released it.
    Vacant(Option<TenureId>),
    /// Somebody does.
    Held {
        /// The version.
        version: u64,
        /// The tenure.
        tenure: TenureId,
        /// The candidate.
        node: u8,
        /// The number.
        token: u64,
        /// Who judges when it ends.
        ends: Ends,
    },
}

/// Who judges when a silent holder's record ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ends {
    /// The store, in so many milliseconds if it tells.
    Store(Option<u64>),
    /// Contenders, after this recorded lease.
    Observe(u64),
}

impl Message {
    /// Whether it is for the store.
    pub(super) fn is_request(&self) -> bool {
        matches!(self.body, Body::Asks(_))
    }

    /// The call that it belongs to.
    pub(super) fn attempt_id(&self) -> AttemptId {
        AttemptId(self.attempt)
    }
}

impl Request {
    /// The tenure that it is about.
    pub(super) fn tenure(&self) -> Option<TenureId> {
        match self {
            Request::Stand { tenure, .. } | Request::Renew { tenure, .. } | Request::Withdraw { tenure } => {
                Some(*tenure)
            }
            Request::Inspect | Request::Beat { .. } => None,
        }
    }
}

impl Reply {
    /// The tenure that it may have won, or have a place in the queue for.
    pub(super) fn won(&self) -> Option<TenureId> {
        match self {
            Reply::Elected(granted) => Some(granted.tenure),
            Reply::Queued(tenure, ..) => Some(*tenure),
            _ => None,
        }
    }

    /// As a machine hears it; an answer to a heartbeat is for no machine.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        Some(match self {
            Reply::Elected(granted) => Outcome::Stood(Standing::Elected(granted.grant())),
            Reply::Queued(_, seen, session) => Outcome::Stood(Standing::Queued(seen.sight(), Some(session.cover()))),
            Reply::Held(seen) => Outcome::Stood(Standing::Held(seen.sight())),
            Reply::Extended(granted) => Outcome::Renewed(Renewal::Extended(granted.grant())),
            Reply::Mismatch(seen) => Outcome::Renewed(Renewal::Mismatch(seen.sight())),
            Reply::Withdrew => Outcome::Withdrew,
            Reply::Inspected(seen) => Outcome::Inspected(seen.sight()),
            Reply::Beaten(..) | Reply::NoSession(_) => return None,
        })
    }
}

impl Granted {
    fn grant(&self) -> Grant {
        Grant {
            tenure: self.tenure,
            version: Version::number(self.version),
            token: Some(self.token),
            incarnation: None,
            cover: match &self.session {
                Some(session) => session.cover(),
                None => Cover::Own { ttl: Duration::from_millis(self.ttl) },
            },
            over: vacancy(self.released_by),
            asked_to_resign: false,
        }
    }
}

impl Session {
    fn cover(&self) -> Cover {
        Cover::Shared { session: SessionId(self.id), from: self.from, ttl: Duration::from_millis(self.ttl) }
    }
}

impl Seen {
    fn sight(&self) -> Sight {
        match self {
            Seen::Vacant(by) => Sight::Vacant(vacancy(*by)),
            Seen::Held { version, tenure, node, token, ends } => Sight::Held(Held {
                version: Version::number(*version),
                tenure: Some(*tenure),
                holder: name_of(usize::from(*node)).into(),
                token: Some(*token),
                since: None,
                advertise: Arc::default(),
                asked_to_resign: false,
                expiry: match ends {
                    Ends::Store(remaining) => Expiry::Store { remaining: remaining.map(Duration::from_millis) },
                    Ends::Observe(recorded) => Expiry::Observe { recorded: Duration::from_millis(*recorded) },
                },
            }),
        }
    }
}

fn vacancy(released_by: Option<TenureId>) -> Vacancy {
    released_by.map_or(Vacancy::Free, |by| Vacancy::Released { by })
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = name_of(usize::from(self.node));
        let number = self.attempt;
        match &self.body {
            Body::Asks(request) => write!(f, "{name}'s call {number}: {request}"),
            Body::Answers(reply) => write!(f, "the answer to {name}'s call {number}: {reply}"),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Request::Stand { tenure, displace: None } => write!(f, "stand ({})", short(*tenure)),
            Request::Stand { tenure, displace: Some(version) } => {
                write!(f, "stand ({}), displacing v{version}", short(*tenure))
            }
            Request::Renew { tenure, version } => write!(f, "renew {} at v{version}", short(*tenure)),
            Request::Withdraw { tenure } => write!(f, "withdraw {}", short(*tenure)),
            Request::Inspect => f.write_str("inspect"),
            Request::Beat { session } => write!(f, "heartbeat of session {session}"),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Elected(granted) => write!(f, "elected, token {}, v{}", granted.token, granted.version),
            Reply::Queued(_, seen, _) => write!(f, "queued, {seen}"),
            Reply::Held(seen) => write!(f, "not elected, {seen}"),
            Reply::Extended(granted) => write!(f, "extended, v{}", granted.version),
            Reply::Mismatch(seen) => write!(f, "not extended, {seen}"),
            Reply::Withdrew => f.write_str("withdrawn"),
            Reply::Inspected(seen) => write!(f, "{seen}"),
            Reply::Beaten(..) => f.write_str("the session goes on"),
            Reply::NoSession(_) => f.write_str("no such session"),
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seen::Vacant(_) => f.write_str("the office is vacant"),
            Seen::Held { version, node, token, .. } => {
                write!(f, "{} holds it with token {token}, v{version}", name_of(usize::from(*node)))
            }
        }
    }
}

/// A tenure id as people read it here: the nonce is a candidate and a life, and the rest a count.
pub(super) fn short(tenure: TenureId) -> String {
    let text = tenure.to_string();
    let count = u64::from_str_radix(&text[16..], 16).unwrap_or_default();
    match tenure.nonce() {
        0 => format!("bid {count} of nobody in particular"),
        nonce => {
            let candidate = name_of((nonce / 10 - 1) as usize);
            let life = if nonce % 10 > 0 { format!(" in life {}", nonce % 10 + 1) } else { String::new() };
            format!("bid {count} of {candidate}{life}")
        }
    }
}
