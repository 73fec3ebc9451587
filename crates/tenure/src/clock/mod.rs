//! The clock that leases are kept by.

mod boot;
mod manual;

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use boot::BootClock;
pub use manual::ManualClock;

use crate::Moment;

/// A source of [`Moment`]s that counts the time a machine was asleep (SAFETY 5).
///
/// # Contract
/// - `now` never goes back, costs nanoseconds and never blocks: it is read on every [`is_leader`](crate::Campaign::is_leader).
/// - `wait_until` resolves at or after `moment`. Resolving early or late is harmless (timers are hints, the clock is read again),
///   never resolving is not.
pub trait Clock: Debug + Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Moment;

    /// Resolves once `moment` has come.
    fn wait_until<'a>(&'a self, moment: Moment) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

    /// What clones of this clock have in common, so that candidates on them share one driver; `None`: each value is a clock of its own.
    fn identity(&self) -> Option<usize> {
        None
    }

    /// Something was handed to a driver on this clock. A clock that is moved by hand lets no time pass until the driver has dealt with it; every
    /// other clock does nothing.
    fn handed_over(&self) {}

    /// The driver on the calling thread has what was handed to it.
    fn taken_over(&self) {}

    /// The driver on the calling thread has done everything there is to do now.
    fn at_rest(&self) {}
}

/// The clock of a candidate: the machine's own without a virtual call, or one that the user brings.
#[derive(Clone, Debug, Default)]
pub(crate) enum AnyClock {
    #[default]
    Boot,
    Custom(Arc<dyn Clock>),
}

impl AnyClock {
    #[inline]
    pub(crate) fn now(&self) -> Moment {
        match self {
            AnyClock::Boot => BootClock.now(),
            AnyClock::Custom(clock) => clock.now(),
        }
    }

    pub(crate) fn handed_over(&self) {
        if let AnyClock::Custom(clock) = self {
            clock.handed_over();
        }
    }

    pub(crate) fn taken_over(&self) {
        if let AnyClock::Custom(clock) = self {
            clock.taken_over();
        }
    }

    pub(crate) fn at_rest(&self) {
        if let AnyClock::Custom(clock) = self {
            clock.at_rest();
        }
    }

    pub(crate) async fn wait_until(&self, moment: Moment) {
        match self {
            AnyClock::Boot => BootClock.wait_until(moment).await,
            AnyClock::Custom(clock) => clock.wait_until(moment).await,
        }
    }
}
