//! What the loop does: carries out what the [`Reconciler`] decides.

use std::{any::Any, future::poll_fn, mem, panic::AssertUnwindSafe, pin::pin, task::Poll, time::Duration};

use futures_util::{FutureExt, future::OptionFuture};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Action, BoxError, Failure, Handler, HandlerFuture, Hook, Input, Outcome, Policy, ReconcileError, Reconciler,
    Source, State,
};

/// Runs the handlers of one process as its source says. See the [module](super) for what that
/// means.
#[derive(Debug)]
pub struct Reconcile<S, H> {
    source: S,
    handler: H,
    policy: Policy,
    shutdown: CancellationToken,
    ran: bool,
}

impl<S: Source, H: Handler> Reconcile<S, H> {
    /// Not yet running. Both can be boxed: `Box<dyn Source>`, `Box<dyn Handler>`.
    pub fn new(source: S, handler: H, policy: Policy) -> Self {
        Self { source, handler, policy, shutdown: CancellationToken::new(), ran: false }
    }

    /// Runs until the source ends, shutdown is asked for or something goes wrong that cannot be put
    /// right. Can be run once. The end or failure of the source stops it as a shutdown does.
    ///
    /// To stop it, use [`shutdown_token`](Self::shutdown_token). Dropping the future instead drops
    /// a running handler, does not run `end` and does not give the office up.
    pub async fn run(&mut self) -> Result<Outcome, ReconcileError> {
        if mem::replace(&mut self.ran, true) {
            return Err(ReconcileError::AlreadyRan);
        }
        let run = Run {
            source: &mut self.source,
            handler: &self.handler,
            shutdown: &self.shutdown,
            release_timeout: self.policy.release_timeout(),
            reconciler: Reconciler::new(self.policy),
            started: Instant::now(),
            work: None,
            source_open: true,
            source_error: None,
            end_error: None,
        };
        run.until_exit().await
    }

    /// Cancelling it ends the run: `end` is run once if leading, the office is given up, and
    /// [`run`](Self::run) returns within the two timeouts [`Policy`] has for it. If `end` fails the
    /// office is *not* given up and `run` returns an error.
    pub fn shutdown_token(&self) -> CancellationToken {
        self.shutdown.clone()
    }
}

struct Run<'a, S, H> {
    source: &'a mut S,
    handler: &'a H,
    shutdown: &'a CancellationToken,
    release_timeout: Duration,
    reconciler: Reconciler,
    started: Instant,
    work: Option<(Hook, HandlerFuture<'a>)>,
    source_open: bool,
    source_error: Option<BoxError>,
    /// What `end` said if its last try failed.
    end_error: Option<BoxError>,
}

enum Event {
    Done(Hook, Result<(), BoxError>),
    Shutdown,
    Timer,
    Heard(Result<Option<State>, BoxError>),
}

impl<'a, S: Source, H: Handler> Run<'a, S, H> {
    async fn until_exit(mut self) -> Result<Outcome, ReconcileError> {
        let mut action = None;
        loop {
            let input = match action {
                None => self.wait().await,
                Some(Action::Run(hook)) => {
                    tracing::info!(?hook, "running a handler");
                    self.work = Some((hook, start(self.handler, hook)));
                    self.wait().await
                }
                Some(Action::Relinquish) => self.relinquish().await?,
                Some(Action::Resume) => {
                    tracing::info!("running for the office again");
                    self.source.resume();
                    self.wait().await
                }
                Some(Action::Exit(how)) => return self.conclude(how),
            };
            action = self.reconciler.step(self.now(), input);
        }
    }

