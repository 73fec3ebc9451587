//! A memory backend that breaks one rule: a mutant for the suite to find.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;

use crate::backend::memory::MemoryBackend;
use crate::backend::{
    Administer, Answer, Attempt, Backend, Bid, Cover, Grant, Held, Hint, Renewal, Sight, Standing, Traits, Vacancy,
    Version, Watch,
};
use crate::machine::Plan;
use crate::{CandidateName, Error, Seat, TimingBuilder};

/// The rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Nothing,
    RenewalCreates,
    RenewalTakesAnyVersion,
    WithdrawalTakesAnything,
    WithdrawalIsForgotten,
    WithdrawalNeedsVersion,
    AnyVersionDisplaces,
    LeaveIsIgnored,
    BidIsNotIdempotent,
    TokensAreUsedTwice,
    ErrorsAreAnswers,
    ErrorsAreForGood,
    WinsAreCalledFailed,
    NothingIsPushed,
    WatchIsNeverArmed,
    WatchEndsSilently,
    SecondsAreCut,
    RecordsEndEarly,
    RecordsNeverEnd,
    LooksWrite,
    LooksAreStale,
    NamesAreMixed,
    BytesAreText,
    ReleasesAreUnnamed,
    RemovalsAreReleases,
    RequestsToResignAreLost,
}

/// A client of the memory store that breaks the rule.
#[derive(Debug)]
pub(super) struct Faulty {
    honest: MemoryBackend,
    fault: Fault,
    /// The bid that was last elected here.
    last: Mutex<Option<Bid>>,
    seen: Mutex<HashMap<Seat, Sight>>,
}

