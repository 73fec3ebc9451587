//! A clock that stands still until a test moves it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Poll, Waker};
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
    /// How often a sleeper has gone to sleep, so that `advance` can tell that a woken one has come back.
    naps: u64,
}

#[derive(Debug)]
struct Sleeper {
    id: u64,
    at: Moment,
    waker: Waker,
}

impl ManualClock {
    /// How long `advance` waits, in real time, for those it woke to sleep again before it moves on.
    const PATIENCE: Duration = Duration::from_millis(250);

    /// A clock that shows a fixed moment well after its origin.
    pub fn new() -> Self {
        let clock = ManualClock::default();
        clock.state().now = Moment::ZERO.after(Duration::from_secs(1_000));
        clock
    }

    /// Moves time on by `span`, stopping at every moment somebody waits for and giving them (real) time to act on it.
    ///
    /// It blocks until the drivers that sleep on this clock have done what was due and sleep again, so that after
    /// `advance` returns, what time alone decides has been decided.
    pub fn advance(&self, span: Duration) {
        let target = self.now().after(span);
        loop {
            let mut state = self.state();
            let due = state.sleepers.iter().map(|sleeper| sleeper.at).min().filter(|at| *at <= target);
            let Some(at) = due else {
                state.now = state.now.max(target);
                return;
            };
            state.now = state.now.max(at);
            let now = state.now;
            let naps = state.naps;
            let woken = state.sleepers.extract_if(.., |sleeper| sleeper.at <= now).collect::<Vec<_>>();
            let expected = naps + woken.len() as u64;
            for sleeper in woken {
                sleeper.waker.wake();
            }
            drop(self.inner.changed.wait_timeout_while(state, Self::PATIENCE, |state| state.naps < expected));
        }
    }

    /// Moves time on by `span` at one stroke, as a process sees it that was stopped meanwhile: nobody acts in between.
    pub fn jump(&self, span: Duration) {
        let mut state = self.state();
        state.now = state.now.after(span);
        let now = state.now;
        let expected = state.naps;
        let woken = state.sleepers.extract_if(.., |sleeper| sleeper.at <= now).collect::<Vec<_>>();
        let expected = expected + woken.len() as u64;
        for sleeper in woken {
            sleeper.waker.wake();
        }
        drop(self.inner.changed.wait_timeout_while(state, Self::PATIENCE, |state| state.naps < expected));
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
                    state.naps += 1;
                    state.sleepers.push(Sleeper { id, at: moment, waker: context.waker().clone() });
                    bed.id = Some(id);
                    bed.clock.inner.changed.notify_all();
                }
            }
            Poll::Pending
        }))
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
        assert_eq!(thread.join().unwrap(), at, "it woke at its own moment, before the rest of the advance");
    }
}