    /// Waits for whatever comes first. The source is heard while a handler runs: who speaks must
    /// not be blocked by who works.
    async fn wait(&mut self) -> Input {
        // A source that always has something to say must not keep the thread from what the handler
        // waits for.
        tokio::task::coop::consume_budget().await;

        let now = self.now();
        let time_left = |at: u64| sleep(Duration::from_nanos(at.saturating_sub(now)));
        let mut timer = pin!(OptionFuture::from(self.reconciler.wake_at().map(time_left)));
        let heeds_shutdown = !self.reconciler.is_stopping();
        let mut shutdown = pin!(self.shutdown.cancelled());
        let mut next = self.source_open.then(|| self.source.next());
        let work = &mut self.work;

        // The source comes last: it can talk without end.
        let event = poll_fn(|cx| {
            if let Some((hook, future)) = work
                && let Poll::Ready(result) = future.as_mut().poll(cx)
            {
                return Poll::Ready(Event::Done(*hook, result));
            }
            if heeds_shutdown && shutdown.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Event::Shutdown);
            }
            if let Poll::Ready(Some(())) = timer.as_mut().poll(cx) {
                return Poll::Ready(Event::Timer);
            }
            match &mut next {
                Some(next) => next.as_mut().poll(cx).map(Event::Heard),
                None => Poll::Pending,
            }
        })
        .await;
        drop(next);
        self.take(event)
    }

    fn take(&mut self, event: Event) -> Input {
        match event {
            Event::Done(hook, result) => {
                self.work = None;
                let input = match &result {
                    Ok(()) => Input::Succeeded(hook),
                    Err(error) => {
                        tracing::error!(?hook, %error, "a handler failed");
                        Input::Failed(hook)
                    }
                };
                if hook == Hook::End {
                    self.end_error = result.err();
                }
                input
            }
            Event::Shutdown => Input::Shutdown,
            Event::Timer => Input::Wake,
            Event::Heard(Ok(Some(told))) => {
                tracing::debug!(?told, here = ?self.reconciler.state(), "the source said");
                Input::Told(told)
            }
            Event::Heard(Ok(None)) => {
                self.source_open = false;
                Input::SourceClosed
            }
            Event::Heard(Err(error)) => {
                tracing::error!(%error, "the source of the election failed");
                self.source_open = false;
                self.source_error = Some(error);
                Input::SourceClosed
            }
        }
    }

    /// Bounded here, so that nothing else has to be heard meanwhile.
    async fn relinquish(&mut self) -> Result<Input, ReconcileError> {
        self.work = None;
        tracing::info!("giving the office up");
        match timeout(self.release_timeout, self.source.relinquish()).await {
            Ok(Ok(())) => Ok(Input::Relinquished),
            Err(_) => {
                tracing::warn!("giving the office up took too long: it is left to run out");
                Ok(Input::ReleaseTimedOut)
            }
            // The leader's work has ended by now, so there is nothing left to run.
            Ok(Err(error)) => {
                tracing::error!(%error, "giving the office up failed");
                let error = self.source_error.take().unwrap_or(error);
                Err(ReconcileError::Source { error, failure: None })
            }
        }
    }

    fn conclude(self, how: Result<Outcome, Failure>) -> Result<Outcome, ReconcileError> {
        match (self.source_error, how) {
            (Some(error), how) => Err(ReconcileError::Source { error, failure: how.err() }),
            (None, Ok(outcome)) => Ok(outcome),
            (None, Err(failure)) => Err(ReconcileError::Failed { failure, error: self.end_error }),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A panic must not take the loop with it: the office would be renewed no more, and `end` never
/// run.
fn start<H: Handler>(handler: &H, hook: Hook) -> HandlerFuture<'_> {
    // Called inside, so that a panic before the future exists is caught as well.
    let call = async move {
        match hook {
            Hook::Begin => handler.begin().await,
            Hook::End => handler.end().await,
            Hook::Error => handler.error().await,
        }
    };
    let caught = AssertUnwindSafe(call).catch_unwind();
    Box::pin(caught.map(|result| result.unwrap_or_else(|panic| Err(panicked(panic.as_ref())))))
}

fn panicked(panic: &(dyn Any + Send)) -> BoxError {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the handler panicked: {}", said.unwrap_or("no message")).into()
}

#[cfg(test)]
mod tests;
