//! Calls of a node's backend: real futures, polled whenever an answer comes.

use std::task::{Context, Poll, Waker};

use tenure::Error;
use tenure::backend::{Attempt, Bid, SessionId};
use tenure::driver::{Called, Happening};
use tenure::machine::{Failure, Op, Outcome};

use super::node::{Caller, Done, Running};
use super::{BACKEND, Event, World};
use crate::invariants::Purpose;
use crate::store::Reply;

fn outcome<T>(answer: Result<T, Error>, told: impl FnOnce(T) -> Outcome) -> Done {
    Done::Answered(answer.map_or_else(|error| Outcome::Failed(Failure::from(&error)), told))
}

impl World {
    pub(super) fn call(&mut self, node: usize, called: Called, op: Op) {
        let (bid, attempt) = (called.bid.clone(), called.attempt);
        let (backend, tenure) = (self.nodes[node].backend.clone(), bid.tenure());
        let (purpose, future): (Purpose, std::pin::Pin<Box<dyn Future<Output = Done>>>) = match op {
            Op::Stand { .. } => (
                Purpose::Stand(tenure),
                Box::pin(async move { outcome(backend.stand(&bid, attempt).await, Outcome::Stood) }),
            ),
            Op::Renew { version } => (
                Purpose::Renew(tenure),
                Box::pin(async move { outcome(backend.renew(&bid, &version, attempt).await, Outcome::Renewed) }),
            ),
            Op::Withdraw => return self.withdraw(node, bid, Caller::Campaign(Box::new(called))),
            Op::Inspect => {
                (Purpose::Look, Box::pin(async move { outcome(backend.inspect(bid.seat()).await, Outcome::Inspected) }))
            }
        };
        self.start(node, Running { future, caller: Caller::Campaign(Box::new(called)), purpose });
    }

    pub(super) fn withdraw(&mut self, node: usize, bid: Bid, caller: Caller) {
        let backend = self.nodes[node].backend.clone();
        let purpose = Purpose::Withdraw(bid.tenure());
        let future = Box::pin(async move {
            match backend.withdraw(&bid).await {
                Ok(()) => Done::Withdrawn,
                Err(error) => Done::Answered(Outcome::Failed(Failure::from(&error))),
            }
        });
        self.start(node, Running { future, caller, purpose });
    }

    pub(super) fn beat(&mut self, node: usize, session: SessionId, attempt: Attempt) {
        let backend = self.nodes[node].backend.clone();
        let future = Box::pin(async move { Done::Beaten(backend.heartbeat(session, attempt).await.ok()) });
        self.start(node, Running { future, caller: Caller::Heart(session, attempt.id), purpose: Purpose::Look });
    }

    fn start(&mut self, node: usize, running: Running) {
        let call = self.nodes[node].add(running);
        self.advance(node, call);
    }

    /// An answer came, or its client gave it up.
    pub(super) fn replies(&mut self, node: usize, id: u64, reply: Option<Reply>) {
        let asked = &mut self.nodes[node].asked;
        let Some(at) = asked.iter().position(|(other, _)| *other == id) else { return };
        let (_, call) = asked.swap_remove(at);
        let answer = reply.ok_or_else(|| Error::unknown_outcome("no answer came"));
        self.nodes[node].wire.answer(id, answer);
        self.advance(node, call);
    }

    fn advance(&mut self, node: usize, call: usize) {
        let Some(mut running) = self.nodes[node].calls[call].take() else { return };
        let purpose = running.purpose;
        let ended = match running.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some((done, running.caller)),
            Poll::Pending => {
                self.nodes[node].calls[call] = Some(running);
                None
            }
        };
        for asked in self.nodes[node].wire.take() {
            self.nodes[node].asked.push((asked.id, call));
            self.send(node, asked, purpose);
        }
        if let Some((done, caller)) = ended {
            self.nodes[node].asked.retain(|(_, other)| *other != call);
            self.told(node, done, caller);
        }
    }

    fn told(&mut self, node: usize, done: Done, caller: Caller) {
        match (done, caller) {
            (Done::Beaten(beat), Caller::Heart(session, attempt)) => {
                self.poll(node, Happening::Beaten(BACKEND, session, attempt, beat));
            }
            (Done::Answered(outcome), Caller::Campaign(called)) => self.answered(node, *called, outcome),
            (Done::Withdrawn, Caller::Campaign(called)) => self.answered(node, *called, Outcome::Withdrew),
            _ => {}
        }
    }

    fn answered(&mut self, node: usize, called: Called, outcome: Outcome) {
        if !self.calm && self.rng.chance(self.faults.duplication) {
            let life = self.nodes[node].life;
            let later = self.rng.below(2_000_000_000);
            self.schedule(later, Event::Echo(node, life, Box::new((called.clone(), outcome.clone()))));
        }
        self.poll(node, Happening::Answered(called, outcome));
    }
}
