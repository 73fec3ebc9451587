//! A TTL store in this process.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::ttl_store::{Look, TtlStore, ttl_in_millis};
use crate::backend::{Promise, Traits};
use crate::mutant::{Mutant, planted};
use crate::{BootClock, Clock, Error, Moment};

/// A [`TtlStore`] in this process: for tests of programs that bring their own keys and values, and as the model of what a store does.
///
/// Clones share one store. It keeps a counter for every key it ever saw, so it has fencing tokens.
/// ```
/// # use std::time::Duration;
/// use tenure::ManualClock;
/// use tenure::adapter::{MemoryTtl, TtlStore};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tenure::Error> {
/// let clock = ManualClock::new();
/// let store = MemoryTtl::with_clock(clock.clone());
/// assert!(store.insert_if_absent(&"key", &"value", Duration::from_millis(1500)).await?);
/// clock.advance(Duration::from_millis(1499));
/// assert!(!store.insert_if_absent(&"key", &"other", Duration::from_secs(1)).await?);
/// clock.advance(Duration::from_millis(1));
/// assert!(store.insert_if_absent(&"key", &"other", Duration::from_secs(1)).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MemoryTtl<K, V> {
    clock: Arc<dyn Clock>,
    shelf: Arc<Mutex<Shelf<K, V>>>,
}

#[derive(Debug)]
struct Shelf<K, V> {
    entries: HashMap<K, Entry<V>>,
    counters: HashMap<K, u64>,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    expiry: Moment,
}

impl<K, V> MemoryTtl<K, V> {
    /// An empty store by the machine's own clock.
    pub fn new() -> Self {
        Self::with_clock(BootClock)
    }

