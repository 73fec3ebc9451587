//! Watching an office: what is pushed, and a look when a holder ought to have been heard of and was not.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tenure::backend::{Hint, TenureId, Watch};
use tenure::mutant::{Mutant, planted};
use tenure::{Error, Seat};
use tokio::time::Instant;

use crate::backend::RedisBackend;
use crate::record::{Holding, Seen};
use crate::script::Reply;
use crate::subscriptions::{Notice, Subscription};

/// One watch.
///
/// The server tells of renewals, removals and expiries only where `notify-keyspace-events` is on, and that need not be known: every event of a
/// holder that renews puts the look off by its lease. Where nothing is told, the look comes when the record's life is over, and a follower asks
/// once a lease.
struct Watching {
    backend: RedisBackend,
    seat: Seat,
    subscription: Subscription,
    /// What was told last, so that nothing is told twice.
    told: Told,
    /// How long a renewal of the holder lasts, if it is one of ours.
    lease: Option<Duration>,
    look_at: Option<Instant>,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Vacant,
    /// One of ours holds the office, and was asked to resign or not.
    Ours(TenureId, bool),
    /// Another program does: the digest of its value.
    Foreign(Arc<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Arming,
    Armed,
    Over,
}

/// The server expires a key after its last millisecond, not in it.
const SLACK: Duration = Duration::from_millis(2);
/// So long is waited for news of a holder before it is looked for.
const SOON: Duration = Duration::from_millis(20);
/// Whoever begins to watch asks who holds the office, and that tells this watch too. If not, it looks for itself.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// A lock that never expires ends by somebody's hand, and where the server tells of nothing, nobody tells of that.
const UNENDING_LOOK: Duration = Duration::from_secs(5);

/// Subscribes; the stream's first hint is that it has.
pub(crate) async fn begin(backend: &RedisBackend, seat: &Seat) -> Result<Watch, Error> {
    let subscription = backend.subscribe(seat).await?;
    let watching = Watching {
        backend: backend.clone(),
        seat: seat.clone(),
        subscription,
        told: Told::Nothing,
        lease: None,
        look_at: Some(Instant::now() + FIRST_LOOK),
        stage: Stage::Arming,
    };
    Ok(Box::pin(stream::unfold(watching, |mut watching| async move {
        let hint = watching.next().await?;
        Some((hint, watching))
    })))
}

impl Watching {
    async fn next(&mut self) -> Option<Hint> {
        match self.stage {
            Stage::Arming => {
                self.stage = Stage::Armed;
                return Some(Hint::Armed);
            }
            Stage::Over => return None,
            Stage::Armed => {}
        }
        loop {
            let hint = tokio::select! {
                notice = self.subscription.next() => match notice {
                    Some(notice) => self.heard(notice),
                    None => self.over(),
                },
                () = until(self.look_at) => match self.backend.look(&self.seat).await {
                    Ok(seen) => self.seen(seen),
                    Err(_) => self.over(),
                },
            };
            if hint.is_some() {
                return hint;
            }
        }
    }

    fn over(&mut self) -> Option<Hint> {
        self.stage = Stage::Over;
        (!planted(Mutant::RedisWatchEndsSilently)).then_some(Hint::Lagged)
    }

    fn heard(&mut self, notice: Notice) -> Option<Hint> {
        match notice {
            Notice::Seen(seen) => {
                self.count_on(&seen);
                None
            }
            Notice::Said(said) => match self.read(&said) {
                Some(Reply::Held(seen)) => self.seen(Some(seen)),
                Some(_) => self.vacant(),
                // Anybody may publish anything there.
                None => self.unclear(),
            },
            Notice::Event(event) => match (event.as_str(), self.lease) {
                ("del" | "expired" | "evicted" | "rename_from" | "move_from", _) => self.vacant(),
                // It comes with `expire`, which says as much.
                ("set", _) => None,
                ("expire", Some(lease)) => {
                    self.look_at = Some(Instant::now() + lease + SLACK);
                    None
                }
                // Somebody came into office, who may say so at once, or be seen by a call that is under way.
                ("expire", None) => {
                    self.told = Told::Nothing;
                    self.look_at = Some(Instant::now() + SOON);
                    None
                }
                _ => self.unclear(),
            },
        }
    }

    /// `held <ms> <record>`, or `vacant`.
    fn read(&self, said: &[u8]) -> Option<Reply> {
        if said == b"vacant" {
            return Some(Reply::Vacant);
        }
        let rest = said.strip_prefix(b"held ")?;
        let blank = rest.iter().position(|byte| *byte == b' ')?;
        let remaining = std::str::from_utf8(&rest[..blank]).ok()?.parse().ok().map(Duration::from_millis)?;
        let holding = Holding::decode(&rest[blank + 1..], "", self.seat.as_str()).ok()?;
        matches!(holding, Holding::Ours(_)).then_some(Reply::Held(Seen { holding, remaining: Some(remaining) }))
    }

    /// Takes note of how long the holder is in office, unless it is heard of again.
    fn count_on(&mut self, seen: &Seen) {
        self.look_at = Some(Instant::now() + seen.remaining.map_or(UNENDING_LOOK, |remaining| remaining + SLACK));
        self.lease = match &seen.holding {
            Holding::Ours(record) => Some(record.details.lease),
            Holding::Foreign { .. } => None,
        };
        if self.told == Told::Vacant {
            self.told = Told::Nothing;
        }
    }

    fn seen(&mut self, seen: Option<Seen>) -> Option<Hint> {
        let Some(seen) = seen else { return self.vacant() };
        self.count_on(&seen);
        self.tell(
            match &seen.holding {
                Holding::Ours(record) => Told::Ours(record.tenure, record.asked_to_resign),
                Holding::Foreign { version, .. } => Told::Foreign(version.clone()),
            },
            Hint::Seen(seen.sight()),
        )
    }

    fn vacant(&mut self) -> Option<Hint> {
        (self.look_at, self.lease) = (None, None);
        self.tell(Told::Vacant, Hint::Vacant)
    }

    fn unclear(&mut self) -> Option<Hint> {
        self.lease = None;
        self.told = Told::Nothing;
        Some(Hint::Changed)
    }

    /// A release is published and is an event too, and a renewal is no news.
    fn tell(&mut self, news: Told, hint: Hint) -> Option<Hint> {
        let is_news = self.told != news;
        self.told = news;
        is_news.then_some(hint)
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
