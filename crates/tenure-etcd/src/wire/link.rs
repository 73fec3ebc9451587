//! The way to a cluster: one connection at a time, with whichever member answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use prost::Message;
use tenure::Error;
use tenure::backend::network::Host;
use tokio::time::timeout;

use super::blame::{Refusal, Why};
use super::call::{Effect, path};
use super::connection::{CONNECT_WITHIN, Connection};
use super::message::{
    LeaseGrantRequest, LeaseRequest, LeaseResponse, LeaseTimeToLiveResponse, RangeRequest, RangeResponse, TxnRequest,
    TxnResponse,
};
use super::{Login, Tls};

/// Calls to a cluster. No call is repeated, but for one that was refused because our login was over.
#[derive(Debug)]
pub(crate) struct Link {
    cluster: Arc<Cluster>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct Cluster {
    hosts: Vec<Host>,
    tls: Option<Tls>,
    login: Option<Login>,
    next: AtomicUsize,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Apart,
    /// Many calls wait for one connection, and none of them ends the attempt by giving up.
    Connecting(Connecting),
    Connected(Arc<Connection>),
}

type Connecting = Shared<BoxFuture<'static, Result<Arc<Connection>, Arc<Error>>>>;

/// How etcd wants a call to be made.
#[derive(Clone, Copy)]
enum Shape {
    Unary,
    Stream,
}

impl Link {
    pub(crate) fn new(hosts: Vec<Host>, tls: Option<Tls>, login: Option<Login>) -> Self {
        // Not everybody begins with the first member.
        let next = AtomicUsize::new(fastrand::usize(..hosts.len().max(1)));
        Link { cluster: Arc::new(Cluster { hosts, tls, login, next }), state: Arc::default() }
    }

    pub(crate) async fn range(&self, request: RangeRequest, within: Duration) -> Result<RangeResponse, Refusal> {
        self.unary(path::RANGE, request, Effect::Reads, within).await
    }

    pub(crate) async fn txn(&self, txn: TxnRequest, effect: Effect, within: Duration) -> Result<TxnResponse, Refusal> {
        self.unary(path::TXN, txn, effect, within).await
    }

    pub(crate) async fn grant(&self, ttl: i64, within: Duration) -> Result<LeaseResponse, Refusal> {
        self.unary(path::GRANT, LeaseGrantRequest { ttl, id: 0 }, Effect::Writes, within).await
    }

    pub(crate) async fn time_to_live(&self, lease: i64, within: Duration) -> Result<LeaseTimeToLiveResponse, Refusal> {
        self.unary(path::TIME_TO_LIVE, LeaseRequest { id: lease }, Effect::Reads, within).await
    }

    /// Extends a lease. The answer is to this very request.
    pub(crate) async fn keep_alive(&self, lease: i64, within: Duration) -> Result<LeaseResponse, Refusal> {
        let answer: LeaseResponse =
            self.call(path::KEEP_ALIVE, LeaseRequest { id: lease }, Shape::Stream, Effect::Writes, within).await?;
        // Has every watch heard of what the store has done since? A stream that is silent for another reason is found out this way.
        let revision = answer.header.map_or(0, |header| header.revision);
        if let Some(hub) = self.known().and_then(|connection| connection.running_hub()) {
            hub.must_have_reached(revision);
        }
        Ok(answer)
    }

    /// A connection that stands.
    pub(crate) async fn connection(&self, within: Duration) -> Result<Arc<Connection>, Refusal> {
        match timeout(within, self.connected()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => {
                let again = Error::new(error.kind(), error.to_string()).transient(error.is_transient());
                Err(Refusal::from(again))
            }
            Err(_) => {
                let message = format!("no member of etcd could be reached in time: {}", self.names());
                Err(Refusal::from(Error::unavailable(message)))
            }
        }
    }

    pub(crate) fn names(&self) -> String {
        self.cluster.hosts.iter().map(Host::to_string).collect::<Vec<_>>().join(",")
    }

    async fn unary<Q, A>(&self, path: &'static str, message: Q, effect: Effect, within: Duration) -> Result<A, Refusal>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        self.call(path, message, Shape::Unary, effect, within).await
    }

