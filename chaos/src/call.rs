//! A call to the backend, as a process wrote it down.

use std::fmt;

use tenure::backend::{Beat, Cover, Grant, Renewal, Sight, Standing, TenureId, Version};
use tenure::{Error, Moment};

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// To win the office, perhaps by displacing this version.
    Stand {
        /// For this tenure.
        tenure: TenureId,
        /// The one version of another's record that may go.
        displace: Option<String>,
    },
    /// To keep it, if the version is still this one.
    Renew {
        /// For this tenure.
        tenure: TenureId,
        /// The version.
        version: String,
    },
    /// To give it up.
    Withdraw {
        /// Whatever carries this tenure.
        tenure: TenureId,
    },
    /// To see who has it.
    Inspect,
    /// To extend a session.
    Beat {
        /// Its number.
        session: u64,
    },
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It won, or was extended.
    Granted(Granted),
    /// Another holds the office, the version was another one, or somebody looked: this was there.
    Saw(Look),
    /// The bid waits behind this holder.
    Queued(Look),
    /// It was withdrawn.
    Done,
    /// The session lives for so many nanoseconds from when this was asked.
    Beaten {
        /// So many.
        ttl: u64,
    },
    /// The store knows no such session.
    SessionLost,
    /// Nothing can have happened.
    Failed,
    /// It may have happened, or may yet.
    Unknown,
}

/// What a grant says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    /// The record's version now.
    pub(crate) version: String,
    /// Its number.
    pub(crate) token: Option<u64>,
    /// For how many nanoseconds.
    pub(crate) ttl: u64,
    /// What covers it, if it has no life of its own: a session, and since when that is known to have been extended.
    pub(crate) session: Option<(u64, u64)>,
}

/// What a look at the office shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Look {
    /// Nobody has it.
    Vacant,
    /// This record is there.
    Held {
        /// Whose; none for a foreign program's.
        tenure: Option<TenureId>,
        /// Its version.
        version: String,
        /// Its number.
        token: Option<u64>,
    },
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// Before it was made.
    pub(crate) start: Moment,
    /// After it was answered; nothing when it never was.
    pub(crate) end: Option<Moment>,
    /// What was asked.
    pub(crate) act: Act,
    /// What was answered.
    pub(crate) outcome: Outcome,
}

/// A version as one word.
pub(crate) fn word(version: &Version) -> String {
    format!("{version:?}").replace(|c: char| c.is_whitespace(), "_")
}

impl From<&Grant> for Granted {
    fn from(grant: &Grant) -> Self {
        let (ttl, session) = match grant.cover {
            Cover::Own { ttl } => (ttl, None),
            Cover::Shared { session, from, ttl } => (ttl, Some((session.0, from.as_nanos()))),
        };
        Granted { version: word(&grant.version), token: grant.token, ttl: ttl.as_nanos() as u64, session }
    }
}

impl From<&Sight> for Look {
    fn from(sight: &Sight) -> Self {
        match sight.held() {
            None => Look::Vacant,
            Some(held) => Look::Held { tenure: held.tenure, version: word(&held.version), token: held.token },
        }
    }
}

impl From<&Error> for Outcome {
    fn from(error: &Error) -> Self {
        if error.is_indeterminate() { Outcome::Unknown } else { Outcome::Failed }
    }
}

impl From<&Result<Standing, Error>> for Outcome {
    fn from(answer: &Result<Standing, Error>) -> Self {
        match answer {
            Ok(Standing::Elected(grant)) => Outcome::Granted(grant.into()),
            Ok(Standing::Queued(sight, _)) => Outcome::Queued(sight.into()),
            Ok(Standing::Held(sight)) => Outcome::Saw(sight.into()),
            Err(error) => error.into(),
        }
    }
}

impl From<&Result<Renewal, Error>> for Outcome {
    fn from(answer: &Result<Renewal, Error>) -> Self {
        match answer {
            Ok(Renewal::Extended(grant)) => Outcome::Granted(grant.into()),
            Ok(Renewal::Mismatch(sight)) => Outcome::Saw(sight.into()),
            Err(error) => error.into(),
        }
    }
}

impl From<&Result<(), Error>> for Outcome {
    fn from(answer: &Result<(), Error>) -> Self {
        answer.as_ref().map_or_else(Outcome::from, |()| Outcome::Done)
    }
}

impl From<&Result<Sight, Error>> for Outcome {
    fn from(answer: &Result<Sight, Error>) -> Self {
        answer.as_ref().map_or_else(Outcome::from, |sight| Outcome::Saw(sight.into()))
    }
}

