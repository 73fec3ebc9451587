//! One unbroken hold of an office.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio_util::sync::CancellationToken;

use crate::backend::TenureId;
use crate::campaign::unconfirmed;
use crate::driver::{Published, TenureState};
use crate::machine::{Input, State};
use crate::mutant::{Mutant, planted};
use crate::{Ending, Error, ErrorKind, Events, FencingToken, Moment};

/// A tenure that its owner was elected to; what one can do with it is on [`Leadership`].
///
/// Dropping it resigns in the background.
#[derive(Debug)]
pub struct Tenure {
    leadership: Leadership,
}

impl Tenure {
    pub(crate) fn new(published: Arc<Published>, state: Arc<TenureState>) -> Self {
        Tenure { leadership: Leadership::new(published, state) }
    }

    /// Gives the office up: guarded work stops, the office is given up, then this returns. The next candidate leads one commit and one push
    /// later.
    ///
    /// Leadership is over whatever the result: an error only says that the store did not confirm it, and that the office falls vacant
    /// when the lease expires.
    pub async fn resign(self) -> Result<(), Error> {
        let released = self.leadership.given_up(Input::Resign).await;
        // The campaign was for this tenure alone; once it is over its candidate can run again.
        self.leadership.published.until(|published| published.finish()).await;
        released
    }
}

impl Deref for Tenure {
    type Target = Leadership;

    fn deref(&self) -> &Leadership {
        &self.leadership
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        if self.leadership.state.ending().is_none() {
            self.leadership.published.tell(Input::Resign);
        }
    }
}

/// A handle on one tenure: its token, its deadline, and ways to stop work with it. Holding one keeps nothing alive.
#[derive(Clone)]
pub struct Leadership {
    published: Arc<Published>,
    state: Arc<TenureState>,
}

impl Leadership {
    pub(crate) fn new(published: Arc<Published>, state: Arc<TenureState>) -> Self {
        Leadership { published, state }
    }

    /// The fencing token of this tenure.
    ///
    /// `None` only on a backend without sound tokens; [`require`](crate::CandidateBuilder::require) [`Promise::Fenced`](crate::Promise::Fenced) to
    /// rule that out.
    pub fn token(&self) -> Option<FencingToken> {
        self.state.token
    }

    /// The id of this tenure.
    pub fn id(&self) -> TenureId {
        self.state.id
    }

    /// Whether this tenure holds at this instant.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.published.is_held(&self.state)
    }

    /// Until when it holds if no further renewal succeeds; `None` once it has ended.
    pub fn deadline(&self) -> Option<Moment> {
        self.published.term().map(|term| term.deadline).filter(|_| self.is_held())
    }

    /// By when guarded work has to have stopped if no further renewal succeeds; `None` once it has ended.
    pub fn expiry(&self) -> Option<Moment> {
        self.published.term().map(|term| term.expiry).filter(|_| self.is_held())
    }

    /// A token that is cancelled when this tenure ends: it plugs into any tokio program.
    ///
    /// Work that watches it has the grace to stop in after a loss. Hold a [`guard`](Leadership::guard) meanwhile, and the office is
    /// never handed on before the work has stopped.
    pub fn cancellation(&self) -> CancellationToken {
        self.state.cancellation().clone()
    }

    /// What happens from now on in the campaign that this tenure belongs to, current state first; every [`Event::Extended`](crate::Event::Extended)
    /// says until when it holds. Subscribe first and read [`deadline`](Leadership::deadline) then, and no extension is missed.
    pub fn events(&self) -> Events {
        Events::new(self.published.subscribe())
    }

    /// Waits for the end, and says why.
    pub async fn ended(&self) -> Ending {
        self.published.until(|_| self.state.ending()).await
    }

    /// Why it ended, if it has.
    pub fn ending(&self) -> Option<Ending> {
        self.state.ending()
    }

    /// Counts work in that must have stopped before the office is handed on: as long as the guard lives, a resignation waits. `None` when the
    /// tenure has ended: then the work must not begin.
    pub fn guard(&self) -> Option<WorkGuard> {
        self.published.enter(&self.state).then(|| WorkGuard { published: self.published.clone() })
    }

    /// Runs `work` while this tenure holds.
    ///
    /// Leadership is checked at every poll, so the work never takes a step after the deadline; once it is lost, the work is dropped at the
    /// await it stands at, and the office is handed on only then. An error says that leadership ended first.
    pub fn while_held<F: Future>(&self, work: F) -> WhileHeld<F> {
        WhileHeld {
            leadership: self.clone(),
            ended: Box::pin({
                let leadership = self.clone();
                async move { leadership.ended().await }
            }),
            guarded: self.guard().map(|guard| Guarded { work: Box::pin(work), _guard: guard }),
        }
    }

    /// Tells the campaign to end this tenure, and waits until the office is given up.
    pub(crate) async fn given_up(&self, how: Input) -> Result<(), Error> {
        self.published.tell(how);
        self.ended().await;
        let over = |published: &Published| {
            let next = published.leading().is_some_and(|tenure| tenure.id != self.state.id);
            (next || published.finish().is_some() || published.state() != State::SteppingDown).then_some(())
        };
        self.published.until(over).await;
        if self.published.release_unconfirmed() { Err(unconfirmed(&self.published)) } else { Ok(()) }
    }

    fn lost(&self) -> Error {
        let message = match self.state.ending() {
            Some(ending) => format!("leadership ended: {ending}"),
            None => "leadership ended: its deadline has passed".into(),
        };
        Error::new(ErrorKind::LeadershipLost, message).of_election(self.published.plan().seat())
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("election", self.published.plan().seat())
            .field("tenure", &self.state.id)
            .field("token", &self.state.token)
            .field("ending", &self.state.ending())
            .finish()
    }
}

/// Work that the office waits for; see [`Leadership::guard`].
#[derive(Debug)]
pub struct WorkGuard {
    published: Arc<Published>,
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.published.leave();
    }
}

/// The future of [`Leadership::while_held`].
pub struct WhileHeld<F: Future> {
    leadership: Leadership,
    ended: Pin<Box<dyn Future<Output = Ending> + Send>>,
    guarded: Option<Guarded<F>>,
}

/// Fields drop in order: the work first, then the word that it has stopped.
struct Guarded<F> {
    work: Pin<Box<F>>,
    _guard: WorkGuard,
}

impl<F: Future> Future for WhileHeld<F> {
    type Output = Result<F::Output, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let ended = this.ended.as_mut().poll(context).is_ready();
        let held = planted(Mutant::PolledWithoutClock) || this.leadership.is_held();
        let Some(guarded) = this.guarded.as_mut().filter(|_| held && !ended) else {
            this.guarded = None;
            return Poll::Ready(Err(this.leadership.lost()));
        };
        let output = std::task::ready!(guarded.work.as_mut().poll(context));
        this.guarded = None;
        Poll::Ready(Ok(output))
    }
}

impl<F: Future> fmt::Debug for WhileHeld<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WhileHeld").field("leadership", &self.leadership).finish_non_exhaustive()
    }
}
