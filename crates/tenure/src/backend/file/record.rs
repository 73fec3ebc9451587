//! What a lease file says.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::CandidateName;
use crate::backend::{Bid, Expiry, Held, Sight, TenureId, Vacancy, Version};
use crate::mutant::{Mutant, planted};

/// What was found in a lease file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A record of tenure's own, whole.
    Ours(Record),
    /// A record in the seed's three fields that another program wrote.
    Foreign(Foreign),
}

/// What another program wrote: it has no tenure, and no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    /// Empty when it was given up.
    pub(super) holder: Arc<str>,
    pub(super) renewed: SystemTime,
    pub(super) lease: Duration,
    pub(super) version: Version,
}

/// A record of tenure's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) holder: Option<Holder>,
    /// The *holder's* lease: so long must this version be seen unchanged before it may be displaced (SAFETY 4).
    pub(super) lease: Duration,
    /// The wall clock at the last write, for foreign peers, which judge by it, and for people.
    pub(super) renewed: SystemTime,
    /// The number of the last tenure; kept when the office is given up.
    pub(super) token: u64,
    /// A random number, fresh with each write (SAFETY 10).
    pub(super) version: u64,
    /// The tenure that gave the office up in due form, while nobody holds it.
    pub(super) released_by: Option<TenureId>,
    /// Which boot of the machine it was written in.
    pub(super) boot: Arc<str>,
}

/// Who holds the office.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) candidate: Arc<str>,
    pub(super) tenure: TenureId,
    pub(super) since: SystemTime,
    pub(super) advertise: Arc<[u8]>,
    pub(super) asked_to_resign: bool,
    pub(super) work: Option<WorkEnd>,
}

/// The holder's word that its guarded work ends soon after its liveness lock is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkEnd {
    /// Whose liveness file it is: the holder's, or that of the one who was evicted.
    pub(super) liveness: TenureId,
    /// How long after that lock is free the last of the work is gone.
    pub(super) within: Duration,
}

impl Content {
    pub(super) fn is_of(&self, tenure: TenureId) -> bool {
        self.record().and_then(|record| record.holder.as_ref()).is_some_and(|holder| holder.tenure == tenure)
    }

    pub(super) fn is_held(&self) -> bool {
        match self {
            Content::Ours(record) => record.holder.is_some(),
            Content::Foreign(foreign) => !foreign.holder.is_empty(),
        }
    }

    pub(super) fn record(&self) -> Option<&Record> {
        match self {
            Content::Ours(record) => Some(record),
            Content::Foreign(_) => None,
        }
    }

    pub(super) fn version(&self) -> Version {
        match self {
            Content::Ours(record) => record.version(),
            Content::Foreign(foreign) => foreign.version.clone(),
        }
    }

    /// The number of the last tenure, as far as this file tells: a foreign program does not keep it.
    pub(super) fn token(&self) -> u64 {
        self.record().map_or(0, |record| record.token)
    }

    /// The liveness file that this content names.
    pub(super) fn work(&self) -> Option<WorkEnd> {
        self.record()?.holder.as_ref()?.work
    }

    pub(super) fn vacancy(&self) -> Vacancy {
        match self.record() {
            Some(Record { holder: None, released_by: Some(by), .. }) => Vacancy::Released { by: *by },
            _ => Vacancy::Free,
        }
    }

    /// What is seen of it, given what its end hangs on.
    pub(super) fn sight(&self, expiry: impl FnOnce(&Self) -> Expiry) -> Sight {
        if !self.is_held() {
            return Sight::Vacant(self.vacancy());
        }
        let (version, expiry) = (self.version(), expiry(self));
        Sight::Held(match self {
            Content::Ours(Record { holder: Some(holder), token, .. }) => Held {
                version,
                tenure: Some(holder.tenure),
                holder: holder.candidate.clone(),
                token: Some(*token),
                since: Some(holder.since),
                advertise: holder.advertise.clone(),
                asked_to_resign: holder.asked_to_resign,
                expiry,
            },
            Content::Ours(_) => return Sight::Vacant(self.vacancy()),
            Content::Foreign(foreign) => Held {
                version,
                tenure: None,
                holder: foreign.holder.clone(),
                token: None,
                since: None,
                advertise: Arc::default(),
                asked_to_resign: false,
                expiry,
            },
        })
    }