impl From<&Result<Beat, Error>> for Outcome {
    fn from(answer: &Result<Beat, Error>) -> Self {
        match answer {
            Ok(Beat::Extended { ttl }) => Outcome::Beaten { ttl: ttl.as_nanos() as u64 },
            Ok(Beat::Lost) => Outcome::SessionLost,
            Err(error) => error.into(),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Stand { tenure, displace } => write!(f, "stand {tenure} {}", displace.as_deref().unwrap_or("-")),
            Act::Renew { tenure, version } => write!(f, "renew {tenure} {version}"),
            Act::Withdraw { tenure } => write!(f, "withdraw {tenure}"),
            Act::Inspect => f.write_str("inspect"),
            Act::Beat { session } => write!(f, "beat {session}"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Granted(Granted { version, token, ttl, session }) => {
                write!(f, "granted {version} {} {ttl}", number(*token))?;
                session.map_or(Ok(()), |(session, from)| write!(f, " {session} {from}"))
            }
            Outcome::Saw(look) => write!(f, "saw {look}"),
            Outcome::Queued(look) => write!(f, "queued {look}"),
            Outcome::Done => f.write_str("done"),
            Outcome::Beaten { ttl } => write!(f, "beaten {ttl}"),
            Outcome::SessionLost => f.write_str("session-lost"),
            Outcome::Failed => f.write_str("failed"),
            Outcome::Unknown => f.write_str("unknown"),
        }
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Look::Vacant => f.write_str("vacant"),
            Look::Held { tenure, version, token } => {
                let tenure = tenure.map_or_else(|| "-".to_owned(), |tenure| tenure.to_string());
                write!(f, "{tenure} {version} {}", number(*token))
            }
        }
    }
}

/// A number as a word.
pub(crate) fn number(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

impl Act {
    pub(crate) fn parse(words: &[&str]) -> Option<Self> {
        Some(match words {
            ["stand", tenure, displace] => {
                let displace = (*displace != "-").then(|| (*displace).to_owned());
                Act::Stand { tenure: tenure.parse().ok()?, displace }
            }
            ["renew", tenure, version] => Act::Renew { tenure: tenure.parse().ok()?, version: (*version).to_owned() },
            ["withdraw", tenure] => Act::Withdraw { tenure: tenure.parse().ok()? },
            ["inspect"] => Act::Inspect,
            ["beat", session] => Act::Beat { session: session.parse().ok()? },
            _ => return None,
        })
    }
}

impl Outcome {
    pub(crate) fn parse(words: &[&str]) -> Option<Self> {
        Some(match words {
            ["granted", version, token, ttl, session @ ..] => {
                let session = match session {
                    [session, from] => Some((session.parse().ok()?, from.parse().ok()?)),
                    _ => None,
                };
                let version = (*version).to_owned();
                Outcome::Granted(Granted { version, token: token.parse().ok(), ttl: ttl.parse().ok()?, session })
            }
            ["saw", look @ ..] => Outcome::Saw(Look::parse(look)?),
            ["queued", look @ ..] => Outcome::Queued(Look::parse(look)?),
            ["done"] => Outcome::Done,
            ["beaten", ttl] => Outcome::Beaten { ttl: ttl.parse().ok()? },
            ["session-lost"] => Outcome::SessionLost,
            ["failed"] => Outcome::Failed,
            ["unknown"] => Outcome::Unknown,
            _ => return None,
        })
    }
}

impl Look {
    pub(crate) fn parse(words: &[&str]) -> Option<Self> {
        Some(match words {
            ["vacant"] => Look::Vacant,
            [tenure, version, token] => Look::Held {
                tenure: if *tenure == "-" { None } else { Some(tenure.parse().ok()?) },
                version: (*version).to_owned(),
                token: token.parse().ok(),
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let tenure = TenureId::new(7, 1);
        let version = "v\"a_b\"".to_owned();
        let look = Look::Held { tenure: Some(tenure), version: version.clone(), token: Some(5) };
        let foreign = Look::Held { tenure: None, version: version.clone(), token: None };
        let acts = [
            Act::Stand { tenure, displace: None },
            Act::Stand { tenure, displace: Some(version.clone()) },
            Act::Renew { tenure, version: version.clone() },
            Act::Withdraw { tenure },
            Act::Inspect,
            Act::Beat { session: 3 },
        ];
        for act in acts {
            assert_eq!(Act::parse(&act.to_string().split(' ').collect::<Vec<_>>()), Some(act));
        }
        let granted = Granted { version, token: None, ttl: 9, session: Some((3, 4)) };
        let outcomes = [
            Outcome::Granted(granted.clone()),
            Outcome::Granted(Granted { token: Some(1), session: None, ..granted }),
            Outcome::Saw(Look::Vacant),
            Outcome::Saw(look),
            Outcome::Queued(foreign),
            Outcome::Done,
            Outcome::Beaten { ttl: 1 },
            Outcome::SessionLost,
            Outcome::Failed,
            Outcome::Unknown,
        ];
        for outcome in outcomes {
            assert_eq!(Outcome::parse(&outcome.to_string().split(' ').collect::<Vec<_>>()), Some(outcome));
        }
    }
}
