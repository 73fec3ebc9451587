//! Faults that a test can set on the calls of a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::scope::{Effect, Scope};
use crate::ErrorKind;

/// A kind of call to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// [`Backend::stand`](crate::Backend::stand).
    Stand,
    /// [`Backend::renew`](crate::Backend::renew), alone or in a batch.
    Renew,
    /// [`Backend::withdraw`](crate::Backend::withdraw).
    Withdraw,
    /// [`Backend::inspect`](crate::Backend::inspect).
    Inspect,
    /// [`Backend::watch`](crate::Backend::watch): the call that subscribes.
    Watch,
    /// [`Backend::heartbeat`](crate::Backend::heartbeat).
    Heartbeat,
    /// Everything of [`Administer`](crate::backend::Administer).
    Administer,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 7] = [
        Operation::Stand,
        Operation::Renew,
        Operation::Withdraw,
        Operation::Inspect,
        Operation::Watch,
        Operation::Heartbeat,
        Operation::Administer,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Operation::Stand => "stand",
            Operation::Renew => "renew",
            Operation::Withdraw => "withdraw",
            Operation::Inspect => "inspect",
            Operation::Watch => "watch",
            Operation::Heartbeat => "heartbeat",
            Operation::Administer => "administer",
        }
    }
}

/// How often a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Times {
    /// The next so many calls that it is set for.
    Next(u64),
    /// Every call, until the fault is cleared.
    UntilCleared,
}

impl Times {
    pub(super) fn spend(&mut self) {
        if let Times::Next(left) = self {
            *left -= 1;
        }
    }
}

/// Breaks the calls of one client of a memory store, or of all, so that a program can be tested against what networks and stores do.
///
/// A call is a request and an answer, and a fault strikes one or the other: whether the store has done what it was told when the answer does not
/// come is what makes the difference (SAFETY 9). Several faults can be set at once: delays and hangs add up, and of those that decide how a call ends
/// the one that was set first is spent first, a client's own before those of the whole store.
///
/// ```
/// # use std::time::Duration;
/// use tenure::backend::memory::{MemoryBackend, Operation, Times};
/// let store = MemoryBackend::new();
/// let faults = store.faults();
/// faults.on(Operation::Renew).fail(Times::Next(3)); // three renewals fail, then they succeed again
/// faults.on(Operation::Stand).lose_answers(Times::Next(1)); // one bid is made, and nobody hears how it went
/// faults.delay_requests(Duration::from_millis(20)); // and every call takes its time
/// faults.clear();
/// ```
#[derive(Clone)]
pub struct Faults {
    scope: Arc<Scope>,
    watches: Arc<dyn Cut>,
    on: Option<Operation>,
}

/// What ends the watches of those whom a fault cuts off.
pub(super) trait Cut: Send + Sync {
    fn cut(&self);
}

impl Faults {
    pub(super) fn new(scope: Arc<Scope>, watches: Arc<dyn Cut>) -> Self {
        Faults { scope, watches, on: None }
    }

    /// The same handle for one kind of call only; without this, faults strike every kind.
    #[must_use]
    pub fn on(&self, operation: Operation) -> Faults {
        Faults { on: Some(operation), ..self.clone() }
    }

    /// Calls fail as if the store could not be reached; nothing is written, and the caller knows that.
    pub fn fail(&self, times: Times) {
        self.refuse(ErrorKind::Unavailable, times);
    }

    /// Calls fail with an error of this kind; nothing is written, and the caller knows that.
    pub fn refuse(&self, kind: ErrorKind, times: Times) {
        self.add(Effect::Refuse(kind), times);
    }

    /// Requests get lost: nothing is written, and the caller *cannot* know that.
    pub fn lose_requests(&self, times: Times) {
        self.add(Effect::LoseRequest, times);
    }

    /// Answers get lost: what was asked is done, and the caller *cannot* know that.
    pub fn lose_answers(&self, times: Times) {
        self.add(Effect::LoseAnswer, times);
    }

    /// Requests take this much longer, by the store's clock, until cleared: what was asked is done late.
    pub fn delay_requests(&self, span: Duration) {
        self.add(Effect::DelayRequest(span), Times::UntilCleared);
    }

    /// Answers take this much longer, by the store's clock, until cleared: what was asked is done at once and heard of late.
    pub fn delay_answers(&self, span: Duration) {
        self.add(Effect::DelayAnswer(span), Times::UntilCleared);
    }

    /// Requests hang: nothing is done and nothing answered before [`release`](Faults::release), and then both.
    pub fn hang_requests(&self, times: Times) {
        self.add(Effect::HangRequest(CancellationToken::new()), times);
    }

    /// Answers hang: what was asked is done, and answered no earlier than [`release`](Faults::release).
    pub fn hang_answers(&self, times: Times) {
        self.add(Effect::HangAnswer(CancellationToken::new()), times);
    }

    /// Lets go of every call that hangs, and sets no more of them hanging.
    pub fn release(&self) {
        self.scope.release(self.on);
    }

    /// Cuts the connection, for every kind of call: calls fail, calls under way are not answered, watches say [`Hint::Lagged`] and end.
    ///
    /// [`Hint::Lagged`]: crate::backend::Hint::Lagged
    pub fn sever(&self) {
        self.scope.set_severed(true);
        self.watches.cut();
    }

    /// Mends what [`sever`](Faults::sever) cut. Watches that ended stay ended.
    pub fn heal(&self) {
        self.scope.set_severed(false);
    }

    /// Takes back all faults that were set through this handle's kind of call, or, without one, every fault; what hangs is let go.
    pub fn clear(&self) {
        self.scope.clear(self.on);
        if self.on.is_none() {
            self.heal();
        }
    }

    fn add(&self, effect: Effect, times: Times) {
        self.scope.add(self.on, effect, times);
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("on", &self.on).finish_non_exhaustive()
    }
}

/// How many calls were made, failed ones included: what an election costs its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    made: [u64; Operation::ALL.len()],
    batches: u64,
}

impl Calls {
    pub(super) fn new(made: [u64; Operation::ALL.len()], batches: u64) -> Self {
        Calls { made, batches }
    }

    /// Calls of one kind; each renewal of a batch counts.
    pub fn of(&self, operation: Operation) -> u64 {
        self.made[operation as usize]
    }

    /// Calls of every kind; each renewal of a batch counts.
    pub fn total(&self) -> u64 {
        self.made.iter().sum()
    }

    /// Batches of renewals ([`Backend::renew_many`](crate::Backend::renew_many)), of whatever size.
    pub fn batches(&self) -> u64 {
        self.batches
    }
}