    /// An empty store by this clock.
    pub fn with_clock(clock: impl Clock) -> Self {
        let shelf = Shelf { entries: HashMap::new(), counters: HashMap::new() };
        MemoryTtl { clock: Arc::new(clock), shelf: Arc::new(Mutex::new(shelf)) }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf<K, V>> {
        self.shelf.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<K: Eq + Hash + Clone, V: Clone> MemoryTtl<K, V> {
    /// Removes a key, whatever its value, as an operator might: behind the back of whoever holds it.
    pub fn remove(&self, key: &K) {
        self.shelf().entries.remove(key);
    }

    /// The unexpired value of a key.
    pub fn value(&self, key: &K) -> Option<V> {
        let now = self.clock.now();
        self.shelf().live(key, now).map(|entry| entry.value.clone())
    }
}

impl<K: Eq + Hash, V> Shelf<K, V> {
    fn live(&self, key: &K, now: Moment) -> Option<&Entry<V>> {
        // SEEDS 5: expired at exactly now = expiry.
        self.entries
            .get(key)
            .filter(|entry| now < entry.expiry || (planted(Mutant::TtlLateExpiry) && now == entry.expiry))
    }
}

impl<K, V> Default for MemoryTtl<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Clone for MemoryTtl<K, V> {
    fn clone(&self) -> Self {
        MemoryTtl { clock: self.clock.clone(), shelf: self.shelf.clone() }
    }
}

impl<K, V> TtlStore<K, V> for MemoryTtl<K, V>
where
    K: Clone + Eq + Hash + Debug + Send + Sync + 'static,
    V: Clone + Eq + Debug + Send + Sync + 'static,
{
    async fn insert_if_absent(&self, key: &K, value: &V, ttl: Duration) -> Result<bool, Error> {
        ttl_in_millis(ttl)?;
        let mut shelf = self.shelf();
        let now = self.clock.now();
        if shelf.live(key, now).is_some() {
            return Ok(false);
        }
        shelf.entries.insert(key.clone(), Entry { value: value.clone(), expiry: now.after(ttl) });
        Ok(true)
    }

    async fn compare_and_swap(&self, key: &K, old: &V, new: &V, ttl: Duration) -> Result<bool, Error> {
        ttl_in_millis(ttl)?;
        let mut shelf = self.shelf();
        let now = self.clock.now();
        let Some(entry) = shelf.live(key, now).filter(|entry| entry.value == *old) else {
            return Ok(false);
        };
        let expiry = if planted(Mutant::TtlSwapKeepsExpiry) { entry.expiry } else { now.after(ttl) };
        shelf.entries.insert(key.clone(), Entry { value: new.clone(), expiry });
        Ok(true)
    }

    async fn compare_and_delete(&self, key: &K, value: &V) -> Result<bool, Error> {
        let mut shelf = self.shelf();
        let now = self.clock.now();
        let matches = shelf.live(key, now).is_some_and(|entry| entry.value == *value);
        if matches {
            shelf.entries.remove(key);
        }
        Ok(matches)
    }

    async fn look(&self, key: &K) -> Result<Look<V>, Error> {
        let shelf = self.shelf();
        let now = self.clock.now();
        Ok(shelf.live(key, now).map_or(Look::Absent, |entry| Look::Present {
            value: entry.value.clone(),
            remaining: Some(entry.expiry.until_from(now)),
        }))
    }

    async fn next_token(&self, key: &K) -> Result<u64, Error> {
        let mut shelf = self.shelf();
        let counter = shelf.counters.entry(key.clone()).or_default();
        *counter += 1;
        Ok(*counter)
    }

    fn traits(&self) -> Traits {
        Traits::new(Promise::Fenced)
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, ManualClock};

    const TTL: Duration = Duration::from_millis(1500);

    fn store() -> (ManualClock, MemoryTtl<&'static str, u32>) {
        let clock = ManualClock::new();
        (clock.clone(), MemoryTtl::with_clock(clock))
    }

    #[tokio::test]
    async fn a_value_is_expired_at_exactly_its_expiry() {
        // SEEDS 5, 6: 1500 ms are neither more nor less.
        let (clock, store) = store();
        assert!(store.insert_if_absent(&"key", &1, TTL).await.unwrap());
        clock.advance(TTL - Duration::from_nanos(1));
        assert_eq!(store.value(&"key"), Some(1));
        let left = Look::Present { value: 1, remaining: Some(Duration::from_nanos(1)) };
        assert_eq!(store.look(&"key").await.unwrap(), left);
        clock.advance(Duration::from_nanos(1));
        assert_eq!(store.look(&"key").await.unwrap(), Look::Absent);
        assert!(!store.compare_and_swap(&"key", &1, &2, TTL).await.unwrap());
        assert!(!store.compare_and_delete(&"key", &1).await.unwrap());
        assert!(store.insert_if_absent(&"key", &3, TTL).await.unwrap());
    }

    #[tokio::test]
    async fn a_swap_needs_a_match_and_sets_the_ttl_anew() {
        // SEEDS 2
        let (clock, store) = store();
        assert!(!store.compare_and_swap(&"key", &1, &2, TTL).await.unwrap());
        assert_eq!(store.value(&"key"), None, "a swap creates nothing");
        assert!(store.insert_if_absent(&"key", &1, TTL).await.unwrap());
        clock.advance(TTL / 2);
        assert!(!store.compare_and_swap(&"key", &9, &2, TTL).await.unwrap());
        assert_eq!(store.value(&"key"), Some(1), "a swap that found another value wrote nothing");
        assert!(store.compare_and_swap(&"key", &1, &2, TTL).await.unwrap());
        clock.advance(TTL - Duration::from_nanos(1));
        assert_eq!(store.value(&"key"), Some(2));
    }

    #[tokio::test]
    async fn a_delete_removes_only_a_match() {
        // SEEDS 3
        let (_, store) = store();
        assert!(!store.compare_and_delete(&"key", &1).await.unwrap());
        assert!(store.insert_if_absent(&"key", &1, TTL).await.unwrap());
        assert!(!store.compare_and_delete(&"key", &2).await.unwrap());
        assert_eq!(store.value(&"key"), Some(1));
        assert!(store.compare_and_delete(&"key", &1).await.unwrap());
        assert_eq!(store.value(&"key"), None);
    }

    #[tokio::test]
    async fn a_ttl_of_zero_is_refused_by_insert_and_swap() {
        // SEEDS 6
        let (_, store) = store();
        assert_eq!(
            store.insert_if_absent(&"key", &1, Duration::ZERO).await.unwrap_err().kind(),
            ErrorKind::InvalidConfig
        );
        assert!(store.insert_if_absent(&"key", &1, TTL).await.unwrap());
        assert_eq!(
            store.compare_and_swap(&"key", &1, &2, Duration::ZERO).await.unwrap_err().kind(),
            ErrorKind::InvalidConfig
        );
        assert_eq!(store.value(&"key"), Some(1));
    }

    #[tokio::test]
    async fn the_counter_of_a_key_outlives_its_value() {
        let (_, store) = store();
        assert_eq!(store.next_token(&"key").await.unwrap(), 1);
        store.insert_if_absent(&"key", &1, TTL).await.unwrap();
        store.remove(&"key");
        assert_eq!(store.next_token(&"key").await.unwrap(), 2);
        assert_eq!(store.next_token(&"other").await.unwrap(), 1);
    }
}