    async fn call<Q, A>(
        &self,
        path: &'static str,
        message: Q,
        shape: Shape,
        effect: Effect,
        within: Duration,
    ) -> Result<A, Refusal>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let connection = self.connection(within).await?;
        let mut logged_in = false;
        loop {
            let heard = connection.heard();
            let asked = async {
                match shape {
                    Shape::Unary => connection.unary(path, message.clone()).await,
                    Shape::Stream => connection.ask_once(path, message.clone()).await,
                }
            };
            let refusal = match timeout(within, asked).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(status)) => connection.blame(&status, effect),
                Err(_) => {
                    if connection.heard() == heard {
                        self.discard(&connection);
                    }
                    return Err(connection.unanswered(effect));
                }
            };
            match refusal.why {
                // It was refused before it was done: asking again is not doing it twice.
                Why::LoggedOut if self.cluster.login.is_some() && !std::mem::replace(&mut logged_in, true) => {
                    let again = timeout(within, connection.log_in()).await;
                    again.unwrap_or_else(|_| Err(connection.unanswered(Effect::Reads)))?;
                }
                Why::Endpoint => {
                    self.discard(&connection);
                    return Err(refusal);
                }
                _ => return Err(refusal),
            }
        }
    }

    async fn connected(&self) -> Result<Arc<Connection>, Arc<Error>> {
        let connecting = match &mut *locked(&self.state) {
            State::Connected(connection) => return Ok(connection.clone()),
            State::Connecting(connecting) => connecting.clone(),
            state @ State::Apart => {
                let connecting = connect(self.cluster.clone(), self.state.clone());
                *state = State::Connecting(connecting.clone());
                connecting
            }
        };
        connecting.await
    }

    fn known(&self) -> Option<Arc<Connection>> {
        match &*locked(&self.state) {
            State::Connected(connection) => Some(connection.clone()),
            State::Apart | State::Connecting(_) => None,
        }
    }

    /// Uses this connection no longer; the next call tries the next member.
    fn discard(&self, connection: &Arc<Connection>) {
        let mut state = locked(&self.state);
        if matches!(&*state, State::Connected(current) if Arc::ptr_eq(current, connection)) {
            *state = State::Apart;
            self.cluster.next.fetch_add(1, Ordering::Relaxed);
            drop(state);
            if let Some(hub) = connection.running_hub() {
                hub.end();
            }
        }
    }
}

impl Cluster {
    /// Tries every member once.
    async fn connect(&self) -> Result<Connection, Error> {
        let mut failure = None;
        for _ in 0..self.hosts.len() {
            let host = &self.hosts[self.next.load(Ordering::Relaxed) % self.hosts.len()];
            let opened = timeout(CONNECT_WITHIN, Connection::open(host, self.tls.as_ref(), self.login.as_ref())).await;
            let opened = opened.unwrap_or_else(|_| {
                let message =
                    format!("{host} did not answer in {CONNECT_WITHIN:?}; it may be down, frozen or very busy");
                Err(Error::unavailable(message))
            });
            match opened {
                Ok(connection) => return Ok(connection),
                Err(error) => {
                    tracing::debug!(%error, "a member of etcd does not answer");
                    self.next.fetch_add(1, Ordering::Relaxed);
                    // What somebody has to mend is said before what may pass.
                    let keeps = failure.as_ref().is_some_and(|kept: &Error| !kept.is_transient());
                    failure = if keeps { failure } else { Some(error) };
                }
            }
        }
        Err(failure.unwrap_or_else(|| Error::unavailable("etcd has no endpoint")))
    }
}

/// Connects in a task of its own, and notes how that went.
fn connect(cluster: Arc<Cluster>, state: Arc<Mutex<State>>) -> Connecting {
    let task = tokio::spawn(async move { cluster.connect().await });
    let noted = async move {
        let connected = task.await.unwrap_or_else(|error| {
            Err(Error::unavailable("the runtime that connected with etcd has ended").because(error))
        });
        let connected = connected.map(Arc::new).map_err(Arc::new);
        *locked(&state) = connected.as_ref().map_or(State::Apart, |connection| State::Connected(connection.clone()));
        connected
    };
    noted.boxed().shared()
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
