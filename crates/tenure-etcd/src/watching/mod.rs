//! Hearing of changes, by watches on single keys: nobody is told what does not concern it.

mod candidate;
mod observer;

use std::sync::Arc;

use futures_util::stream::{once, unfold};
use futures_util::{FutureExt, StreamExt};
use tenure::backend::{Hint, TenureId, Watch};
use tenure::mutant::{Mutant, planted};
use tenure::{Error, ErrorKind, Seat};
use tokio::time::timeout;

use crate::backend::Store;
use crate::sessions::Claim;
use crate::wire::hub::{Report, Subscription};
use candidate::Waiting;
use observer::Observing;

/// Why a watch could not go on.
pub(super) enum Broken {
    /// It cannot be relied on any more.
    Lagged(Error),
    /// Something of the past can no longer be told: look, and go on from there.
    Compacted,
}

impl<E: Into<Error>> From<E> for Broken {
    fn from(error: E) -> Self {
        Broken::Lagged(error.into())
    }
}

/// Subscribes for a candidate that has a place in the queue, or for anybody else. Armed when this returns.
pub(crate) async fn watch(store: Arc<Store>, seat: Seat, tenure: Option<TenureId>) -> Result<Watch, Error> {
    let claim = store.sessions.claim(&seat).filter(|claim| Some(claim.tenure) == tenure);
    let armed = once(std::future::ready(Hint::Armed));
    match claim {
        Some(Claim { lease, created: Some(created), .. }) => {
            let key = store.keys.place(&seat, lease);
            let waiting = Waiting::begin(store, seat, key, created).await?;
            Ok(armed.chain(hints(waiting, |mut waiting| async { (waiting.next().await, waiting) }.boxed())).boxed())
        }
        _ => {
            let observing = Observing::begin(store, seat).await?;
            Ok(armed.chain(hints(observing, |mut watch| async { (watch.next().await, watch) }.boxed())).boxed())
        }
    }
}

type Step<W> = futures_util::future::BoxFuture<'static, (Result<Hint, Broken>, W)>;

/// The hints of a watch. It never ends silently.
fn hints<W: Send + 'static>(watch: W, step: fn(W) -> Step<W>) -> impl futures_core::Stream<Item = Hint> + Send {
    unfold(Some(watch), move |watch| async move {
        let (next, watch) = step(watch?).await;
        match next {
            Ok(hint) => Some((hint, Some(watch))),
            Err(_) if planted(Mutant::EtcdSilentWatchEnd) => None,
            Err(broken) => {
                if let Broken::Lagged(error) = broken {
                    tracing::debug!(%error, "a watch on etcd ended");
                }
                Some((Hint::Lagged, None))
            }
        }
    })
}

impl Store {
    /// A watch that stands: nothing from `from` on is missed.
    async fn subscribe(&self, key: Vec<u8>, range_end: Vec<u8>, from: i64) -> Result<Subscription, Broken> {
        let connection = self.link.connection(self.patience).await?;
        let lost = || Error::unavailable("the connection that carried the watch was lost");
        let hub = connection.hub();
        let mut subscription = hub.watch(key, range_end, from).ok_or_else(lost)?;
        match timeout(self.patience, subscription.next()).await {
            Ok(Some(Report::Created)) => Ok(subscription),
            Ok(Some(Report::Compacted)) => Err(Broken::Compacted),
            Ok(Some(Report::Refused(reason))) => {
                // The stream keeps the login that it began with, which is over or old: whoever watches has read before, and may.
                hub.end();
                Err(refused(reason).into())
            }
            Ok(Some(Report::Events(_))) => Err(Error::new(ErrorKind::Corrupt, "a watch began with an event").into()),
            Ok(None) => Err(lost().into()),
            Err(_) => Err(Error::unavailable("etcd did not set up a watch in time").into()),
        }
    }
}

/// The server ended a watch.
fn refused(reason: String) -> Error {
    if reason.contains("permission denied") {
        let message = "this user may not read the election; grant its role the prefix, with readwrite";
        return Error::new(ErrorKind::Denied, message);
    }
    Error::unavailable("etcd ended the watch").because(reason)
}

/// What a report brings, once a watch stands.
pub(super) fn events(report: Option<Report>) -> Result<Vec<crate::wire::message::Event>, Broken> {
    match report {
        Some(Report::Events(events)) => Ok(events),
        Some(Report::Compacted) => Err(Broken::Compacted),
        Some(Report::Refused(reason)) => Err(refused(reason).into()),
        Some(Report::Created) => Ok(Vec::new()),
        None => Err(Error::unavailable("the connection that carried the watch was lost").into()),
    }
}
