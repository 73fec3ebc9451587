//! One heap of timers for everything that waits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::Moment;

/// Wake-up calls, earliest first. A call is never taken back: whoever is woken knows by itself whether it still cares, and one that was
/// asked for and is no longer wanted is dropped when it comes up.
#[derive(Debug)]
pub(super) struct Timers<T> {
    heap: BinaryHeap<Reverse<(Moment, T)>>,
}

impl<T: Ord + Copy> Timers<T> {
    /// The most that a wake-up may come early, so that what is due nearly together is done together.
    pub(super) const LONGEST_SLACK: Duration = Duration::from_millis(50);

    pub(super) fn new() -> Self {
        Timers { heap: BinaryHeap::new() }
    }

    pub(super) fn set(&mut self, at: Moment, who: T) {
        self.heap.push(Reverse((at, who)));
    }

    /// When the earliest falls due.
    pub(super) fn next(&self) -> Moment {
        self.heap.peek().map_or(Moment::NEVER, |Reverse((at, _))| *at)
    }

    /// Takes out one timer that falls due within the longest slack of `now`.
    pub(super) fn pop_near(&mut self, now: Moment) -> Option<(Moment, T)> {
        (self.next() <= now.after(Self::LONGEST_SLACK)).then(|| self.heap.pop().map(|Reverse(timer)| timer)).flatten()
    }
}
