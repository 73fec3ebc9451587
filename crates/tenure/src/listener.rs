//! Callbacks that can be slow, or panic, without anybody else noticing.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::{Ending, FencingToken};

/// A change of leadership, as a listener hears it: gained and lost strictly alternate, beginning with gained (SEEDS 30, 32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Leadership began.
    Gained {
        /// Its fencing token.
        token: Option<FencingToken>,
    },
    /// Leadership ended.
    Lost {
        /// Why.
        ending: Ending,
    },
}

impl Change {
    /// Whether this candidate leads now.
    pub fn is_leader(self) -> bool {
        matches!(self, Change::Gained { .. })
    }
}

/// One callback with its own queue. It runs on a thread of its own that lives only while there is something to tell, so that neither
/// renewals nor other listeners ever wait for it (SEEDS 33), and never under a lock.
#[derive(Clone)]
pub(crate) struct Listener {
    inner: Arc<Inner>,
}

struct Inner {
    pending: Mutex<Pending>,
    idle: Notify,
    callback: Mutex<Box<dyn FnMut(Change) + Send>>,
}

#[derive(Default)]
struct Pending {
    changes: VecDeque<Change>,
    running: bool,
}

impl Listener {
    const CAPACITY: usize = 64;
    const THREAD: &str = "tenure-listener";

    /// Whether the calling thread is a listener's: it cannot wait for itself.
    pub(crate) fn is_here() -> bool {
        std::thread::current().name() == Some(Self::THREAD)
    }

    /// Waits until everything told so far was heard.
    pub(crate) async fn idle(&self) {
        loop {
            let mut idle = std::pin::pin!(self.inner.idle.notified());
            idle.as_mut().enable();
            if !self.inner.pending().running {
                return;
            }
            idle.await;
        }
    }

    pub(crate) fn new(callback: impl FnMut(Change) + Send + 'static) -> Self {
        let callback: Box<dyn FnMut(Change) + Send> = Box::new(callback);
        Listener {
            inner: Arc::new(Inner { pending: Mutex::default(), idle: Notify::new(), callback: Mutex::new(callback) }),
        }
    }

    pub(crate) fn tell(&self, change: Change) {
        let mut pending = self.inner.pending();
        if pending.changes.len() >= Self::CAPACITY {
            // The oldest two are a pair, so what is left still alternates.
            pending.changes.drain(..2);
        }
        pending.changes.push_back(change);
        if pending.running {
            return;
        }
        let inner = self.inner.clone();
        match std::thread::Builder::new().name(Self::THREAD.into()).spawn(move || inner.drain()) {
            Ok(_) => pending.running = true,
            // The change stays queued and is told with the next one.
            Err(error) => tracing::error!(%error, "no thread for a leadership listener"),
        }
    }
}

impl Inner {
    fn drain(&self) {
        loop {
            let next = {
                let mut pending = self.pending();
                let next = pending.changes.pop_front();
                pending.running = next.is_some();
                next
            };
            let Some(change) = next else { return self.idle.notify_waiters() };
            let mut callback = self.callback.lock().unwrap_or_else(PoisonError::into_inner);
            if catch_unwind(AssertUnwindSafe(|| callback(change))).is_err() {
                tracing::error!(?change, "a leadership listener panicked; elections go on");
            }
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn pair() -> [Change; 2] {
        [Change::Gained { token: None }, Change::Lost { ending: Ending::Resigned }]
    }

    #[test]
    fn a_listener_hears_everything_in_order_although_it_panics() {
        // SEEDS 30, 33
        let (sender, receiver) = channel();
        let listener = Listener::new(move |change| {
            sender.send(change).unwrap();
            if change.is_leader() {
                panic!("a careless listener");
            }
        });
        for change in pair().into_iter().chain(pair()) {
            listener.tell(change);
        }
        let heard: Vec<_> = receiver.iter().take(4).collect();
        assert_eq!(heard, [pair(), pair()].concat());
    }

    #[test]
    fn a_listener_that_blocks_keeps_its_queue_bounded_and_alternating() {
        // SEEDS 33
        let (go, wait) = channel::<()>();
        let (sender, receiver) = channel();
        let listener = Listener::new(move |change| {
            let _ = wait.recv();
            sender.send(change).unwrap();
        });
        for _ in 0..1_000 {
            pair().into_iter().for_each(|change| listener.tell(change));
        }
        drop(go);
        let mut leading = false;
        let mut heard = 0;
        while let Ok(change) = receiver.recv_timeout(std::time::Duration::from_millis(500)) {
            assert_ne!(std::mem::replace(&mut leading, change.is_leader()), change.is_leader());
            heard += 1;
        }
        assert!(heard <= Listener::CAPACITY + 1, "{heard}");
    }
}
