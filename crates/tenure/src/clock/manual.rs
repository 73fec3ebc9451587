//! A clock that stands still until a test moves it.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::Clock;
use crate::Moment;

/// A clock for tests: time passes only when [`advance`](ManualClock::advance) is called.
///
/// Give clones of one clock to every candidate and to the memory backend, and a test of an hour of elections takes milliseconds:
/// ```
/// # use std::time::Duration;
/// use tenure::{Clock, ManualClock};
/// let clock = ManualClock::new();
/// let start = clock.now();
/// clock.advance(Duration::from_secs(3600));
/// assert_eq!(clock.now().since(start), Duration::from_secs(3600));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    now: Moment,
    next_id: u64,
    sleepers: Vec<Sleeper>,
    /// The threads of drivers on this clock, and whether each is at rest. Time waits for those that are not.
    drivers: HashMap<ThreadId, bool>,
    /// What was handed to a driver and is still on its way.
    handovers: usize,
}

#[derive(Debug)]
struct Sleeper {
    id: u64,
    at: Moment,
    thread: ThreadId,
    waker: Waker,
}

impl State {
    fn is_busy(&self) -> bool {
        self.handovers > 0 || self.drivers.values().any(|at_rest| !at_rest)
    }
}

impl ManualClock {
    /// How long time stands still, in real time, for a driver that does not come to rest; it may have ended.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// A clock that shows a fixed moment well after its origin.
    pub fn new() -> Self {
        let clock = ManualClock::default();
        clock.state().now = Moment::ZERO.after(Duration::from_secs(1_000));
        clock
    }

    /// Moves time on by `span`, stopping at every moment somebody waits for and giving them (real) time to act on it.
    ///
    /// It blocks until the drivers on this clock have done what was due or asked of them and sleep again, so that after `advance` returns,
    /// what time alone decides has been decided.
    pub fn advance(&self, span: Duration) {
        let mut state = self.settle(self.state());
        let target = state.now.after(span);
        while let Some(at) = state.sleepers.iter().map(|sleeper| sleeper.at).min().filter(|at| *at <= target) {
            state = self.move_to(state, at);
        }
        drop(self.move_to(state, target));
    }

    /// Moves time on by `span` at one stroke, as a process sees it that was stopped meanwhile: nobody acts in between.
    pub fn jump(&self, span: Duration) {
        let state = self.settle(self.state());
        let target = state.now.after(span);
        drop(self.move_to(state, target));
    }

    /// Sets the time, wakes whoever waited for it, and waits until all of them sleep again.
    fn move_to<'a>(&'a self, mut state: MutexGuard<'a, State>, now: Moment) -> MutexGuard<'a, State> {
        state.now = state.now.max(now);
        let now = state.now;
        let woken: Vec<_> = state.sleepers.extract_if(.., |sleeper| sleeper.at <= now).collect();
        for sleeper in &woken {
            if let Some(at_rest) = state.drivers.get_mut(&sleeper.thread) {
                *at_rest = false;
            }
        }
        // Not under the lock: whoever is woken may give up its wait at once.
        drop(state);
        woken.into_iter().for_each(|sleeper| sleeper.waker.wake());
        self.settle(self.state())
    }

    /// Waits until every driver is at rest.
    fn settle<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let waited = self.inner.changed.wait_timeout_while(state, Self::PATIENCE, |state| state.is_busy());
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            state.drivers.retain(|_, at_rest| *at_rest);
            state.handovers = 0;
        }
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        self.state().now
    }

    fn wait_until<'a>(&'a self, moment: Moment) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let mut bed = Bed { clock: self, id: None };
        Box::pin(poll_fn(move |context| {
            // The closure must own the bed as a whole, not copies of its fields.
            let bed = &mut bed;
            let mut state = bed.clock.state();
            if state.now >= moment {
                return Poll::Ready(());
            }
            match bed.id {
                Some(id) if state.sleepers.iter().any(|sleeper| sleeper.id == id) => {
                    let sleeper = state.sleepers.iter_mut().find(|sleeper| sleeper.id == id);
                    sleeper.expect("looked up above").waker = context.waker().clone();
                }
                _ => {
                    let id = state.next_id;
                    state.next_id += 1;
                    let thread = thread::current().id();
                    state.sleepers.push(Sleeper { id, at: moment, thread, waker: context.waker().clone() });
                    bed.id = Some(id);
                }
            }
            Poll::Pending
        }))
    }

    fn identity(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.inner) as usize)
    }

    fn handed_over(&self) {
        self.state().handovers += 1;
    }

    fn taken_over(&self) {
        let mut state = self.state();
        state.handovers = state.handovers.saturating_sub(1);
        state.drivers.insert(thread::current().id(), false);
    }

    fn at_rest(&self) {
        self.state().drivers.insert(thread::current().id(), true);
        self.inner.changed.notify_all();
    }
}

/// Takes the sleeper out again when the wait is dropped before its time.
struct Bed<'a> {
    clock: &'a ManualClock,
    id: Option<u64>,
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.clock.state().sleepers.retain(|sleeper| sleeper.id != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_is_given_up_leaves_no_sleeper_behind() {
        let clock = ManualClock::new();
        let mut wait = clock.wait_until(Moment::NEVER);
        assert!(wait.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(clock.state().sleepers.len(), 1);
        drop(wait);
        assert_eq!(clock.state().sleepers.len(), 0);
    }

    #[test]
    fn a_sleeper_wakes_when_its_moment_comes_and_not_before() {
        let clock = ManualClock::new();
        let at = clock.now().after(Duration::from_secs(5));
        let thread = std::thread::spawn({
            let clock = clock.clone();
            move || {
                crate::blocking::block_on(clock.wait_until(at));
                clock.now()
            }
        });
        while clock.state().sleepers.is_empty() {
            std::thread::yield_now();
        }
        clock.advance(Duration::from_secs(4));
        assert!(!thread.is_finished());
        clock.advance(Duration::from_secs(4));
        assert!(thread.join().unwrap() >= at);
    }
}
