//! Elections over a store that expires keys and compares values.

mod administer;
#[cfg(test)]
mod tests;
mod trail;

use std::sync::Arc;

use super::ledger::Ledger;
use super::{Claim, Claimant, Look, ROUNDS, TtlStore, contended};
use crate::backend::{
    Administer, Answer, Attempt, Backend, Bid, Cover, Expiry, Grant, Held, Promise, Renewal, Sight, Standing, Traits,
    Vacancy, Version, Watch,
};
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, Seat};
use trail::Trail;

/// A [`Backend`] over a [`TtlStore`].
///
/// The store judges expiry, and a claim vanishes with its key: a release leaves no word of itself, and without
/// [`TtlStore::next_token`] there is no fencing token.
///
/// # How it keeps the contract
/// - **To stand** is one insert, then, where the store draws numbers, a draw and a swap that puts the number into the claim; a swap that fails
///   means that the office was lost in between (see [`TtlStore::next_token`]). From the insert on every error is
///   indeterminate, whatever the store says of the step that failed.
/// - **To renew** write `n` is to swap it for `n + 1`. If that fails, a look says what is there. A store that cannot be looked at is felt for it:
///   an earlier renewal of ours whose outcome was not known may have written `n + 1`, which is then swapped for `n + 2`, and so on (SAFETY 9).
/// - **To withdraw** is to delete whichever claim of the tenure is there: every one that may be, lowest write first, and, where the store can
///   be looked at, the one that is. The claims that were written are remembered until then.
/// - Over a store that cannot be looked at a rival is seen without a name, nothing is displaced, [`inspect`](Backend::inspect) is not supported,
///   and only the process that wrote a claim can withdraw it.
#[derive(Debug)]
pub struct TtlBackend<S> {
    store: S,
    ledger: Ledger<Trail>,
}

/// What a look found, as one tenure sees it.
enum Seen {
    Ours(Claim<Claimant>),
    Other(Claim<Claimant>, Sight),
    Nothing,
    Blind,
}

/// What a bid found in place of a free office.
enum Found {
    Own(Claim<Claimant>),
    /// It changed under our hands.
    Moved,
    Other(Sight),
}

impl Seen {
    fn sight(self) -> Sight {
        match self {
            Seen::Ours(claim) => claim.sight(None),
            Seen::Other(_, sight) => sight,
            Seen::Nothing => Sight::Vacant(Vacancy::Free),
            Seen::Blind => unseen(),
        }
    }
}

