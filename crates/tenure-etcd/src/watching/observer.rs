//! The watch of somebody without a place in the queue: whoever leads, and whoever comes when nobody does.

use std::sync::Arc;

use tenure::backend::Hint;
use tenure::{Error, Seat};

use super::{Broken, events};
use crate::backend::Store;
use crate::keys;
use crate::queue;
use crate::record::Place;
use crate::wire::hub::Subscription;
use crate::wire::message::Event;

/// An election that is observed.
pub(super) struct Observing {
    store: Arc<Store>,
    seat: Seat,
    watch: Subscription,
    /// Whoever leads; what is watched is its key, or the whole queue while nobody does.
    leader: Option<Place>,
    /// The leader is not yet told.
    untold: bool,
}

impl Observing {
    /// So often what was to be watched is compacted away before it is.
    const TRIES: usize = 5;

    pub(super) async fn begin(store: Arc<Store>, seat: Seat) -> Result<Self, Error> {
        match Self::look(&store, &seat).await {
            Ok((leader, watch)) => Ok(Observing { store, seat, watch, leader, untold: true }),
            Err(Broken::Lagged(error)) => Err(error),
            Err(Broken::Compacted) => {
                Err(Error::unavailable("etcd compacts its history faster than it can be watched"))
            }
        }
    }

    pub(super) async fn next(&mut self) -> Result<Hint, Broken> {
        loop {
            if std::mem::take(&mut self.untold) {
                return Ok(match &self.leader {
                    Some(_) => Hint::Seen(queue::sight(self.leader.as_ref())),
                    None => Hint::Vacant,
                });
            }
            match events(self.watch.next().await) {
                Ok(events) => self.take(events).await?,
                Err(Broken::Compacted) => self.look_again().await?,
                Err(broken) => return Err(broken),
            }
        }
    }

    async fn take(&mut self, events: Vec<Event>) -> Result<(), Broken> {
        let queue = self.store.keys.queue(&self.seat).len();
        for event in events {
            match (&self.leader, event.is_deletion(), event.kv) {
                (Some(_), false, Some(kv)) => {
                    self.leader = Some(Place::read(kv));
                    self.untold = true;
                }
                // It went, or somebody came.
                (Some(_), true, _) => return self.look_again().await,
                (None, false, Some(kv)) if keys::is_place(&kv, queue) => return self.look_again().await,
                _ => {}
            }
        }
        Ok(())
    }

    async fn look_again(&mut self) -> Result<(), Broken> {
        (self.leader, self.watch) = Self::look(&self.store, &self.seat).await?;
        self.untold = true;
        Ok(())
    }

    async fn look(store: &Store, seat: &Seat) -> Result<(Option<Place>, Subscription), Broken> {
        for _ in 0..Self::TRIES {
            let read = store.queue(seat, store.patience).first().await?;
            let (key, end) = match &read.found {
                Some(leader) => (leader.kv.key.clone(), Vec::new()),
                None => {
                    let queue = store.keys.queue(seat);
                    (queue.clone(), keys::end_of(&queue))
                }
            };
            match store.subscribe(key, end, read.header.revision + 1).await {
                Ok(watch) => return Ok((read.found, watch)),
                Err(Broken::Compacted) => {}
                Err(broken) => return Err(broken),
            }
        }
        Err(Broken::Compacted)
    }
}
