//! Timers for everything that waits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use crate::Moment;

/// Wake-up calls, earliest first. A call is never taken back: whoever is woken knows by itself whether it still cares, and one that was
/// asked for and is no longer wanted is dropped when it comes up.
///
/// Only those of the next moments are kept in order; one heap for a hundred thousand would spend more time than all the rest.
#[derive(Debug)]
pub(super) struct Timers<T> {
    /// The slot that comes next, in order; empty only when nobody waits.
    next: BinaryHeap<Reverse<(Moment, T)>>,
    slot: u64,
    /// The slots after it.
    later: BTreeMap<u64, Vec<Reverse<(Moment, T)>>>,
}

impl<T: Ord + Copy> Timers<T> {
    /// The most that a wake-up may come early, so that what is due nearly together is done together.
    pub(super) const LONGEST_SLACK: Duration = Duration::from_millis(50);

    /// A slot is as long as this power of two in nanoseconds: an eighth of a second.
    const SLOT_BITS: u32 = 27;

    pub(super) fn new() -> Self {
        Timers { next: BinaryHeap::new(), slot: 0, later: BTreeMap::new() }
    }

    pub(super) fn set(&mut self, at: Moment, who: T) {
        let (slot, timer) = (at.as_nanos() >> Self::SLOT_BITS, Reverse((at, who)));
        if slot > self.slot && !self.next.is_empty() {
            return self.later.entry(slot).or_default().push(timer);
        }
        if slot != self.slot && !self.next.is_empty() {
            let postponed = std::mem::take(&mut self.next);
            self.later.insert(self.slot, postponed.into_vec());
        }
        self.slot = slot;
        self.next.push(timer);
    }

    /// Takes out the earliest if it falls due within the longest slack of `now`.
    pub(super) fn pop_near(&mut self, now: Moment) -> Option<(Moment, T)> {
        if self.next() > now.after(Self::LONGEST_SLACK) { None } else { self.pop() }
    }

    /// Takes out the earliest.
    pub(super) fn pop(&mut self) -> Option<(Moment, T)> {
        let Reverse(timer) = self.next.pop()?;
        if self.next.is_empty()
            && let Some((slot, timers)) = self.later.pop_first()
        {
            (self.slot, self.next) = (slot, timers.into());
        }
        Some(timer)
    }

    /// The earliest.
    pub(super) fn first(&self) -> Option<(Moment, T)> {
        self.next.peek().map(|Reverse(timer)| *timer)
    }

    /// When the earliest falls due.
    pub(super) fn next(&self) -> Moment {
        self.first().map_or(Moment::NEVER, |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn timers_come_up_in_their_order_in_whatever_order_they_were_set() {
        let mut timers = Timers::new();
        let mut random = fastrand::Rng::with_seed(7);
        let mut waiting = Vec::new();
        let mut now = at(1_000);
        for who in 0..20_000_u32 {
            let span = [3, 40, 5_000, 86_400_000][random.usize(..4)];
            let due = now.after(Duration::from_micros(random.u64(..span * 1_000)));
            timers.set(due, who);
            waiting.push((due, who));
            if random.bool() {
                now = now.after(Duration::from_millis(random.u64(..4)));
                waiting.sort();
                while let Some(timer) = timers.pop_near(now) {
                    assert_eq!(timer, waiting.remove(0));
                }
                assert_eq!(timers.next(), waiting.first().map_or(Moment::NEVER, |(due, _)| *due));
            }
        }
        assert!(!waiting.is_empty());
    }

    #[test]
    fn a_timer_comes_up_early_by_the_longest_slack_and_no_more() {
        let mut timers = Timers::new();
        timers.set(at(1_051), 1);
        timers.set(at(1_050), 2);
        assert_eq!(timers.next(), at(1_050));
        assert_eq!(timers.pop_near(at(999)), None);
        assert_eq!(timers.pop_near(at(1_000)), Some((at(1_050), 2)));
        assert_eq!(timers.pop_near(at(1_000)), None);
        assert_eq!(timers.pop_near(at(1_001)), Some((at(1_051), 1)));
        assert_eq!((timers.pop_near(at(9_999)), timers.next()), (None, Moment::NEVER));
    }
}
