//! The stream that a watcher reads.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::store::{Store, Table};
use super::watchers::Post;
use crate::Moment;
use crate::backend::Hint;

/// One watcher's stream of hints; dropping it unsubscribes.
pub(super) struct Subscription<T: Table> {
    store: Arc<Store<T>>,
    /// `None` once it has ended: its number may be another's then.
    id: Option<usize>,
    /// Only the timekeeper has one.
    timer: Option<(Moment, Timer)>,
}

type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<T: Table> Subscription<T> {
    /// Looks again at once after a timer fired; after so many that fired early, others get their turn first.
    const LOOKS: usize = 2;

    pub(super) fn new(store: Arc<Store<T>>, id: usize) -> Self {
        Subscription { store, id: Some(id), timer: None }
    }

    fn poll_timer(&mut self, until: Moment, context: &mut Context<'_>) -> Poll<()> {
        if self.timer.as_ref().is_none_or(|(armed, _)| *armed != until) {
            let clock = self.store.clock().clone();
            self.timer = Some((until, Box::pin(async move { clock.wait_until(until).await })));
        }
        let Some((_, timer)) = &mut self.timer else {
            return Poll::Pending;
        };
        let fired = timer.as_mut().poll(context);
        if fired.is_ready() {
            self.timer = None;
        }
        fired
    }

    fn end(&mut self) {
        self.timer = None;
        if let Some(id) = self.id.take() {
            self.store.unsubscribe(id);
        }
    }
}

impl<T: Table> Stream for Subscription<T> {
    type Item = Hint;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Hint>> {
        let this = self.get_mut();
        for _ in 0..Self::LOOKS {
            let Some(id) = this.id else {
                return Poll::Ready(None);
            };
            match this.store.read(id, context.waker()) {
                Post::Hint(hint) => return Poll::Ready(Some(hint)),
                Post::Ended => {
                    this.end();
                    return Poll::Ready(None);
                }
                Post::Nothing => {
                    this.timer = None;
                    return Poll::Pending;
                }
                Post::NothingUntil(until) => {
                    if this.poll_timer(until, context).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T: Table> Drop for Subscription<T> {
    fn drop(&mut self) {
        self.end();
    }
}
