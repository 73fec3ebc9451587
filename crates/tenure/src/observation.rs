//! Watching who holds an office, without running for it.

use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::watch;

use crate::backend::{Backend, Held, Hint, Sight, Vacancies, Watch};
use crate::clock::AnyClock;
use crate::driver::Driver;
use crate::incumbent::Onlooker;
use crate::{Election, Error, Incumbent, Seat};

/// Who holds an office, from now on. Only the newest matters: what changed twice between two readings is read once.
#[derive(Debug)]
pub struct Observation {
    seen: watch::Receiver<Option<Option<Incumbent>>>,
}

impl Observation {
    pub(crate) fn begin(election: Election, interval: Duration, clock: AnyClock) -> Result<Self, Error> {
        let (sender, seen) = watch::channel(None);
        Driver::of(&clock)?.run(observe(election, interval, clock, sender));
        Ok(Observation { seen })
    }

    /// The present holder at first, then every change; `None` inside when the office is vacant. Ends (`None` outside) only with the
    /// driver.
    pub async fn next(&mut self) -> Option<Option<Incumbent>> {
        self.seen.changed().await.ok()?;
        self.seen.borrow_and_update().clone()
    }

    /// The holder as last seen; `None` outside before the first look.
    pub fn latest(&self) -> Option<Option<Incumbent>> {
        self.seen.borrow().clone()
    }
}

type Seen = watch::Sender<Option<Option<Incumbent>>>;

/// Looks, publishes, waits for a push or the interval, and looks again, until nobody observes any more.
async fn observe(election: Election, interval: Duration, clock: AnyClock, seen: Seen) {
    let (backend, seat) = (election.backend(), election.name());
    let pushed = backend.traits().vacancies == Vacancies::Pushed;
    let mut watch: Option<Watch> = None;
    let mut onlooker = Onlooker::default();
    loop {
        if pushed && watch.is_none() {
            watch = armed(&**backend, seat).await;
        }
        match backend.inspect(seat).await {
            Ok(sight) => publish(&election, &sight, &mut onlooker, &seen),
            Err(error) => {
                tracing::warn!(election = %seat, %error, "the election cannot be read; its last known holder stands")
            }
        }
        let again = match &watch {
            // Expiry is not always pushed; a look now and then costs little.
            Some(_) => clock.now().after(interval * 10),
            None => clock.now().after(interval),
        };
        tokio::select! {
            () = seen.closed() => return,
            () = clock.wait_until(again) => {}
            hint = next_hint(&mut watch) => match hint {
                Some(Hint::Seen(sight)) => publish(&election, &sight, &mut onlooker, &seen),
                Some(Hint::Lagged) | None => watch = None,
                Some(_) => {}
            },
        }
        if watch.is_none() && pushed {
            // A watch that broke is not set up again in a tight loop.
            tokio::select! {
                () = seen.closed() => return,
                () = clock.wait_until(clock.now().after(interval / 4)) => {}
            }
        }
    }
}

/// A watch that has said that it misses nothing.
async fn armed(backend: &dyn Backend, seat: &Seat) -> Option<Watch> {
    let mut watch = backend.watch(seat, None).await.ok()?;
    (watch.next().await == Some(Hint::Armed)).then_some(watch)
}

async fn next_hint(watch: &mut Option<Watch>) -> Option<Hint> {
    match watch {
        Some(watch) => Pin::new(watch).next().await,
        None => pending().await,
    }
}

fn publish(election: &Election, sight: &Sight, onlooker: &mut Onlooker, seen: &Seen) {
    let incumbent = onlooker.see(sight, election.token_base());
    let untold = incumbent.as_ref().is_some_and(|incumbent| incumbent.token().is_none());
    if untold && let Some(Held { token: Some(token), .. }) = sight.held() {
        tracing::error!(election = %election.name(), token, "fencing tokens went back: the store was restored or made anew");
    }
    seen.send_if_modified(|last| {
        let news = last.as_ref() != Some(&incumbent);
        if news {
            *last = Some(incumbent);
        }
        news
    });
}