    pub(super) fn lease(&self) -> Duration {
        match self {
            Content::Ours(record) => record.lease,
            Content::Foreign(foreign) => foreign.lease,
        }
    }

    pub(super) fn renewed(&self) -> SystemTime {
        match self {
            Content::Ours(record) => record.renewed,
            Content::Foreign(foreign) => foreign.renewed,
        }
    }
}

impl Record {
    /// The record with which `bid` takes the office; `within` where its work ends with its liveness lock.
    pub(super) fn taken_by(bid: &Bid, token: u64, within: Option<Duration>) -> Self {
        let now = wall_clock();
        let holder = Holder {
            candidate: bid.shared_name(),
            tenure: bid.tenure(),
            since: now,
            advertise: bid.advertise().clone(),
            asked_to_resign: false,
            work: within.map(|within| WorkEnd { liveness: bid.tenure(), within }),
        };
        Record {
            holder: Some(holder),
            lease: bid.lease(),
            renewed: now,
            token,
            version: fresh(),
            released_by: None,
            boot: super::boot::id(),
        }
    }

    pub(super) fn version(&self) -> Version {
        Version::text(format!("{:016x}", self.version))
    }

    /// The same holder for a full lease anew.
    pub(super) fn extended(&self, lease: Duration) -> Self {
        Record { lease, ..self.written_again() }
    }

    /// Nobody holds the office, by the will of this tenure; the token stays.
    pub(super) fn released_by(&self, tenure: TenureId) -> Self {
        Record { holder: None, released_by: Some(tenure), ..self.written_again() }
    }

    /// The holder learns that it shall resign.
    pub(super) fn asked(&self) -> Self {
        let holder = self.holder.clone().map(|holder| Holder { asked_to_resign: true, ..holder });
        Record { holder, ..self.written_again() }
    }

    /// Nobody holds the office, and nobody can win it for the rest of the holder's lease: a holder that no process is (SAFETY 11: the
    /// nonce 0 marks it), with the evicted one's lease and liveness lock, in a version that nobody has waited for yet.
    pub(super) fn barred(&self) -> Self {
        let holder = self.holder.as_ref().filter(|_| !planted(Mutant::FileEvictionUnbarred)).map(|holder| Holder {
            candidate: evicted(&holder.candidate),
            tenure: nobody(),
            advertise: Arc::default(),
            asked_to_resign: false,
            ..holder.clone()
        });
        Record { holder, ..self.written_again() }
    }

    pub(super) fn is_barred(&self) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.tenure.nonce() == 0)
    }

    /// The same again, as another write.
    pub(super) fn written_again(&self) -> Self {
        let version = if planted(Mutant::FileSameVersion) { self.version } else { fresh() };
        Record { version, renewed: wall_clock(), boot: super::boot::id(), ..self.clone() }
    }
}

impl Foreign {
    /// The same holder, evicted: it is written with no token, and stays foreign, because contenders wait longer for those (SAFETY 4).
    pub(super) fn barred(&self) -> Self {
        Foreign { holder: evicted(&self.holder), renewed: wall_clock(), ..self.clone() }
    }
}

/// The name of the holder that no process is. A foreign one may be as long as the file, and evicted again and again: it is cut, so that what
/// is written can be read.
fn evicted(holder: &str) -> Arc<str> {
    let cut: String = holder.chars().take(CandidateName::MAX_BYTES).collect();
    format!("nobody ({cut} was evicted)").into()
}

fn nobody() -> TenureId {
    TenureId::new(0, fresh())
}

/// A number that no other write has.
pub(super) fn fresh() -> u64 {
    getrandom::u64().unwrap_or_else(|_| fastrand::u64(..))
}

pub(super) fn wall_clock() -> SystemTime {
    // What stands in a file is read by others: nothing before 1970 and nothing finer than they can keep.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + now
}
