//! What the tests of the public API share.
#![allow(dead_code, reason = "every test file uses its own part")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::backend::memory::MemoryBackend;
use tenure::{CandidateBuilder, Election, ManualClock};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// One store on one clock that stands still until the test moves it.
pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) store: MemoryBackend,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new();
        World { store: MemoryBackend::with_clock(clock.clone()), clock }
    }

    /// A candidate with the default timing on a connection of its own, and that connection, for faults.
    pub(crate) fn candidate(&self, name: &str) -> (CandidateBuilder, Arc<MemoryBackend>) {
        let client = Arc::new(self.store.client());
        let election = Election::over(client.clone(), "office").unwrap();
        (election.candidate(name).clock(self.clock.clone()), client)
    }

    /// Moves time on in small steps, so that every thread has its turn.
    pub(crate) fn pass(&self, span: Duration) {
        let step = Duration::from_millis(250);
        let mut left = span;
        while !left.is_zero() {
            let now = left.min(step);
            self.clock.advance(now);
            left -= now;
        }
    }
}

/// Waits, in real time, until something holds; threads need a moment.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
