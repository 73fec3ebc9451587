//! What a case works with: clients of one fresh store, its clock, and the hooks of its harness.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::Hooked;
use super::case::Kind;
use super::contender::Contender;
use super::harness::AnyHarness;
use crate::backend::{Hint, Watch};
use crate::{Backend, BootClock, Clock, Moment, Seat};

/// One case's store and everything it can do to it. Clones are the same bench.
#[derive(Clone)]
pub(super) struct Bench {
    inner: Arc<Inner>,
}

struct Inner {
    harness: Arc<dyn AnyHarness>,
    kind: Kind,
    clock: SharedClock,
    clients: AtomicUsize,
    /// Stands in every name, so that a namespace which was not quite fresh does no harm.
    salt: u32,
}

impl Bench {
    /// What is added, in real time, to a wait on a clock that the harness moves: those who were woken need it to act.
    const TO_ACT: Duration = Duration::from_millis(250);

    pub(super) fn new(harness: Arc<dyn AnyHarness>, kind: Kind) -> Self {
        let clock = SharedClock(harness.clock().unwrap_or_else(|| Arc::new(BootClock)));
        let salt = fastrand::u32(..);
        Bench { inner: Arc::new(Inner { harness, kind, clock, clients: AtomicUsize::new(0), salt }) }
    }

    /// The number and the value of a new client.
    pub(super) fn client(&self) -> (usize, Arc<dyn Backend>) {
        let number = self.inner.clients.fetch_add(1, Ordering::Relaxed);
        (number, self.inner.harness.client(number))
    }

    /// A contender with a client of its own, whose records outlive the case even on a slow machine.
    pub(super) fn contender(&self, name: &str) -> Contender {
        let long = (self.lease() * 30).min(self.kind().traits.longest_lease);
        Contender::new(self, name, long)
    }

    /// One whose records end soon, unless they are renewed.
    pub(super) fn brief(&self, name: &str) -> Contender {
        Contender::new(self, name, self.lease())
    }

    pub(super) fn contenders<const N: usize>(&self, names: [&str; N]) -> [Contender; N] {
        names.map(|name| self.contender(name))
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.inner.kind
    }

    pub(super) fn lease(&self) -> Duration {
        self.inner.harness.lease()
    }

    pub(super) fn stretch(&self) -> Duration {
        self.inner.harness.stretch()
    }

    /// Longer than any call may take.
    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs(10) + self.lease() * 5
    }

    /// The office that the case is about.
    pub(super) fn seat(&self) -> Seat {
        self.seat_named("office")
    }

    /// Another office of the same case.
    pub(super) fn seat_named(&self, name: &str) -> Seat {
        Seat::new(&format!("c{:08x}-{name}", self.inner.salt)).expect("the suite's own names are legal")
    }

    pub(super) fn clock(&self) -> SharedClock {
        self.inner.clock.clone()
    }

    pub(super) fn has_own_clock(&self) -> bool {
        self.inner.harness.clock().is_some()
    }

    pub(super) fn now(&self) -> Moment {
        self.inner.clock.now()
    }

    pub(super) async fn pass(&self, span: Duration) {
        self.inner.harness.pass(span).await;
    }

    pub(super) async fn pass_until(&self, moment: Moment) {
        loop {
            let left = moment.until_from(self.now());
            if left.is_zero() {
                return;
            }
            self.pass(left).await;
        }
    }

    /// The result of `future`, if it comes while this much time passes.
    pub(super) async fn within<T>(&self, span: Duration, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        tokio::select! {
            biased;
            result = &mut future => return Some(result),
            () = self.pass(span) => {}
        }
        let to_act = if self.has_own_clock() { Self::TO_ACT } else { Duration::from_millis(20) };
        tokio::time::timeout(to_act, future).await.ok()
    }

    /// Looks again and again while this much time passes, until there is something to see.
    #[track_caller]
    pub(super) fn eventually<T, F: Future<Output = Option<T>>>(
        &self,
        span: Duration,
        what: impl fmt::Display,
        mut look: impl FnMut() -> F,
    ) -> impl Future<Output = T> {
        let caller = std::panic::Location::caller();
        async move {
            let (start, step) = (self.now(), self.lease() / 40);
            loop {
                // Read before looking, so that the last look is at the end or after it.
                let over = self.now() >= start.after(span);
                if let Some(found) = look().await {
                    return found;
                }
                assert!(!over, "{what}: not within {span:?} ({caller})");
                self.pass(step).await;
                if self.has_own_clock() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        }
    }

    /// The next hint of a watch, if one comes while this much time passes; `None` inside when the stream has ended.
    pub(super) async fn hint(&self, watch: &mut Watch, span: Duration) -> Option<Option<Hint>> {
        self.within(span, next(watch)).await
    }

    pub(super) async fn sever(&self, contender: usize) {
        pulled("sever", self.inner.harness.sever(contender).await);
    }

    pub(super) async fn freeze(&self, contender: usize) {
        pulled("freeze", self.inner.harness.freeze(contender).await);
    }

    pub(super) async fn mute(&self, contender: usize) {
        pulled("mute", self.inner.harness.mute(contender).await);
    }

    pub(super) async fn heal(&self, contender: usize) {
        pulled("heal", self.inner.harness.heal(contender).await);
    }

    pub(super) async fn restart(&self) {
        pulled("restart", self.inner.harness.restart().await);
    }

    pub(super) async fn remove(&self, seat: &Seat) {
        pulled("remove", self.inner.harness.remove(seat).await);
    }

    pub(super) async fn overwrite(&self, seat: &Seat) {
        pulled("overwrite", self.inner.harness.overwrite(seat).await);
    }

    pub(super) async fn wipe(&self) {
        pulled("wipe", self.inner.harness.wipe().await);
    }
}

fn pulled(hook: &str, result: Hooked) {
    if let Err(error) = result {
        panic!("the harness could not {hook}: {error}");
    }
}

async fn next(watch: &mut Watch) -> Option<Hint> {
    std::future::poll_fn(|context| watch.as_mut().poll_next(context)).await
}

/// The results of tasks that ran side by side; a panic in one of them is the case's own.
pub(super) async fn all<T>(tasks: Vec<tokio::task::JoinHandle<T>>) -> Vec<T> {
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        match task.await {
            Ok(result) => results.push(result),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    results
}

/// The clock of a harness, as candidates take it.
#[derive(Clone, Debug)]
pub(super) struct SharedClock(Arc<dyn Clock>);

impl Clock for SharedClock {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn wait_until<'a>(&'a self, moment: Moment) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        self.0.wait_until(moment)
    }
}
