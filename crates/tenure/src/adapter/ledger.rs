//! What an adapter remembers of the tenures it wrote for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::backend::TenureId;

/// One page a tenure. A page that was not touched for two leases is about a record that has expired, and is dropped some time later, so that
/// withdrawals that never succeed do not add up.
#[derive(Debug)]
pub(super) struct Ledger<T> {
    pages: Mutex<Pages<T>>,
}

#[derive(Debug)]
struct Pages<T> {
    by_tenure: HashMap<TenureId, Page<T>>,
    /// With so many pages it is time to look for old ones: twice what was left the last time, so that the work is spread evenly.
    sweep_at: usize,
}

#[derive(Debug)]
struct Page<T> {
    content: T,
    until: Instant,
}

impl<T: Default> Ledger<T> {
    const FEW: usize = 64;

    pub(super) fn new() -> Self {
        Ledger { pages: Mutex::new(Pages { by_tenure: HashMap::new(), sweep_at: Self::FEW }) }
    }

    /// Writes on the page of a tenure, a new one if need be; it is kept for two leases at least.
    pub(super) fn write<R>(&self, tenure: TenureId, lease: Duration, change: impl FnOnce(&mut T) -> R) -> R {
        // This clock may stand still in suspend: then a page is kept longer, which harms nobody.
        let now = Instant::now();
        let mut pages = self.pages();
        if pages.by_tenure.len() >= pages.sweep_at && !pages.by_tenure.contains_key(&tenure) {
            pages.by_tenure.retain(|_, page| now < page.until);
            pages.sweep_at = Self::FEW.max(2 * pages.by_tenure.len());
        }
        let page = pages.by_tenure.entry(tenure).or_insert_with(|| Page { content: T::default(), until: now });
        page.until = now + lease * 2;
        change(&mut page.content)
    }

    /// Reads the page of a tenure.
    pub(super) fn read<R>(&self, tenure: TenureId, look: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        self.pages().by_tenure.get(&tenure).and_then(|page| look(&page.content))
    }

    /// Tears the page out.
    pub(super) fn forget(&self, tenure: TenureId) {
        self.pages().by_tenure.remove(&tenure);
    }

    fn pages(&self) -> MutexGuard<'_, Pages<T>> {
        self.pages.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.pages().by_tenure.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_expired_records_are_dropped_and_those_of_live_ones_stay() {
        let ledger = Ledger::<u64>::new();
        let live = (0..100).map(|count| TenureId::new(1, count));
        for tenure in live.clone() {
            ledger.write(tenure, Duration::from_secs(3600), |number| *number = 7);
        }
        for count in 0..10_000 {
            ledger.write(TenureId::new(2, count), Duration::ZERO, |_| ());
            assert!(ledger.len() <= 2 * 100 + Ledger::<u64>::FEW, "the ledger grew to {} pages", ledger.len());
        }
        for tenure in live {
            assert_eq!(ledger.read(tenure, |number| Some(*number)), Some(7));
        }
    }

    #[test]
    fn a_forgotten_page_is_gone() {
        let ledger = Ledger::<u64>::new();
        let tenure = TenureId::new(1, 1);
        ledger.write(tenure, Duration::from_secs(1), |number| *number = 7);
        ledger.forget(tenure);
        assert_eq!(ledger.read(tenure, |number| Some(*number)), None);
    }
}
