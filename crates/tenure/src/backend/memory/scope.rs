//! The faults that are set for one client, or for all clients of a store, and what they do to a call.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::faults::{Calls, Operation, Times};
use crate::clock::AnyClock;
use crate::{Error, ErrorKind};

/// The calls that were made here, and the faults that wait for the next ones.
#[derive(Debug, Default)]
pub(super) struct Scope {
    calls: [AtomicU64; Operation::ALL.len()],
    batches: AtomicU64,
    /// Whether there is any fault at all; most calls look no further.
    disturbed: AtomicBool,
    faults: Mutex<Set>,
}

#[derive(Debug, Default)]
struct Set {
    severed: bool,
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    /// `None`: every operation.
    on: Option<Operation>,
    effect: Effect,
    times: Times,
}

/// What a fault does to a call.
#[derive(Debug)]
pub(super) enum Effect {
    Refuse(ErrorKind),
    LoseRequest,
    LoseAnswer,
    DelayRequest(Duration),
    DelayAnswer(Duration),
    /// Until the token is cancelled.
    HangRequest(CancellationToken),
    HangAnswer(CancellationToken),
}

/// What will happen to one call, on its way to the store and on its way back.
#[derive(Debug, Default)]
pub(super) struct Course {
    refusal: Option<ErrorKind>,
    request: Leg,
    answer: Leg,
}

#[derive(Debug, Default)]
struct Leg {
    hangs: Vec<CancellationToken>,
    delay: Duration,
    lost: bool,
}

impl Scope {
    pub(super) fn count(&self, operation: Operation, times: u64) {
        self.calls[operation as usize].fetch_add(times, Ordering::Relaxed);
    }

    pub(super) fn count_batch(&self) {
        self.batches.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn calls(&self) -> Calls {
        Calls::new(
            Operation::ALL.map(|operation| self.calls[operation as usize].load(Ordering::Relaxed)),
            self.batches.load(Ordering::Relaxed),
        )
    }

    pub(super) fn add(&self, on: Option<Operation>, effect: Effect, times: Times) {
        if times != Times::Next(0) {
            self.change(|set| set.rules.push(Rule { on, effect, times }));
        }
    }

    pub(super) fn set_severed(&self, severed: bool) {
        self.change(|set| set.severed = severed);
    }

    /// Takes the faults away that are set for this operation, or all, and lets go the calls that hang by them.
    pub(super) fn clear(&self, on: Option<Operation>) {
        self.take_rules(|rule| on.is_none() || rule.on == on);
    }

    pub(super) fn release(&self, on: Option<Operation>) {
        self.take_rules(|rule| {
            matches!(rule.effect, Effect::HangRequest(_) | Effect::HangAnswer(_)) && (on.is_none() || rule.on == on)
        });
    }

    pub(super) fn is_disturbed(&self) -> bool {
        self.disturbed.load(Ordering::Acquire)
    }

    pub(super) fn is_severed(&self) -> bool {
        self.is_disturbed() && self.set().severed
    }

    /// Adds what is set here to the course of a call. Of the faults that decide how a call ends only the first one is spent on it; delays
    /// and hangs come together.
    pub(super) fn disturb(&self, operation: Operation, course: &mut Course) {
        if !self.is_disturbed() {
            return;
        }
        self.change(|set| {
            for rule in &mut set.rules {
                let spent_already = rule.effect.decides() && course.is_decided();
                if rule.on.is_none_or(|on| on == operation) && !rule.is_spent() && !spent_already {
                    rule.effect.apply_to(course);
                    rule.times.spend();
                }
            }
            // A hang stays after its last use, so that it can still be released.
            set.rules.retain(|rule| !rule.is_spent() || rule.holds_calls());
        });
    }

    fn take_rules(&self, which: impl Fn(&Rule) -> bool) {
        let taken = self.change(|set| set.rules.extract_if(.., |rule| which(rule)).collect::<Vec<_>>());
        // Woken after the lock is free.
        for rule in taken {
            if let Effect::HangRequest(latch) | Effect::HangAnswer(latch) = rule.effect {
                latch.cancel();
            }
        }
    }

    fn change<R>(&self, change: impl FnOnce(&mut Set) -> R) -> R {
        let mut set = self.set();
        let result = change(&mut set);
        self.disturbed.store(set.severed || !set.rules.is_empty(), Ordering::Release);
        result
    }

    fn set(&self) -> MutexGuard<'_, Set> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rule {
    fn is_spent(&self) -> bool {
        self.times == Times::Next(0)
    }

    fn holds_calls(&self) -> bool {
        matches!(self.effect, Effect::HangRequest(_) | Effect::HangAnswer(_))
    }
}

impl Effect {
    fn decides(&self) -> bool {
        matches!(self, Effect::Refuse(_) | Effect::LoseRequest | Effect::LoseAnswer)
    }

    fn apply_to(&self, course: &mut Course) {
        match self {
            Effect::Refuse(kind) => course.refusal = Some(*kind),
            Effect::LoseRequest => course.request.lost = true,
            Effect::LoseAnswer => course.answer.lost = true,
            Effect::DelayRequest(span) => course.request.delay = course.request.delay.saturating_add(*span),
            Effect::DelayAnswer(span) => course.answer.delay = course.answer.delay.saturating_add(*span),
            Effect::HangRequest(latch) => course.request.hangs.push(latch.clone()),
            Effect::HangAnswer(latch) => course.answer.hangs.push(latch.clone()),
        }
    }
}

impl Course {
    /// What happens before the store hears of the call.
    pub(super) async fn arrive(&self, clock: &AnyClock, severed: impl Fn() -> bool) -> Result<(), Error> {
        self.request.travel(clock, severed).await?;
        match self.refusal {
            Some(kind) => Err(Error::new(kind, "the store refused the call (a fault that was set)")),
            None => Ok(()),
        }
    }

    /// What happens after the store has done its part.
    pub(super) async fn come_back(&self, clock: &AnyClock, severed: impl Fn() -> bool) -> Result<(), Error> {
        self.answer.travel(clock, severed).await
    }

    fn is_decided(&self) -> bool {
        self.refusal.is_some() || self.request.lost || self.answer.lost
    }
}

impl Leg {
    async fn travel(&self, clock: &AnyClock, severed: impl Fn() -> bool) -> Result<(), Error> {
        for latch in &self.hangs {
            latch.cancelled().await;
        }
        let at = clock.now().after(self.delay);
        while clock.now() < at {
            clock.wait_until(at).await;
        }
        // The caller cannot know on which leg it was lost.
        if self.lost || severed() {
            return Err(Error::unknown_outcome("no answer came (a fault that was set)"));
        }
        Ok(())
    }
}
