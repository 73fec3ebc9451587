//! The same for programs without a runtime: every call blocks its thread.
//!
//! Nothing here starts a runtime of its own: renewals run on tenure's thread whatever the calling one does.
//! ```
//! use tenure::{Election, backend::memory::MemoryBackend, blocking};
//! let election = Election::new(MemoryBackend::new(), "nightly-report")?;
//! let me = blocking::Candidate::new(election.candidate("host-1").build()?);
//! let tenure = me.campaign()?;
//! println!("leading with token {:?}", tenure.token());
//! tenure.resign()?;
//! # Ok::<(), tenure::Error>(())
//! ```

use std::future::Future;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::{Change, Ending, Error, Event, Leadership};

/// A candidate whose calls block; see [`crate::Candidate`].
#[derive(Clone, Debug)]
pub struct Candidate(crate::Candidate);

impl Candidate {
    /// The blocking face of a candidate.
    pub fn new(candidate: crate::Candidate) -> Self {
        Candidate(candidate)
    }

    /// Blocks until elected.
    pub fn campaign(&self) -> Result<Tenure, Error> {
        block_on(self.0.campaign()).map(Tenure)
    }

    /// Blocks until elected, for at most `patience`.
    pub fn campaign_within(&self, patience: Duration) -> Result<Tenure, Error> {
        block_on(self.0.campaign_within(patience)).map(Tenure)
    }

    /// Stands once; `None` when another holds the office.
    pub fn try_campaign(&self) -> Result<Option<Tenure>, Error> {
        Ok(block_on(self.0.try_campaign())?.map(Tenure))
    }

    /// Campaigns in the background.
    pub fn start(&self) -> Result<Campaign, Error> {
        self.0.start().map(Campaign)
    }
}

/// A tenure whose calls block; see [`crate::Tenure`].
#[derive(Debug)]
pub struct Tenure(crate::Tenure);

impl Tenure {
    /// Blocks until this tenure ends, and says why.
    pub fn ended(&self) -> Ending {
        block_on(self.0.ended())
    }

    /// Gives the office up; returns when that is done.
    pub fn resign(self) -> Result<(), Error> {
        block_on(self.0.resign())
    }
}

impl Deref for Tenure {
    type Target = Leadership;

    fn deref(&self) -> &Leadership {
        &self.0
    }
}

/// A campaign whose calls block; see [`crate::Campaign`].
#[derive(Debug)]
pub struct Campaign(crate::Campaign);

impl Campaign {
    /// Whether this candidate leads at this instant.
    pub fn is_leader(&self) -> bool {
        self.0.is_leader()
    }

    /// Blocks until leading.
    pub fn wait_for_leadership(&self) -> Result<Leadership, Error> {
        block_on(self.0.wait_for_leadership())
    }

    /// What happens, one after another, current state first.
    pub fn events(&self) -> impl Iterator<Item = Event> + use<> {
        let mut events = self.0.events();
        std::iter::from_fn(move || block_on(events.next()))
    }

    /// Calls back at every change of leadership.
    pub fn on_change(&self, listener: impl FnMut(Change) + Send + 'static) {
        self.0.on_change(listener);
    }

    /// Gives the office up if held.
    pub fn resign(&self) -> Result<(), Error> {
        block_on(self.0.resign())
    }

    /// Ends the campaign.
    pub fn stop(&self) -> Result<(), Error> {
        block_on(self.0.stop())
    }
}

/// Runs one future on this thread; no runtime is needed, because everything of tenure runs on its driver.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
