//! Leadership of keys in a TTL store: acquire, release, close.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use crate::adapter::{Claim, Claimant, TtlBackend, TtlStore};
use crate::backend::{Incarnation, Traits, Vacancies};
use crate::candidate::CandidateBuilder;
use crate::mutant::{Mutant, planted};
use crate::{Election, Error, ErrorKind, Leadership, Seat, Tenure};

/// Elections over any [`TtlStore`], generic over key and value: the smallest way to lead.
///
/// [`acquire`](Elections::acquire) answers at once, never waits for a holder, and renews in the background; what it returns is live until leadership
/// is lost or [released](Elections::release). [`close`](Elections::close) ends everything and forbids more. The store keeps the user's value inside
/// a [`Claim`], so that two processes that store equal values are still told apart.
/// ```
/// use std::time::Duration;
/// use tenure::{Elections, adapter::MemoryTtl};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tenure::Error> {
/// let elections = Elections::new(MemoryTtl::new());
/// if let Some(leadership) = elections.acquire("my-key", "my-value", Duration::from_secs(5)).await? {
///     assert!(leadership.is_held());
///     elections.release(&"my-key").await?;
/// }
/// elections.close().await?;
/// # Ok(())
/// # }
/// ```
pub struct Elections<K, V, S> {
    store: Arc<S>,
    configure: Box<dyn Fn(CandidateBuilder) -> CandidateBuilder + Send + Sync>,
    state: Mutex<State<K>>,
    value: std::marker::PhantomData<fn(V)>,
}

#[derive(Debug)]
struct State<K> {
    closed: bool,
    keys: HashMap<K, Slot>,
}

#[derive(Debug)]
enum Slot {
    /// An acquire of this process is under way.
    Acquiring,
    Held(Tenure),
}

impl<K, V, S> Elections<K, V, S>
where
    K: Clone + Eq + Hash + Debug + Send + Sync + 'static,
    V: Clone + Eq + Debug + Send + Sync + 'static,
    S: TtlStore<K, Claim<V>>,
{
    /// Elections in this store, with the default timing for every TTL.
    pub fn new(store: S) -> Self {
        Elections::configured(store, |candidate| candidate)
    }

    /// Elections in this store; `configure` sets whatever a candidate has to set but its lease, such as the renew interval or the clock.
    pub fn configured(
        store: S,
        configure: impl Fn(CandidateBuilder) -> CandidateBuilder + Send + Sync + 'static,
    ) -> Self {
        Elections {
            store: Arc::new(store),
            configure: Box::new(configure),
            state: Mutex::new(State { closed: false, keys: HashMap::new() }),
            value: std::marker::PhantomData,
        }
    }

    /// Tries to lead `key`, storing `value` for `ttl` and renewing it. `None` when somebody holds it, this process included. A store that fails is an
    /// error, never "held"; after [`close`](Elections::close) it is [`ErrorKind::Closed`].
    pub async fn acquire(&self, key: K, value: V, ttl: Duration) -> Result<Option<Leadership>, Error> {
        let backend = TtlBackend::new(OneKey { store: self.store.clone(), key: key.clone(), value });
        let election = Election::new(backend, SEAT)?;
        let candidate = (self.configure)(election.candidate("elections").lease(ttl)).build()?;
        if !self.reserve(&key)? {
            return Ok(None);
        }
        let reserved = Reserved { state: &self.state, key: Some(key) };
        let Some(tenure) = candidate.try_campaign().await? else { return Ok(None) };
        let leadership = Leadership::clone(&tenure);
        match reserved.fill(tenure) {
            Ok(()) => Ok(Some(leadership)),
            // It was closed meanwhile: nothing live is left behind.
            Err(tenure) => {
                let _ = tenure.resign().await;
                Err(closed())
            }
        }
    }

    /// Gives `key` up: loss is signalled, guarded work stops, the key is deleted, then this returns. A key that is not held is left alone.
    pub async fn release(&self, key: &K) -> Result<(), Error> {
        let held = {
            let mut state = self.state();
            match state.keys.get(key) {
                Some(Slot::Held(_)) => state.keys.remove(key),
                _ => None,
            }
        };
        match held {
            Some(Slot::Held(tenure)) => tenure.resign().await,
            _ => Ok(()),
        }
    }

    /// Gives every key up and forbids further acquires. It waits for guarded work and for the store, no longer than each takes to be given up;
    /// the first failure is reported, after all were tried.
    pub async fn close(&self) -> Result<(), Error> {
        let held: Vec<_> = {
            let mut state = self.state();
            state.closed = true;
            state.keys.drain().map(|(_, slot)| slot).collect()
        };
        let all = held.into_iter().filter_map(|slot| match slot {
            Slot::Held(tenure) => Some(tenure.resign()),
            // Its acquire finds the store closed, and gives up what it wins.
            Slot::Acquiring => None,
        });
        join_all(all).await.into_iter().collect()
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    fn reserve(&self, key: &K) -> Result<bool, Error> {
        let mut state = self.state();
        if state.closed {
            return Err(closed());
        }
        match state.keys.entry(key.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(Slot::Acquiring);
                Ok(true)
            }
            Entry::Occupied(mut entry) => match entry.get() {
                // Lost without a release: the key is free for another try.
                Slot::Held(tenure) if tenure.ending().is_some() => {
                    entry.insert(Slot::Acquiring);
                    Ok(true)
                }
                _ => Ok(false),
            },
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Debug, V, S: Debug> Debug for Elections<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elections").field("store", &self.store).field("state", &self.state).finish_non_exhaustive()
    }
}

/// A key that an acquire has reserved; it is free again when that goes away without a win.
struct Reserved<'a, K: Eq + Hash> {
    state: &'a Mutex<State<K>>,
    key: Option<K>,
}

