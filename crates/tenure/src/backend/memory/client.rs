//! One client of a memory store: a connection of its own, with faults of its own.

use std::sync::Arc;

use super::by_hand::ByHand;
use super::faults::{Calls, Cut, Faults, Operation};
use super::scope::{Course, Scope};
use super::store::{ClientId, Store, Table};
use super::subscription::Subscription;
use super::watchers::{Interest, Watchers};
use crate::backend::{Administer, Answer, Bid, Evicted, Sight, Watch};
use crate::clock::AnyClock;
use crate::{Error, Moment, Seat};

/// A client, for either form of the store.
#[derive(Debug)]
pub(super) struct Client<T> {
    id: ClientId,
    scope: Arc<Scope>,
    store: Arc<Store<T>>,
}

impl<T: Table> Client<T> {
    pub(super) fn of_new_store(table: T, clock: AnyClock) -> Self {
        Client::of(Arc::new(Store::new(table, clock)))
    }

    pub(super) fn another(&self) -> Self {
        Client::of(self.store.clone())
    }

    fn of(store: Arc<Store<T>>) -> Self {
        Client { id: store.admit_client(), scope: Arc::default(), store }
    }

    pub(super) fn id(&self) -> ClientId {
        self.id
    }

    pub(super) fn place(&self) -> String {
        format!("memory:{:016x}", self.store.id())
    }

    pub(super) fn store(&self) -> &Store<T> {
        &self.store
    }

    pub(super) fn faults(&self) -> Faults {
        Faults::new(self.scope.clone(), Arc::new(Watches { store: self.store.clone(), of: Some(self.id) }))
    }

    pub(super) fn faults_for_all(&self) -> Faults {
        Faults::new(self.store.scope().clone(), Arc::new(Watches { store: self.store.clone(), of: None }))
    }

    pub(super) fn calls(&self) -> Calls {
        self.scope.calls()
    }

    pub(super) fn calls_of_all(&self) -> Calls {
        self.store.scope().calls()
    }

    pub(super) fn by_hand(&self) -> ByHand<'_> {
        ByHand::new(&*self.store)
    }

    pub(super) fn is_disturbed(&self) -> bool {
        self.scope.is_disturbed() || self.store.scope().is_disturbed()
    }

    pub(super) fn count(&self, operation: Operation, times: u64) {
        self.scope.count(operation, times);
        self.store.scope().count(operation, times);
    }

    pub(super) fn count_batch(&self) {
        self.scope.count_batch();
        self.store.scope().count_batch();
    }

    /// One call: what is set for it happens to it on its way, and the store's time is that at which it is applied.
    pub(super) async fn call<R>(
        &self,
        operation: Operation,
        seat: Option<&Seat>,
        work: impl FnOnce(&mut T, &mut Watchers, Moment) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.count(operation, 1);
        let answer =
            if self.is_disturbed() { self.disturbed_call(operation, work).await } else { self.store.apply(work) };
        answer.map_err(|error| {
            let error = error.during(operation.name());
            match seat {
                Some(seat) => error.of_election(seat),
                None => error,
            }
        })
    }

    pub(super) async fn withdraw(&self, bid: &Bid) -> Result<(), Error> {
        self.call(Operation::Withdraw, Some(bid.seat()), |table, watchers, now| {
            table.withdraw(bid, now, watchers);
            Ok(())
        })
        .await
    }

    pub(super) async fn inspect(&self, seat: &Seat) -> Result<Sight, Error> {
        self.call(Operation::Inspect, Some(seat), |table, _, now| Ok(table.inspect(seat, now))).await
    }

    pub(super) async fn watch(&self, seat: &Seat, bid: Option<&Bid>) -> Result<Watch, Error> {
        let interest = bid.map_or(Interest::Observer, |bid| Interest::Candidate(bid.tenure()));
        // The subscription exists from the first, so that one whose answer gets lost ends by being dropped.
        let subscribed = self.call(Operation::Watch, Some(seat), |table, watchers, _| {
            let id = watchers.subscribe(self.id, seat, interest);
            table.watched(seat, watchers);
            Ok(Subscription::new(self.store.clone(), id))
        });
        let subscription = subscribed.await?;
        if self.is_severed() {
            self.store.apply(|_, watchers, _| watchers.cut(Some(self.id)));
        }
        Ok(Box::pin(subscription))
    }

    async fn disturbed_call<R>(
        &self,
        operation: Operation,
        work: impl FnOnce(&mut T, &mut Watchers, Moment) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if self.is_severed() {
            return Err(Error::unavailable("the client is cut off from the store (a fault that was set)"));
        }
        let mut course = Course::default();
        self.scope.disturb(operation, &mut course);
        self.store.scope().disturb(operation, &mut course);
        course.arrive(self.store.clock(), || self.is_severed()).await?;
        let answer = self.store.apply(work);
        course.come_back(self.store.clock(), || self.is_severed()).await?;
        answer
    }

    fn is_severed(&self) -> bool {
        self.scope.is_severed() || self.store.scope().is_severed()
    }
}

impl<T> Clone for Client<T> {
    fn clone(&self) -> Self {
        Client { id: self.id, scope: self.scope.clone(), store: self.store.clone() }
    }
}

impl<T: Table> Administer for Client<T> {
    fn list<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<(Seat, Sight)>> {
        Box::pin(async move {
            let mut all = self.call(Operation::Administer, None, |table, _, now| Ok(table.all(now))).await?;
            all.retain(|(seat, _)| seat.as_str().starts_with(prefix));
            all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            Ok(all)
        })
    }

    fn ask_to_resign<'a>(&'a self, seat: &'a Seat) -> Answer<'a, bool> {
        Box::pin(self.call(Operation::Administer, Some(seat), |table, watchers, now| {
            Ok(table.ask_to_resign(seat, now, watchers))
        }))
    }

    fn evict<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Evicted> {
        Box::pin(
            self.call(Operation::Administer, Some(seat), |table, watchers, now| Ok(table.evict(seat, now, watchers))),
        )
    }
}

/// The watches of one client, or of all.
struct Watches<T> {
    store: Arc<Store<T>>,
    of: Option<ClientId>,
}

impl<T: Table> Cut for Watches<T> {
    fn cut(&self) {
        self.store.apply(|_, watchers, _| watchers.cut(self.of));
    }
}
