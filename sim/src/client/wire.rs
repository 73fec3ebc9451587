//! What a node has asked the servers and not heard yet.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tenure::Error;

use crate::store::{Reply, Request};

/// A request that waits to be sent.
#[derive(Debug)]
pub struct Asked {
    /// Its number; the answer names it.
    pub id: u64,
    /// The server it is for.
    pub server: usize,
    /// What is asked.
    pub request: Request,
}

#[derive(Debug, Default)]
struct Lines {
    last: u64,
    asked: Vec<Asked>,
    answered: Vec<(u64, Result<Reply, Error>)>,
}

/// The wire of one process: futures put their requests on it, and the world takes them off, delivers, loses and answers them.
#[derive(Clone, Debug, Default)]
pub struct Wire(Arc<Mutex<Lines>>);

impl Wire {
    /// Asks a server; the future is ready once the world has answered.
    pub fn ask(&self, server: usize, request: Request) -> Asking {
        let mut lines = self.lines();
        lines.last += 1;
        let id = lines.last;
        lines.asked.push(Asked { id, server, request });
        Asking { wire: self.clone(), id }
    }

    /// Takes off what is to be sent.
    pub fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut self.lines().asked)
    }

    /// Answers a request.
    pub fn answer(&self, id: u64, answer: Result<Reply, Error>) {
        self.lines().answered.push((id, answer));
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer that is to come.
#[derive(Debug)]
pub struct Asking {
    wire: Wire,
    id: u64,
}

impl Future for Asking {
    type Output = Result<Reply, Error>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let mut lines = self.wire.lines();
        match lines.answered.iter().position(|(id, _)| *id == self.id) {
            Some(at) => Poll::Ready(lines.answered.swap_remove(at).1),
            None => Poll::Pending,
        }
    }
}
