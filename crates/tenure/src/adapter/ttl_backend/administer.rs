//! Asking and evicting the holder of a claim.

use std::time::Duration;

use super::{TtlBackend, cannot_look, told};
use crate::adapter::{Claim, Claimant, Look, ROUNDS, TtlStore, contended, evicted, is_nobody, nobody};
use crate::backend::{Administer, Answer, Evicted, Sight};
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, Seat};

impl<S: TtlStore<Seat, Claim<Claimant>>> TtlBackend<S> {
    /// The claim that is there, and what is left of it.
    async fn holder(&self, seat: &Seat) -> Result<Option<(Claim<Claimant>, Duration)>, Error> {
        match self.store.look(seat).await? {
            Look::Absent => Ok(None),
            Look::Present { value, remaining: Some(remaining) } => Ok(Some((value, remaining))),
            Look::Present { remaining: None, .. } => Err(Error::new(
                ErrorKind::Unsupported,
                "this store does not tell how long a key has to live, so nobody but its holder can change it safely",
            )),
            Look::Blind => Err(cannot_look()),
        }
    }

    async fn ask(&self, seat: &Seat) -> Result<bool, Error> {
        for _ in 0..ROUNDS {
            let Some((claim, remaining)) = self.holder(seat).await? else {
                return Ok(false);
            };
            if claim.value().asked_to_resign || is_nobody(claim.tenure()) {
                return Ok(claim.value().asked_to_resign);
            }
            let asked = claim.followed_by(Claimant { asked_to_resign: true, ..claim.value().clone() });
            // What is left now ends no sooner than what the holder counts on.
            if self.store.compare_and_swap(seat, &claim, &asked, at_least_a_moment(remaining)).await? {
                return Ok(true);
            }
        }
        Err(contended(seat, "ask to resign"))
    }

    async fn bar(&self, seat: &Seat) -> Result<Evicted, Error> {
        for _ in 0..ROUNDS {
            let Some((claim, remaining)) = self.holder(seat).await? else {
                return Ok(Evicted::WasVacant);
            };
            if is_nobody(claim.tenure()) {
                return Ok(Evicted::Barred { remaining });
            }
            let Claimant { holder, token, since, .. } = claim.value();
            let bar = Claimant {
                holder: evicted(holder).into(),
                advertise: Default::default(),
                since: *since,
                token: *token,
                asked_to_resign: false,
            };
            let remaining = at_least_a_moment(remaining);
            // The bar ends no sooner than the claim would have, and the evicted holder's belief ends before that: nobody leads meanwhile.
            let bar = Claim::new(bar, nobody(), 1);
            let done = if planted(Mutant::TtlEvictionUnbarred) {
                self.store.compare_and_delete(seat, &claim).await?
            } else {
                self.store.compare_and_swap(seat, &claim, &bar, remaining).await?
            };
            if done {
                return Ok(Evicted::Barred { remaining });
            }
        }
        Err(contended(seat, "evict"))
    }
}

fn at_least_a_moment(remaining: Duration) -> Duration {
    remaining.max(Duration::from_millis(1))
}

impl<S: TtlStore<Seat, Claim<Claimant>>> Administer for TtlBackend<S> {
    /// Not supported: a TTL store knows keys one by one. A backend whose store can list wraps this one.
    fn list<'a>(&'a self, _: &'a str) -> Answer<'a, Vec<(Seat, Sight)>> {
        Box::pin(async {
            Err(Error::new(ErrorKind::Unsupported, "this store cannot list its elections").during("list"))
        })
    }

    fn ask_to_resign<'a>(&'a self, seat: &'a Seat) -> Answer<'a, bool> {
        Box::pin(async move { self.ask(seat).await.map_err(|error| told(error, seat, "ask to resign")) })
    }

    fn evict<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Evicted> {
        Box::pin(async move { self.bar(seat).await.map_err(|error| told(error, seat, "evict")) })
    }
}
