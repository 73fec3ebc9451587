//! What a campaign tells: past-tense facts, in order, never more than a reader can hold.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use crate::backend::TenureId;
use crate::machine::{Finish, State};
use crate::{Alarm, Ending, FencingToken, Incumbent, Moment};

/// Something that happened in a campaign. New kinds may come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Where the campaign stands: the first event of every stream.
    Currently {
        /// The state.
        state: State,
        /// The token, when leading.
        token: Option<FencingToken>,
    },
    /// A bid was made, from this state (SEEDS 36).
    Attempted {
        /// The state before the attempt.
        was: State,
    },
    /// A bid or renewal failed; it is tried again as the timing says.
    Failed {
        /// What the backend said.
        message: Arc<str>,
    },
    /// The office was won; leading begins after the settle time.
    Settled,
    /// Leadership began.
    Elected {
        /// The tenure.
        tenure: TenureId,
        /// Its fencing token.
        token: Option<FencingToken>,
    },
    /// A win or a renewal moved the deadline: for whoever watches over work in another process.
    Extended {
        /// Leadership ends then if no further renewal succeeds.
        deadline: Moment,
        /// Guarded work has to have stopped by then.
        expiry: Moment,
    },
    /// Leadership ended.
    Lost {
        /// Why.
        ending: Ending,
    },
    /// The office was given up; the store confirmed it, or it falls vacant by expiry.
    Released {
        /// Whether the store confirmed it.
        confirmed: bool,
    },
    /// Another holder was seen in office, or none.
    IncumbentChanged(Option<Incumbent>),
    /// Something a person should look at.
    Alarmed(Alarm),
    /// The campaign is over.
    Finished(Finish),
}

impl Event {
    fn is_leadership(&self) -> bool {
        matches!(self, Event::Elected { .. } | Event::Lost { .. })
    }
}

/// The events of a campaign, current state first; a [`Stream`] that ends with the campaign.
///
/// A reader that falls behind loses old details first and pairs of elected and lost next, so that what it still reads is in order and
/// alternates; it never slows the campaign down.
pub struct Events {
    feed: Arc<Feed>,
}

impl Events {
    pub(crate) fn new(feed: Arc<Feed>) -> Self {
        Events { feed }
    }

    /// The next event; `None` once the campaign is over and everything was read.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.feed.poll(context)).await
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.feed.poll(context)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.feed.close();
    }
}

/// A bounded queue to one reader.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    inner: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    waker: Option<Waker>,
    closed: bool,
}

impl Feed {
    /// How many events wait for a reader at most.
    pub(crate) const CAPACITY: usize = 256;

    pub(crate) fn push(&self, event: Event) {
        let waker = {
            let mut queue = self.queue();
            if queue.closed {
                return;
            }
            if queue.events.len() >= Self::CAPACITY {
                make_room(&mut queue.events);
            }
            queue.events.push_back(event);
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Nothing more comes, or nobody reads any more.
    pub(crate) fn close(&self) {
        let waker = {
            let mut queue = self.queue();
            queue.closed = true;
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut queue = self.queue();
        match queue.events.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if queue.closed => Poll::Ready(None),
            None => {
                queue.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops the oldest detail; where only leadership is left, the oldest two, which are a pair.
fn make_room(events: &mut VecDeque<Event>) {
    match events.iter().position(|event| !event.is_leadership()) {
        Some(detail) => drop(events.remove(detail)),
        None => drop(events.drain(..2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::block_on;

    fn elected() -> Event {
        Event::Elected { tenure: TenureId::new(1, 1), token: None }
    }

    fn lost() -> Event {
        Event::Lost { ending: Ending::Resigned }
    }

    #[test]
    fn a_reader_that_falls_behind_still_reads_alternating_leadership() {
        // SEEDS 30
        let feed = Arc::new(Feed::default());
        for _ in 0..Feed::CAPACITY {
            feed.push(Event::Attempted { was: State::Candidate });
            feed.push(elected());
            feed.push(lost());
        }
        feed.push(elected());
        feed.close();
        let mut events = Events::new(feed);
        let mut leading = false;
        let mut read = 0;
        while let Some(event) = block_on(events.next()) {
            read += 1;
            match event {
                Event::Elected { .. } => assert!(!std::mem::replace(&mut leading, true), "elected twice"),
                Event::Lost { .. } => assert!(std::mem::replace(&mut leading, false), "lost twice"),
                _ => {}
            }
        }
        assert!(leading, "the newest state survives");
        assert!(read <= Feed::CAPACITY);
    }
}
