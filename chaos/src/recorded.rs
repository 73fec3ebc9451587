//! A backend that writes down every call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tenure::backend::{
    Administer, Answer, Answers, Attempt, Beat, Bid, Due, Renewal, SessionId, Sight, Standing, Traits, Version, Watch,
};
use tenure::{Backend, BootClock, Clock, Seat};

use crate::call::{Act, Outcome, word};
use crate::diary::Diary;

/// Another backend, and the diary in which its calls stand.
#[derive(Debug)]
pub(crate) struct Recorded {
    inner: Arc<dyn Backend>,
    diary: Diary,
    calls: AtomicU64,
}

impl Recorded {
    /// This backend, with its calls in this diary.
    pub(crate) fn new(inner: Arc<dyn Backend>, diary: Diary) -> Self {
        Recorded { inner, diary, calls: AtomicU64::new(0) }
    }

    fn begin(&self, act: &Act) -> u64 {
        let number = self.calls.fetch_add(1, Relaxed);
        self.diary.write(format_args!("call {number} {} {act}", BootClock.now().as_nanos()));
        number
    }

    fn end(&self, number: u64, outcome: &Outcome) {
        self.diary.write(format_args!("answer {number} {} {outcome}", BootClock.now().as_nanos()));
    }
}

impl Backend for Recorded {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }

    fn place(&self) -> String {
        self.inner.place()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, attempt: Attempt) -> Answer<'a, Standing> {
        Box::pin(async move {
            let number = self.begin(&Act::Stand { tenure: bid.tenure(), displace: bid.displace().map(word) });
            let answer = self.inner.stand(bid, attempt).await;
            self.end(number, &(&answer).into());
            answer
        })
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, attempt: Attempt) -> Answer<'a, Renewal> {
        Box::pin(async move {
            let number = self.begin(&Act::Renew { tenure: bid.tenure(), version: word(version) });
            let answer = self.inner.renew(bid, version, attempt).await;
            self.end(number, &(&answer).into());
            answer
        })
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(async move {
            let number = self.begin(&Act::Withdraw { tenure: bid.tenure() });
            let answer = self.inner.withdraw(bid).await;
            self.end(number, &(&answer).into());
            answer
        })
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(async move {
            let number = self.begin(&Act::Inspect);
            let answer = self.inner.inspect(seat).await;
            self.end(number, &(&answer).into());
            answer
        })
    }

    fn watch<'a>(&'a self, seat: &'a Seat, bid: Option<&'a Bid>) -> Answer<'a, Watch> {
        self.inner.watch(seat, bid)
    }

    fn renew_many<'a>(&'a self, due: &'a [Due]) -> Answers<'a, Renewal> {
        Box::pin(async move {
            let act = |due: &Due| Act::Renew { tenure: due.bid.tenure(), version: word(&due.version) };
            let numbers: Vec<_> = due.iter().map(|due| self.begin(&act(due))).collect();
            let answers = self.inner.renew_many(due).await;
            for (number, answer) in numbers.into_iter().zip(&answers) {
                self.end(number, &answer.into());
            }
            answers
        })
    }

    fn heartbeat<'a>(&'a self, session: SessionId, attempt: Attempt) -> Answer<'a, Beat> {
        Box::pin(async move {
            let number = self.begin(&Act::Beat { session: session.0 });
            let answer = self.inner.heartbeat(session, attempt).await;
            self.end(number, &(&answer).into());
            answer
        })
    }

    fn administer(&self) -> Option<&dyn Administer> {
        self.inner.administer()
    }
}