impl<K: Eq + Hash> Reserved<'_, K> {
    /// Keeps the tenure under its key, unless everything was closed meanwhile.
    fn fill(mut self, tenure: Tenure) -> Result<(), Tenure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed && !planted(Mutant::CloseRacesAcquire) {
            return Err(tenure);
        }
        if let Some(key) = self.key.take() {
            state.keys.insert(key, Slot::Held(tenure));
        }
        Ok(())
    }
}

impl<K: Eq + Hash> Drop for Reserved<'_, K> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Slot::Acquiring) = state.keys.get(&key) {
            state.keys.remove(&key);
        }
    }
}

/// The office that one key is; which key and value stand behind it only [`OneKey`] knows.
const SEAT: &str = "key";

/// One key of the user's store with one value, as a store for one office. It is blind: the user's value says nothing of candidates.
#[derive(Debug)]
struct OneKey<K, V, S> {
    store: Arc<S>,
    key: K,
    value: V,
}

impl<K, V: Clone, S> OneKey<K, V, S> {
    fn claim(&self, claim: &Claim<Claimant>) -> Claim<V> {
        Claim::new(self.value.clone(), claim.tenure(), claim.write())
    }
}

impl<K, V, S> TtlStore<Seat, Claim<Claimant>> for OneKey<K, V, S>
where
    K: Debug + Send + Sync + 'static,
    V: Clone + Debug + Send + Sync + 'static,
    S: TtlStore<K, Claim<V>>,
{
    async fn insert_if_absent(&self, _: &Seat, value: &Claim<Claimant>, ttl: Duration) -> Result<bool, Error> {
        self.store.insert_if_absent(&self.key, &self.claim(value), ttl).await
    }

    async fn compare_and_swap(
        &self,
        _: &Seat,
        old: &Claim<Claimant>,
        new: &Claim<Claimant>,
        ttl: Duration,
    ) -> Result<bool, Error> {
        self.store.compare_and_swap(&self.key, &self.claim(old), &self.claim(new), ttl).await
    }

    async fn compare_and_delete(&self, _: &Seat, value: &Claim<Claimant>) -> Result<bool, Error> {
        self.store.compare_and_delete(&self.key, &self.claim(value)).await
    }

    async fn next_token(&self, _: &Seat) -> Result<u64, Error> {
        self.store.next_token(&self.key).await
    }

    fn traits(&self) -> Traits {
        // Acquiring never waits, so nothing is watched.
        Traits { vacancies: Vacancies::Polled, ..self.store.traits() }
    }

    fn incarnation(&self) -> Option<Incarnation> {
        self.store.incarnation()
    }

    fn place(&self) -> String {
        self.store.place()
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "these elections were closed; nothing more can be acquired")
}
