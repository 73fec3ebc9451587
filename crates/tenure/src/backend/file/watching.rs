//! The stream of hints about one election.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};

use super::FileBackend;
use super::names::Names;
use super::notices::{Notices, Subscription};
use crate::backend::{Expiry, Hint, Sight, Watch};
use crate::mutant::{Mutant, planted};
use crate::{Error, Seat};

/// What a watcher has to know.
struct Watching {
    backend: FileBackend,
    seat: Seat,
    subscription: Subscription,
    /// A liveness file was closed and its lock was not free: when to try it again.
    again_in: Option<Duration>,
}

/// Subscribes, and gives the stream.
pub(super) async fn begin(backend: &FileBackend, seat: &Seat) -> Result<Watch, Error> {
    let names = Names::of(seat);
    let subscribed = backend.blocking(move |backend| Notices::of_this_process()?.subscribe(&backend.path, &names));
    let subscription = subscribed.await?;
    let watching = Watching { backend: backend.clone(), seat: seat.clone(), subscription, again_in: None };
    let hints = stream::unfold(Some(watching), |watching| async move {
        let mut watching = watching?;
        match watching.next().await {
            Some(hint) => Some((hint, Some(watching))),
            None if planted(Mutant::FileSilentWatchEnd) => None,
            None => Some((Hint::Lagged, None)),
        }
    });
    Ok(Box::pin(stream::once(async { Hint::Armed }).chain(hints)))
}

impl Watching {
    /// The kernel tells that a file was closed a moment before it frees the lock: it is tried again, ever less often, for one second.
    const SHORTEST_PAUSE: Duration = Duration::from_micros(500);
    const LONGEST_PAUSE: Duration = Duration::from_secs(1);

    /// The next thing to tell; nothing when something may have been missed.
    async fn next(&mut self) -> Option<Hint> {
        loop {
            let rung = match self.again_in {
                None => Some(self.subscription.heard().await),
                Some(pause) => tokio::time::timeout(pause, self.subscription.heard()).await.ok(),
            };
            match rung {
                Some(rung) if rung.lost() => return None,
                Some(rung) if rung.died() => self.again_in = Some(Self::SHORTEST_PAUSE),
                Some(_) => {}
                None => {
                    self.again_in = self.again_in.map(|pause| pause * 2).filter(|pause| *pause <= Self::LONGEST_PAUSE)
                }
            }
            let timeout = self.backend.options.lock_timeout;
            let hint = match self.backend.call(&self.seat, "watch", timeout, |office| office.inspect()).await {
                Ok(sight) if is_unproved(&sight) && rung.is_none() => continue,
                Ok(sight) => {
                    if !is_unproved(&sight) {
                        self.again_in = None;
                    }
                    Hint::Seen(sight)
                }
                // Whoever asks again hears what is wrong.
                Err(_) => Hint::Changed,
            };
            return Some(hint);
        }
    }
}

/// Whether somebody holds the office whose death is not proved.
fn is_unproved(sight: &Sight) -> bool {
    sight.held().is_some_and(|held| matches!(held.expiry, Expiry::Observe { .. }))
}
