//! The stream of hints about one election.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};

use super::FileBackend;
use super::names::Names;
use super::notices::{Notices, Rung, Subscription};
use crate::backend::{Expiry, Hint, Sight, Watch};
use crate::mutant::{Mutant, planted};
use crate::{Error, Seat};

/// What a watcher has to know.
struct Watching {
    backend: FileBackend,
    seat: Seat,
    subscription: Subscription,
}

/// Subscribes, and gives the stream.
pub(super) async fn begin(backend: &FileBackend, seat: &Seat) -> Result<Watch, Error> {
    let names = Names::of(seat);
    let subscribed = backend.blocking(move |backend| Notices::of_this_process()?.subscribe(&backend.path, &names));
    let subscription = subscribed.await?;
    let watching = Watching { backend: backend.clone(), seat: seat.clone(), subscription };
    let hints = stream::unfold(Some(watching), |watching| async move {
        let watching = watching?;
        let rung = watching.subscription.heard().await;
        if rung.lost() && planted(Mutant::FileSilentWatchEnd) {
            return None;
        }
        if rung.lost() {
            return Some((Hint::Lagged, None));
        }
        Some((watching.looked(rung).await, Some(watching)))
    });
    Ok(Box::pin(stream::once(async { Hint::Armed }).chain(hints)))
}

impl Watching {
    /// The kernel tells that a file was closed a moment before it frees the lock: so many more looks are taken, ever further apart.
    const LOOKS: u32 = 8;
    const FIRST_PAUSE: Duration = Duration::from_micros(500);

    async fn looked(&self, rung: Rung) -> Hint {
        let mut pause = Self::FIRST_PAUSE;
        for look in 1.. {
            let sight =
                self.backend.call(&self.seat, "watch", self.backend.options.lock_timeout, |office| office.inspect());
            match sight.await {
                Ok(sight) if !rung.died() || !is_unproved(&sight) || look == Self::LOOKS => return Hint::Seen(sight),
                Ok(_) => {}
                // Whoever asks again hears what is wrong.
                Err(_) => return Hint::Changed,
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Hint::Changed
    }
}

/// Whether somebody holds the office whose death is not proved.
fn is_unproved(sight: &Sight) -> bool {
    sight.held().is_some_and(|held| matches!(held.expiry, Expiry::Observe { .. }))
}