impl<S: TtlStore<Seat, Claim<Claimant>>> TtlBackend<S> {
    /// Elections over this store.
    pub fn new(store: S) -> Self {
        TtlBackend { store, ledger: Ledger::new() }
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    async fn run(&self, bid: &Bid) -> Result<Standing, Error> {
        let mut entered = false;
        let standing = self.try_to_win(bid, &mut entered).await;
        // Once a claim of ours was in the store, no error may say that nothing was written.
        match standing {
            Err(error) if entered && !planted(Mutant::TtlWinErrorHarmless) => Err(error.indeterminate()),
            standing => standing,
        }
    }

    async fn try_to_win(&self, bid: &Bid, entered: &mut bool) -> Result<Standing, Error> {
        let mut own = self.insert(bid).await?;
        for _ in 0..ROUNDS {
            let claim = match own.take() {
                Some(claim) => claim,
                None => match self.find(bid, entered).await? {
                    Found::Own(claim) => claim,
                    Found::Moved => continue,
                    Found::Other(sight) => {
                        self.ledger.forget(bid.tenure());
                        return Ok(Standing::Held(sight));
                    }
                },
            };
            *entered = true;
            if let Some(claim) = self.number(bid, claim).await? {
                return Ok(Standing::Elected(self.grant(bid, &claim)));
            }
        }
        Err(contended(bid.seat(), "stand").indeterminate())
    }

    /// Inserts a claim; `None` when there is one already.
    async fn insert(&self, bid: &Bid) -> Result<Option<Claim<Claimant>>, Error> {
        let earlier = self.ledger.read(bid.tenure(), |trail| trail.following(None, &[])).is_some();
        let mut claim = self.new_claim(bid);
        if planted(Mutant::TtlTokenBeforeInsert) && self.store.traits().has_tokens {
            let token = Some(self.store.next_token(bid.seat()).await?);
            claim = Claim::new(Claimant { token, ..claim.value().clone() }, claim.tenure(), claim.write());
        }
        self.note(bid, &claim);
        let inserted = self.store.insert_if_absent(bid.seat(), &claim, bid.lease()).await;
        let certainly_not = match &inserted {
            Ok(inserted) => !inserted,
            Err(error) => !error.is_indeterminate(),
        };
        if certainly_not && !earlier {
            self.ledger.forget(bid.tenure());
        }
        match inserted {
            Ok(true) => {
                self.settle(bid, &claim);
                Ok(Some(claim))
            }
            Ok(false) => Ok(None),
            Err(_) if planted(Mutant::TtlErrorTakenForFalse) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Finds a claim that an earlier bid for this tenure left, or displaces the one that may be.
    async fn find(&self, bid: &Bid, entered: &mut bool) -> Result<Found, Error> {
        let own = match self.seen(bid).await? {
            Seen::Ours(claim) => {
                *entered = true;
                self.step(bid, &claim, &mut Vec::new()).await?
            }
            Seen::Other(claim, _) if may_displace(bid, &claim.version()) => {
                let new = self.new_claim(bid);
                self.note(bid, &new);
                self.swap(bid, &claim, &new).await?.then_some(new)
            }
            Seen::Blind => match self.walk(bid, None, Vec::new()).await? {
                Some(claim) => Some(claim),
                None => return Ok(Found::Other(unseen())),
            },
            seen => return Ok(Found::Other(seen.sight())),
        };
        Ok(own.map_or(Found::Moved, Found::Own))
    }

    /// A claim of this tenure that was never written, without a number: one from before would be used twice.
    fn new_claim(&self, bid: &Bid) -> Claim<Claimant> {
        let last = self.ledger.read(bid.tenure(), |trail| Some(trail.last_write())).unwrap_or(0);
        Claim::new(Claimant::of(bid), bid.tenure(), last.wrapping_add(1))
    }

    /// Gives a claim that was just written its number; `None` when the claim is no longer there.
    async fn number(&self, bid: &Bid, claim: Claim<Claimant>) -> Result<Option<Claim<Claimant>>, Error> {
        if !self.store.traits().has_tokens || claim.value().token.is_some() {
            return Ok(Some(claim));
        }
        let token = Some(self.store.next_token(bid.seat()).await?);
        let numbered = claim.followed_by(Claimant { token, ..claim.value().clone() });
        self.note(bid, &numbered);
        let ours = self.swap(bid, &claim, &numbered).await? || planted(Mutant::TtlTokenUnverified);
        Ok(ours.then_some(numbered))
    }

    async fn extend(&self, bid: &Bid, version: &Version) -> Result<Renewal, Error> {
        let mut in_vain = Vec::new();
        let remembered = self.ledger.read(bid.tenure(), |trail| trail.at(version));
        if let Some(claim) = &remembered
            && let Some(claim) = self.step(bid, claim, &mut in_vain).await?
        {
            return Ok(Renewal::Extended(self.grant(bid, &claim)));
        }
        let seen = self.seen(bid).await?;
        let extended = match &seen {
            Seen::Ours(claim) if remembered.is_none() && claim.version() == *version => {
                self.step(bid, claim, &mut in_vain).await?
            }
            Seen::Blind => self.walk(bid, remembered, in_vain).await?,
            Seen::Nothing if planted(Mutant::TtlRenewCreates) => self.insert(bid).await?,
            _ => None,
        };
        match extended {
            Some(claim) => Ok(Renewal::Extended(self.grant(bid, &claim))),
            None => Ok(Renewal::Mismatch(self.missed(bid, seen))),
        }
    }

    /// A renewal found another claim than the one it was for.
    fn missed(&self, bid: &Bid, seen: Seen) -> Sight {
        // A store that shows nothing proves nothing: a later call of ours may have been quicker than this one.
        if matches!(seen, Seen::Other(..) | Seen::Nothing) {
            self.ledger.forget(bid.tenure());
        }
        seen.sight()
    }

    async fn leave(&self, bid: &Bid) -> Result<(), Error> {
        let (seat, tenure) = (bid.seat(), bid.tenure());
        let mut last = None;
        // SAFETY 9: conditional on the tenure, so on none of its writes in particular.
        while let Some(claim) = self.ledger.read(tenure, |trail| trail.following(last.as_ref(), &[])) {
            if self.store.compare_and_delete(seat, &claim).await? || planted(Mutant::TtlVersionConditionalWithdrawal) {
                self.ledger.forget(tenure);
                return Ok(());
            }
            last = Some(claim);
        }
        for _ in 0..ROUNDS {
            let claim = match self.seen(bid).await? {
                Seen::Ours(claim) => claim,
                Seen::Other(claim, _) if planted(Mutant::TtlUnconditionalRelease) => claim,
                _ => {
                    self.ledger.forget(tenure);
                    return Ok(());
                }
            };
            if self.store.compare_and_delete(seat, &claim).await? {
                self.ledger.forget(tenure);
                return Ok(());
            }
        }
        Err(contended(seat, "withdraw"))
    }

    /// Renews the claim of ours that is in the store, whichever it is, without a look: each that may be there, lowest write first, from the one
    /// after `last`. `None` when none of them is.
    async fn walk(
        &self,
        bid: &Bid,
        mut last: Option<Claim<Claimant>>,
        mut in_vain: Vec<Claim<Claimant>>,
    ) -> Result<Option<Claim<Claimant>>, Error> {
        while let Some(old) = self.ledger.read(bid.tenure(), |trail| trail.following(last.as_ref(), &in_vain)) {
            if planted(Mutant::TtlUnknownNotResolved) {
                break;
            }
            if let Some(new) = self.step(bid, &old, &mut in_vain).await? {
                return Ok(Some(new));
            }
            last = Some(old);
        }
        Ok(None)
    }

    /// Renews this claim; `None` when it is not there. What nobody but this call tried to write, in vain, cannot be there either.
    async fn step(
        &self,
        bid: &Bid,
        old: &Claim<Claimant>,
        in_vain: &mut Vec<Claim<Claimant>>,
    ) -> Result<Option<Claim<Claimant>>, Error> {
        let new = old.renewed();
        if self.note(bid, &new) {
            in_vain.push(new.clone());
        }
        Ok(self.swap(bid, old, &new).await?.then_some(new))
    }

    async fn swap(&self, bid: &Bid, old: &Claim<Claimant>, new: &Claim<Claimant>) -> Result<bool, Error> {
        let swapped = self.store.compare_and_swap(bid.seat(), old, new, bid.lease()).await?;
        if swapped {
            self.settle(bid, new);
        }
        Ok(swapped)
    }

    async fn seen(&self, bid: &Bid) -> Result<Seen, Error> {
        Ok(match self.store.look(bid.seat()).await? {
            Look::Blind => Seen::Blind,
            Look::Absent => Seen::Nothing,
            Look::Present { value, .. } if value.tenure() == bid.tenure() => {
                self.settle(bid, &value);
                Seen::Ours(value)
            }
            Look::Present { value, remaining } => {
                let sight = value.sight(remaining);
                Seen::Other(value, sight)
            }
        })
    }

    fn note(&self, bid: &Bid, claim: &Claim<Claimant>) -> bool {
        self.ledger.write(bid.tenure(), bid.lease(), |trail| trail.note(claim))
    }

    fn settle(&self, bid: &Bid, claim: &Claim<Claimant>) {
        self.ledger.write(bid.tenure(), bid.lease(), |trail| trail.settle(claim));
    }

    fn grant(&self, bid: &Bid, claim: &Claim<Claimant>) -> Grant {
        Grant {
            tenure: bid.tenure(),
            version: claim.version(),
            token: claim.value().token,
            incarnation: self.store.incarnation(),
            cover: Cover::Own { ttl: bid.lease() },
            over: Vacancy::Free,
            asked_to_resign: claim.value().asked_to_resign,
        }
    }
}

fn may_displace(bid: &Bid, version: &Version) -> bool {
    bid.displace().is_some_and(|displace| displace == version || planted(Mutant::TtlDisplacesAnyVersion))
}

/// A holder in a store that cannot be looked at. Its name is empty, as no candidate's is.
fn unseen() -> Sight {
    Sight::Held(Held {
        version: Version::text("unseen"),
        tenure: None,
        holder: "".into(),
        token: None,
        since: None,
        advertise: Arc::default(),
        asked_to_resign: false,
        expiry: Expiry::Store { remaining: None },
    })
}

impl<S: TtlStore<Seat, Claim<Claimant>>> Backend for TtlBackend<S> {
    fn traits(&self) -> Traits {
        let told = self.store.traits();
        // SAFETY 20: without a number that outlives the key there is no sound token.
        let promise = if told.has_tokens { told.promise } else { told.promise.min(Promise::LeaseOnly) };
        Traits {
            promise,
            contenders_judge: false,
            queues: false,
            shares_sessions: false,
            names_releases: false,
            ..told
        }
    }

    fn place(&self) -> String {
        self.store.place()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, _: Attempt) -> Answer<'a, Standing> {
        Box::pin(async move { self.run(bid).await.map_err(|error| told(error, bid.seat(), "stand")) })
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        Box::pin(async move { self.extend(bid, version).await.map_err(|error| told(error, bid.seat(), "renew")) })
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(async move { self.leave(bid).await.map_err(|error| told(error, bid.seat(), "withdraw")) })
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(async move {
            match self.store.look(seat).await.map_err(|error| told(error, seat, "inspect"))? {
                Look::Absent => Ok(Sight::Vacant(Vacancy::Free)),
                Look::Present { value, remaining } => Ok(value.sight(remaining)),
                Look::Blind => Err(told(cannot_look(), seat, "inspect")),
            }
        })
    }

    fn watch<'a>(&'a self, seat: &'a Seat, _: Option<&'a Bid>) -> Answer<'a, Watch> {
        Box::pin(async move { self.store.watch(seat).await.map_err(|error| told(error, seat, "watch")) })
    }

    fn administer(&self) -> Option<&dyn Administer> {
        Some(self)
    }
}

fn cannot_look() -> Error {
    Error::new(ErrorKind::Unsupported, "this store cannot be looked at, so nobody can tell who holds the office")
}

fn told(error: Error, seat: &Seat, operation: &'static str) -> Error {
    error.of_election(seat).during(operation)
}
