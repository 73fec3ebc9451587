//! A candidacy that runs in the background.

use std::sync::Arc;

use crate::candidate::refusal;
use crate::driver::Published;
use crate::event::Events;
use crate::listener::Listener;
use crate::machine::{Input, State};
use crate::tenure::Leadership;
use crate::{Change, Error, ErrorKind, Incumbent};

/// A campaign in the background: it runs for the office, holds it, and runs again when it was lost, until it is stopped.
///
/// Dropping it stops it in the background.
#[derive(Debug)]
pub struct Campaign {
    published: Arc<Published>,
}

impl Campaign {
    pub(crate) fn new(published: Arc<Published>) -> Self {
        Campaign { published }
    }

    /// Whether this candidate leads at this instant: one load and one clock read, no lock, no allocation.
    ///
    /// The clock is compared with the deadline on every call, so a process that was stopped for long is not leader when it goes on, before
    /// anything else of it ran. Even so, what is done after the answer may be late: give the [token](Leadership::token) to the
    /// resource.
    #[inline]
    pub fn is_leader(&self) -> bool {
        self.published.is_leader()
    }

    /// Where the campaign stands.
    pub fn state(&self) -> State {
        self.published.state()
    }

    /// The present tenure, if this candidate leads.
    pub fn leadership(&self) -> Option<Leadership> {
        Some(Leadership::new(self.published.clone(), self.published.leading()?))
    }

    /// Returns at once when leading, on gain when not, and with an error when the campaign is over. What it returns holds at that instant.
    pub async fn wait_for_leadership(&self) -> Result<Leadership, Error> {
        let tenure = self.published.until(|published| match published.leading() {
            Some(tenure) => Some(Ok(tenure)),
            None => published.finish().map(|finish| Err(refusal(published, finish))),
        });
        Ok(Leadership::new(self.published.clone(), tenure.await?))
    }

    /// What happens in this campaign, current state first.
    pub fn events(&self) -> Events {
        Events::new(self.published.subscribe())
    }

    /// Calls back at every change of leadership, on a thread of its own; at once if leading now. It can be slow or panic: nothing waits for it.
    pub fn on_change(&self, listener: impl FnMut(Change) + Send + 'static) {
        self.published.listen(Listener::new(listener));
    }

    /// Who holds the office, as this candidate last saw it.
    pub fn incumbent(&self) -> Option<Incumbent> {
        self.published.incumbent()
    }

    /// What the store last answered that was an error.
    pub fn last_error(&self) -> Option<Error> {
        self.published.last_error()
    }

    /// Says whether this candidate is fit to lead, in this campaign only; [`Candidate::set_healthy`](crate::Candidate::set_healthy) holds for
    /// later ones too.
    pub fn set_healthy(&self, healthy: bool) {
        self.published.tell(Input::Health(healthy));
    }

    /// Gives up the office if held: work stops, the office is given up, then this returns. The campaign goes on; it sits out for one retry
    /// interval so that another can win. Does nothing when not leading.
    ///
    /// Work that no [guard](Leadership::guard) counts in is taken as stopped by whoever calls this: stop it first.
    pub async fn resign(&self) -> Result<(), Error> {
        match self.published.leading() {
            Some(tenure) => Leadership::new(self.published.clone(), tenure).given_up(Input::Resign).await,
            None => Ok(()),
        }
    }

    /// Ends the campaign: work stops, the office is given up, the listeners have heard of it, then this returns. A listener that takes longer than
    /// the grace is not waited for, and one may stop its own campaign. Stopping twice does nothing. Work that no
    /// [guard](Leadership::guard) counts in is taken as stopped by whoever calls this.
    ///
    /// An error says that the store did not confirm the release; the office then falls vacant when the lease expires.
    pub async fn stop(&self) -> Result<(), Error> {
        self.published.tell(Input::Stop);
        self.published.until(|published| published.finish()).await;
        self.published.told().await;
        if self.published.release_unconfirmed() {
            return Err(unconfirmed(&self.published));
        }
        Ok(())
    }
}

impl Drop for Campaign {
    fn drop(&mut self) {
        if self.published.finish().is_none() {
            self.published.tell(Input::Stop);
        }
    }
}

pub(crate) fn unconfirmed(published: &Published) -> Error {
    let message = "the store did not confirm that the office was given up; it falls vacant when the lease expires";
    let error = Error::new(ErrorKind::Unavailable, message).indeterminate().of_election(published.plan().seat());
    match published.last_error() {
        Some(cause) => error.because(cause.to_string()),
        None => error,
    }
}
