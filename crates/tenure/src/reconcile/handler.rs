//! What starts and stops the leader's work.

use std::{future::ready, pin::Pin};

use super::BoxError;

/// What a [`Handler`] does, as a future.
pub type HandlerFuture<'a> = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send + 'a>>;

/// Starts and stops what only a leader may do.
///
/// # Contract
/// - One method runs at a time, and `end` only after a `begin` that succeeded.
/// - `end` may be called again after it failed: it must be able to finish what it left half done.
/// - A panic is a failure like any other.
/// - A future may be dropped before it is done: `error` when the error timeout is over, all of them
///   when the run has to stop and its time is over. What must not outlive it, such as a child
///   process, must end when it is dropped.
pub trait Handler: Send + Sync {
    /// Starts the leader's work. Returns once it has started, not once it is done. A failure gives
    /// the office up.
    fn begin(&self) -> HandlerFuture<'_>;

    /// Stops the leader's work. Returns once it has stopped: the office may be given up right after
    /// it.
    fn end(&self) -> HandlerFuture<'_>;

    /// Told that something went wrong: the source reported an error, or `begin` or `end` failed. A
    /// failure is logged and changes nothing. Does nothing unless written.
    fn error(&self) -> HandlerFuture<'_> {
        Box::pin(ready(Ok(())))
    }
}

impl<H: Handler + ?Sized> Handler for Box<H> {
    fn begin(&self) -> HandlerFuture<'_> {
        (**self).begin()
    }

    fn end(&self) -> HandlerFuture<'_> {
        (**self).end()
    }

    fn error(&self) -> HandlerFuture<'_> {
        (**self).error()
    }
}
