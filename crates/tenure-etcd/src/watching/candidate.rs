//! The watch of a candidate in the queue: its own key, and the one ahead of it.

use std::sync::Arc;
use std::time::Duration;

use tenure::backend::Hint;
use tenure::mutant::{Mutant, planted};
use tenure::{Error, Seat};

use super::{Broken, events};
use crate::backend::Store;
use crate::keys;
use crate::wire::hub::Subscription;

/// A place in the queue that is watched.
pub(super) struct Waiting {
    store: Arc<Store>,
    seat: Seat,
    key: Vec<u8>,
    created: i64,
    own: Subscription,
    /// Nobody is ahead of whoever leads.
    ahead: Option<Subscription>,
    /// The one ahead went, and who is there now has not been looked for.
    moves_up: bool,
}

impl Waiting {
    /// So often what was to be watched is compacted away before it is.
    const TRIES: usize = 5;
    /// A bid that was told to stand is asked first: etcd answers reads in rounds, and a bid that comes just after another read waits for the next.
    const BID_FIRST: Duration = Duration::from_millis(10);

    pub(super) async fn begin(store: Arc<Store>, seat: Seat, key: Vec<u8>, created: i64) -> Result<Self, Error> {
        for _ in 0..Self::TRIES {
            match Self::set_up(&store, &seat, &key, created).await {
                Ok((own, ahead)) => return Ok(Waiting { store, seat, key, created, own, ahead, moves_up: false }),
                Err(Broken::Lagged(error)) => return Err(error),
                Err(Broken::Compacted) => {}
            }
        }
        Err(compacted())
    }

    /// The next hint. Whoever leads hears when something happens to its own key; whoever waits, also when its turn has come.
    pub(super) async fn next(&mut self) -> Result<Hint, Broken> {
        loop {
            if self.moves_up {
                tokio::time::sleep(Self::BID_FIRST).await;
                if self.move_up().await? {
                    return Ok(Hint::Vacant);
                }
            }
            let stirred = match &mut self.ahead {
                None => events(self.own.next().await).map(|events| !events.is_empty()),
                Some(ahead) => tokio::select! {
                    biased;
                    own = self.own.next() => events(own).map(|events| !events.is_empty()),
                    ahead = ahead.next() => match events(ahead) {
                        // Something was written to the key ahead: it still stands there.
                        Ok(events) if !events.iter().any(|event| event.is_deletion()) => continue,
                        // Almost always that was the leader. Whoever stands asks who is first anyway: to look for that here before would cost a
                        // handover one more round trip.
                        Ok(_) => {
                            self.moves_up = true;
                            return Ok(Hint::Vacant);
                        }
                        Err(broken) => Err(broken),
                    },
                },
            };
            match stirred {
                Ok(true) => return Ok(Hint::Changed),
                Ok(false) => {}
                Err(Broken::Compacted) => {
                    let (own, ahead) = self.set_up_again().await?;
                    (self.own, self.ahead) = (own, ahead);
                    return Ok(Hint::Changed);
                }
                Err(broken) => return Err(broken),
            }
        }
    }

    /// The one ahead is gone: who is now? Says whether nobody is. Somebody may have been when we were told to stand, and have left since.
    async fn move_up(&mut self) -> Result<bool, Broken> {
        for _ in 0..Self::TRIES {
            match Self::ahead(&self.store, &self.seat, self.created).await {
                Ok((ahead, _)) => {
                    self.moves_up = false;
                    self.ahead = ahead;
                    return Ok(self.ahead.is_none());
                }
                Err(Broken::Compacted) => {}
                Err(broken) => return Err(broken),
            }
        }
        Err(compacted().into())
    }

    async fn set_up_again(&self) -> Result<(Subscription, Option<Subscription>), Broken> {
        for _ in 0..Self::TRIES {
            match Self::set_up(&self.store, &self.seat, &self.key, self.created).await {
                Err(Broken::Compacted) => {}
                done => return done,
            }
        }
        Err(compacted().into())
    }

    async fn set_up(
        store: &Store,
        seat: &Seat,
        key: &[u8],
        created: i64,
    ) -> Result<(Subscription, Option<Subscription>), Broken> {
        let (ahead, revision) = Self::ahead(store, seat, created).await?;
        let own = store.subscribe(key.into(), Vec::new(), revision + 1).await?;
        Ok((own, ahead))
    }

    /// A watch on the key ahead, from the revision at which it was the one.
    async fn ahead(store: &Store, seat: &Seat, created: i64) -> Result<(Option<Subscription>, i64), Broken> {
        let read = store.queue(seat, store.patience).ahead_of(created).await?;
        let revision = read.header.revision;
        let Some(place) = read.found else { return Ok((None, revision)) };
        let (key, end) = if planted(Mutant::EtcdHerdWoken) {
            let queue = store.keys.queue(seat);
            (queue.clone(), keys::end_of(&queue))
        } else {
            (place.kv.key, Vec::new())
        };
        Ok((Some(store.subscribe(key, end, revision + 1).await?), revision))
    }
}

fn compacted() -> Error {
    Error::unavailable("etcd compacts its history faster than it can be watched")
}
