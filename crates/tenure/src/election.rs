//! A named office in a backend.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::backend::{Answer, Backend, Evicted, ForeignPeers, Promise, Traits};
use crate::candidate::CandidateBuilder;
use crate::clock::AnyClock;
use crate::driver::Driver;
use crate::observation::Observation;
use crate::{Error, ErrorKind, Incumbent, Seat, Timing};

/// An office for which candidates run: a name in a backend.
///
/// Cheap to clone. Values of one backend value share its connections; clone the election, not the backend, for more candidates of one
/// process on a store without sessions.
#[derive(Clone, Debug)]
pub struct Election {
    backend: Arc<dyn Backend>,
    seat: Seat,
    foreign: Option<ForeignPeers>,
    token_base: u64,
}

impl Election {
    /// The election with this name on this backend.
    pub fn new<N>(backend: impl Backend, name: N) -> Result<Self, Error>
    where
        N: TryInto<Seat, Error: Into<Error>>,
    {
        Election::over(Arc::new(backend), name)
    }

    /// The same, on a backend that is shared already.
    pub fn over<N>(backend: Arc<dyn Backend>, name: N) -> Result<Self, Error>
    where
        N: TryInto<Seat, Error: Into<Error>>,
    {
        Ok(Election { backend, seat: name.try_into().map_err(Into::into)?, foreign: None, token_base: 0 })
    }

    /// Declares that programs other than tenure contend for this office on the same record. They show no token, so the election promises no
    /// more than [`Promise::LeaseOnly`] (SAFETY 20). Many backends can be told the same of all their elections.
    #[must_use]
    pub fn shared_with(mut self, peers: ForeignPeers) -> Self {
        self.foreign = Some(peers);
        self
    }

    /// Sets what is added to the store's numbers to make fencing tokens (SAFETY 18). An operator raises it, wherever this election is used, when a
    /// store was lost or restored; at most `i64::MAX`.
    #[must_use]
    pub fn with_token_base(mut self, base: u64) -> Self {
        self.token_base = base;
        self
    }

    /// Its name.
    pub fn name(&self) -> &Seat {
        &self.seat
    }

    /// Where it is held, in a form that may be shown: without secrets.
    pub fn place(&self) -> String {
        self.backend.place()
    }

    /// What it can be relied on for.
    pub fn promise(&self) -> Promise {
        self.traits().promise
    }

    /// A candidate for it, under a name that is stable and unique to this instance. Nothing happens before
    /// [`build`](CandidateBuilder::build).
    pub fn candidate(&self, name: &str) -> CandidateBuilder {
        CandidateBuilder::new(self.clone(), name)
    }

    /// Who holds it now; asks the store once.
    pub async fn incumbent(&self) -> Result<Option<Incumbent>, Error> {
        let seat = self.seat.clone();
        let sight = self.ask(move |backend| Box::pin(async move { backend.inspect(&seat).await })).await?;
        Ok(sight.held().map(|held| Incumbent::seen(held, self.token_base)))
    }

    /// Who holds it, from now on: the present holder first, then every change.
    pub fn observe(&self) -> Result<Observation, Error> {
        self.observe_every(Timing::default().retry_interval())
    }

    /// The same, asking a store that pushes nothing at this interval.
    pub fn observe_every(&self, interval: Duration) -> Result<Observation, Error> {
        Observation::begin(self.clone(), interval, AnyClock::Boot)
    }

    /// Asks the holder to resign; it does so at its next renewal, after its work has stopped. `false` when nobody holds the office.
    pub async fn ask_to_resign(&self) -> Result<bool, Error> {
        let seat = self.seat.clone();
        self.ask(move |backend| {
            Box::pin(async move { backend.administer().ok_or_else(unsupported)?.ask_to_resign(&seat).await })
        })
        .await
    }

    /// Takes the office from its holder and bars it for the rest of the holder's lease, so that never two lead.
    pub async fn evict(&self) -> Result<Evicted, Error> {
        let seat = self.seat.clone();
        self.ask(move |backend| {
            Box::pin(async move { backend.administer().ok_or_else(unsupported)?.evict(&seat).await })
        })
        .await
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    pub(crate) fn token_base(&self) -> u64 {
        self.token_base
    }

    pub(crate) fn traits(&self) -> Traits {
        self.backend.traits().shared_with(self.foreign)
    }

    /// Makes one call where backends live: in the driver's runtime.
    async fn ask<T: Send + 'static>(
        &self,
        call: impl FnOnce(Arc<dyn Backend>) -> Answer<'static, T> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, receiver) = oneshot::channel();
        let backend = self.backend.clone();
        Driver::of(&AnyClock::Boot)?.run(async move {
            let _ = sender.send(call(backend).await);
        });
        match receiver.await {
            Ok(answer) => answer.map_err(|error| error.of_election(&self.seat)),
            Err(_) => {
                Err(Error::new(ErrorKind::Internal, "the backend panicked, or the driver did").of_election(&self.seat))
            }
        }
    }
}

fn unsupported() -> Error {
    Error::new(ErrorKind::Unsupported, "this backend cannot do that from outside; stop the holder itself")
}
