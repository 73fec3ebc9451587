//! Ways to be wrong.

use std::time::Duration;

use tenure::{BootClock, Clock, Moment};

/// What is wrong with a backend or its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    /// Renews whatever is there.
    BlindRenewal,
    /// Withdraws whatever is there.
    BlindWithdrawal,
    /// Every process counts tokens for itself, and shows nobody: one that is seen to come again is refused by candidates themselves.
    TokenRepeats,
    /// A bid is sometimes taken for a win.
    WinWithoutAWrite,
    /// Reads are one behind.
    StaleReads,
    /// The grant says more than the store keeps.
    GrantTooLong,
    /// The holder's clock runs at a third of its rate.
    SlowClock,
}

/// A clock that runs at a third of its rate from when it was made.
#[derive(Clone, Debug)]
pub(crate) struct SlowClock(Moment);

impl Default for SlowClock {
    fn default() -> Self {
        SlowClock(BootClock.now())
    }
}

impl Clock for SlowClock {
    fn now(&self) -> Moment {
        self.0.after(BootClock.now().since(self.0) / 3)
    }

    fn wait_until(&self, moment: Moment) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let left = moment.since(self.now()) * 3;
        Box::pin(tokio::time::sleep(left.min(Duration::from_secs(3600))))
    }
}