impl Faulty {
    pub(super) fn new(honest: MemoryBackend, fault: Fault) -> Self {
        Faulty { honest, fault, last: Mutex::default(), seen: Mutex::default() }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// The bid as this client sends it.
    fn sent(&self, bid: &Bid) -> Bid {
        let lease = match self.fault {
            Fault::SecondsAreCut if bid.lease() > Duration::from_secs(1) => Duration::from_secs(bid.lease().as_secs()),
            Fault::RecordsEndEarly => bid.lease() / 2,
            Fault::RecordsNeverEnd => bid.lease() * 100,
            _ => bid.lease(),
        };
        let advertise = match self.fault {
            Fault::BytesAreText => String::from_utf8_lossy(bid.advertise()).into_owned().into_bytes().into(),
            _ => bid.advertise().clone(),
        };
        let timing = TimingBuilder { lease: Some(lease), ..TimingBuilder::default() }.build().unwrap();
        let name = CandidateName::new(bid.name()).unwrap();
        let plan = Plan::new(self.seat(bid.seat()), name, bid.tenure().nonce(), Arc::new(timing), self.traits());
        Bid::new(Arc::new(plan.advertising(advertise)), bid.tenure(), bid.displace().cloned())
    }

    fn seat(&self, seat: &Seat) -> Seat {
        match self.fault {
            Fault::NamesAreMixed => Seat::new(&seat.as_str().replace('.', "-")).unwrap(),
            _ => seat.clone(),
        }
    }

    fn told(&self, sight: Sight) -> Sight {
        match sight {
            Sight::Held(held) => Sight::Held(Held { token: held.token.map(|token| self.token(token)), ..held }),
            Sight::Vacant(vacancy) => Sight::Vacant(self.word(vacancy)),
        }
    }

    fn granted(&self, bid: &Bid, grant: Grant) -> Grant {
        let cover = match (self.fault, grant.cover) {
            (Fault::SecondsAreCut | Fault::RecordsEndEarly | Fault::RecordsNeverEnd, Cover::Own { .. }) => {
                Cover::Own { ttl: bid.lease() }
            }
            (_, cover) => cover,
        };
        let asked_to_resign = grant.asked_to_resign && !self.has(Fault::RequestsToResignAreLost);
        let token = grant.token.map(|token| self.token(token));
        Grant { cover, token, over: self.word(grant.over), asked_to_resign, ..grant }
    }

    fn token(&self, token: u64) -> u64 {
        if self.has(Fault::TokensAreUsedTwice) { token / 2 + 1 } else { token }
    }

    fn word(&self, vacancy: Vacancy) -> Vacancy {
        match vacancy {
            Vacancy::Released { .. } if self.has(Fault::ReleasesAreUnnamed) => Vacancy::Free,
            Vacancy::Removed if self.has(Fault::RemovalsAreReleases) => {
                Vacancy::Released { by: crate::backend::TenureId::new(1, 1) }
            }
            vacancy => vacancy,
        }
    }

    fn failed<T>(&self, error: Error, instead: T) -> Result<T, Error> {
        match self.fault {
            Fault::ErrorsAreAnswers => Ok(instead),
            Fault::ErrorsAreForGood => Err(error.transient(false)),
            Fault::WinsAreCalledFailed => Err(Error::unavailable("it certainly failed")),
            _ => Err(error),
        }
    }

    async fn run(&self, bid: &Bid, attempt: Attempt) -> Result<Standing, Error> {
        let sent = self.sent(bid);
        let before = self.honest.inspect(sent.seat()).await;
        if let Ok(Sight::Held(held)) = &before {
            let own = held.tenure == Some(bid.tenure());
            match self.fault {
                Fault::BidIsNotIdempotent if own => return Ok(Standing::Held(Sight::Held(held.clone()))),
                Fault::LeaveIsIgnored if !own => return Ok(Standing::Held(Sight::Held(held.clone()))),
                Fault::AnyVersionDisplaces if bid.displace().is_some() => self.honest.by_hand().remove(sent.seat()),
                _ => {}
            }
        }
        match self.honest.stand(&sent, attempt).await {
            Ok(Standing::Elected(grant)) => {
                *self.last.lock().unwrap() = Some(sent);
                Ok(Standing::Elected(self.granted(bid, grant)))
            }
            Ok(Standing::Held(sight)) => Ok(Standing::Held(self.told(sight))),
            Ok(other) => Ok(other),
            Err(error) => self.failed(error, Standing::Held(Sight::Vacant(Vacancy::Free))),
        }
    }

    async fn extend(&self, bid: &Bid, version: &Version, attempt: Attempt) -> Result<Renewal, Error> {
        let sent = self.sent(bid);
        let mut version = version.clone();
        if let Ok(Sight::Held(held)) = self.honest.inspect(sent.seat()).await
            && self.has(Fault::RenewalTakesAnyVersion)
            && held.tenure == Some(bid.tenure())
        {
            version = held.version;
        }
        match self.honest.renew(&sent, &version, attempt).await {
            Ok(Renewal::Extended(grant)) => Ok(Renewal::Extended(self.granted(bid, grant))),
            Ok(Renewal::Mismatch(Sight::Vacant(_))) if self.has(Fault::RenewalCreates) => {
                match self.honest.stand(&sent, attempt).await? {
                    Standing::Elected(grant) => Ok(Renewal::Extended(grant)),
                    other => panic!("the office was vacant: {other:?}"),
                }
            }
            Ok(Renewal::Mismatch(sight)) => Ok(Renewal::Mismatch(self.told(sight))),
            Err(error) => self.failed(error, Renewal::Mismatch(Sight::Vacant(Vacancy::Free))),
        }
    }

    async fn leave(&self, bid: &Bid) -> Result<(), Error> {
        let sent = self.sent(bid);
        let held = self.honest.inspect(sent.seat()).await.ok().and_then(|sight| sight.held().cloned());
        match self.fault {
            Fault::WithdrawalTakesAnything => self.honest.by_hand().remove(sent.seat()),
            Fault::WithdrawalIsForgotten => return Ok(()),
            // The number of the win is its first version, so a record in another one was renewed.
            Fault::WithdrawalNeedsVersion if held.is_some_and(|held| held.version.as_number() != held.token) => {
                return Ok(());
            }
            _ => {}
        }
        self.honest.withdraw(&sent).await.or_else(|error| self.failed(error, ()))
    }

    async fn look(&self, seat: &Seat) -> Result<Sight, Error> {
        let seat = self.seat(seat);
        let last = self.last.lock().unwrap().clone();
        if let Some(last) = last.filter(|last| self.has(Fault::LooksWrite) && *last.seat() == seat)
            && self.honest.inspect(&seat).await?.is_of(last.tenure())
        {
            self.honest.stand(&last, ATTEMPT).await?;
        }
        let sight = match self.honest.inspect(&seat).await {
            Ok(sight) => self.told(sight),
            Err(error) => return self.failed(error, Sight::Vacant(Vacancy::Free)),
        };
        let before = self.seen.lock().unwrap().insert(seat, sight.clone());
        Ok(before.filter(|_| self.has(Fault::LooksAreStale)).unwrap_or(sight))
    }

    async fn subscribe(&self, seat: &Seat, bid: Option<&Bid>) -> Result<Watch, Error> {
        let watch = self.honest.watch(&self.seat(seat), bid).await?;
        let fault = self.fault;
        let kept = watch.filter(move |hint| {
            std::future::ready(match fault {
                Fault::NothingIsPushed => matches!(hint, Hint::Armed | Hint::Lagged),
                Fault::WatchIsNeverArmed => *hint != Hint::Armed,
                Fault::WatchEndsSilently => *hint != Hint::Lagged,
                _ => true,
            })
        });
        Ok(Box::pin(kept))
    }
}

const ATTEMPT: Attempt = Attempt { id: crate::backend::AttemptId(0), sent: crate::Moment::ZERO };

impl Backend for Faulty {
    fn traits(&self) -> Traits {
        self.honest.traits()
    }

    fn place(&self) -> String {
        format!("{} ({:?})", self.honest.place(), self.fault)
    }

    fn stand<'a>(&'a self, bid: &'a Bid, attempt: Attempt) -> Answer<'a, Standing> {
        Box::pin(self.run(bid, attempt))
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, attempt: Attempt) -> Answer<'a, Renewal> {
        Box::pin(self.extend(bid, version, attempt))
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(self.leave(bid))
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(self.look(seat))
    }

    fn watch<'a>(&'a self, seat: &'a Seat, bid: Option<&'a Bid>) -> Answer<'a, Watch> {
        Box::pin(self.subscribe(seat, bid))
    }

    fn administer(&self) -> Option<&dyn Administer> {
        self.honest.administer()
    }
}
