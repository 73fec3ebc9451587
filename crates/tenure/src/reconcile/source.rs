//! Where the loop hears of the election.

use std::{future::ready, pin::Pin};

use tokio::sync::mpsc;

use super::{BoxError, State};

/// What a [`Source`] does, as a future.
pub type SourceFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send + 'a>>;

/// Says what the election makes of this process.
///
/// # Contract
/// - A source runs for the office from the first call of [`next`](Self::next) on.
/// - It renews the office it holds by itself, also while nobody calls `next`.
/// - Dropping it must not give the office up. It is dropped, too, when the leader's work could not
///   be stopped, and the office must then stay taken until its lease runs out.
pub trait Source: Send {
    /// The next message, `None` when there will be no more.
    ///
    /// The future is dropped and made anew whenever something else happens: a message must not be
    /// lost by that. An error ends the run, so what can be tried again is tried again in here.
    fn next(&mut self) -> SourceFuture<'_, Option<State>>;

    /// Stops running for the office and gives it up if held.
    ///
    /// Renewal must stop before the backend is called: the future is dropped when the release
    /// timeout is over, and the office must then run out by itself. Once it is done, `next` must
    /// not yield a [`State::Leader`] of the time before.
    fn relinquish(&mut self) -> SourceFuture<'_, ()>;

    /// Runs for the office again. What goes wrong is told by the next [`next`](Self::next).
    fn resume(&mut self);
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self) -> SourceFuture<'_, Option<State>> {
        (**self).next()
    }

    fn relinquish(&mut self) -> SourceFuture<'_, ()> {
        (**self).relinquish()
    }

    fn resume(&mut self) {
        (**self).resume();
    }
}

/// Messages sent from elsewhere in the program. There is no office behind it, so there is none to
/// give up.
impl Source for mpsc::Receiver<State> {
    fn next(&mut self) -> SourceFuture<'_, Option<State>> {
        Box::pin(async { Ok(self.recv().await) })
    }

    fn relinquish(&mut self) -> SourceFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    fn resume(&mut self) {}
}
