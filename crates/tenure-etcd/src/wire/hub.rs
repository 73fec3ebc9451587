//! All watches of a connection, on one stream.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_core::Stream;
use tenure::mutant::{Mutant, planted};
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};
use tokio::task::AbortHandle;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic::{IntoStreamingRequest, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::call::path;
use super::message::{Empty, Event, WatchCancelRequest, WatchCreateRequest, WatchRequest, WatchResponse, WatchUnion};

/// The watches of a connection. When the stream breaks, every watch on it ends.
#[derive(Clone)]
pub(crate) struct Hub {
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    requests: UnboundedSender<WatchRequest>,
    table: Mutex<Table>,
    heard: AtomicU64,
}

#[derive(Default)]
struct Table {
    watches: HashMap<i64, Sender<Report>>,
    /// Those that were asked for and not confirmed, in the order in which the server answers them.
    creating: VecDeque<i64>,
    last_id: i64,
    /// The latest revision from which on something is watched; before the store comes to it, it says nothing of progress.
    latest_start: i64,
    /// The latest revision up to which everything that is watched was told.
    reached: i64,
    /// What the stream was asked to reach.
    demanded: Option<(i64, Instant)>,
    over: bool,
}

/// What a watch is told.
#[derive(Debug)]
pub(crate) enum Report {
    /// It stands; nothing from its first revision on is missed.
    Created,
    Events(Vec<Event>),
    /// What it was to begin with is no longer there to be told: look, and watch from then on.
    Compacted,
    /// The server ended it.
    Refused(String),
}

/// One watch; dropping it ends it.
pub(crate) struct Subscription {
    id: i64,
    shared: Arc<Shared>,
    reports: Receiver<Report>,
}

impl Hub {
    /// So many reports may wait for whoever watches; then the watch ends.
    const PATIENCE: usize = 64;

    /// A stream that says nothing for so long when it is asked is given up.
    const SILENCE: Duration = Duration::from_secs(2);

    /// Opens the stream, in the background; `request` adds what every request carries.
    pub(super) fn start(grpc: Grpc<Channel>, request: impl FnOnce(Requests) -> Request<Requests>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared { requests: sender, table: Mutex::default(), heard: AtomicU64::new(0) });
        let guard = EndsAll(shared.clone());
        let request = request(Requests(receiver));
        let task = tokio::spawn(async move {
            if let Err(status) = guard.0.run(grpc, request).await {
                tracing::debug!(reason = status.message(), "the stream of watches ended");
            }
        });
        Hub { shared, task: task.abort_handle() }
    }

    /// Watches a key, or a range of them, from this revision on; `None` when the stream has ended.
    pub(crate) fn watch(&self, key: Vec<u8>, range_end: Vec<u8>, start_revision: i64) -> Option<Subscription> {
        let (sender, reports) = mpsc::channel(Self::PATIENCE);
        let mut table = self.shared.table();
        if table.over {
            return None;
        }
        table.last_id += 1;
        let id = table.last_id;
        table.watches.insert(id, sender);
        table.creating.push_back(id);
        table.latest_start = table.latest_start.max(start_revision);
        // Under the lock, so that requests go out in the order in which they are noted.
        self.shared.send(WatchUnion::Create(WatchCreateRequest { key, range_end, start_revision, watch_id: id }));
        drop(table);
        Some(Subscription { id, shared: self.shared.clone(), reports })
    }

    /// The store has come to this revision. A stream that has not is asked how far it is, and given up if it stays silent.
    pub(super) fn must_have_reached(&self, revision: i64) {
        let mut table = self.shared.table();
        let reached = table.reached;
        match table.demanded {
            _ if table.watches.is_empty() || reached >= revision => table.demanded = None,
            _ if revision < table.latest_start => table.demanded = None,
            Some((demanded, since)) if reached < demanded => {
                if since.elapsed() >= Self::SILENCE && !planted(Mutant::EtcdSilentWatchKept) {
                    drop(table);
                    tracing::warn!("watches of etcd are silent although the store moves on; they are set up anew");
                    self.end();
                }
            }
            _ => {
                table.demanded = Some((revision, Instant::now()));
                self.shared.send(WatchUnion::Progress(Empty {}));
            }
        }
    }

    pub(super) fn heard(&self) -> u64 {
        self.shared.heard.load(Ordering::Relaxed)
    }

    pub(super) fn is_over(&self) -> bool {
        self.shared.table().over
    }

    /// Ends the stream, and every watch on it with a word.
    pub(crate) fn end(&self) {
        self.shared.end();
        self.task.abort();
    }
}

impl Shared {
    async fn run(&self, mut grpc: Grpc<Channel>, request: Request<Requests>) -> Result<(), Status> {
        grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
        let path = http::uri::PathAndQuery::from_static(path::WATCH);
        let codec = ProstCodec::<WatchRequest, WatchResponse>::default();
        let mut answers: Streaming<WatchResponse> =
            grpc.streaming(request.into_streaming_request(), path, codec).await?.into_inner();
        while let Some(answer) = answers.message().await? {
            self.heard.fetch_add(1, Ordering::Relaxed);
            self.table().take(answer);
        }
        Ok(())
    }

    fn send(&self, union: WatchUnion) {
        // The stream has ended if nobody takes it; whoever watches hears of that.
        let _ = self.requests.send(WatchRequest { union: Some(union) });
    }

    fn end(&self) {
        let mut table = self.table();
        table.over = true;
        table.watches.clear();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn take(&mut self, answer: WatchResponse) {
        let id = match answer.created.then(|| self.creating.pop_front()).flatten() {
            // One that is refused at once comes back without its number; they are answered in the order in which they were asked for.
            Some(first) => first,
            None => answer.watch_id,
        };
        let revision = answer.header.map_or(0, |header| header.revision);
        if id < 0 {
            // The answer to a question for progress: everybody was told everything up to here.
            self.reached = self.reached.max(revision);
            return;
        }
        if answer.canceled {
            let report = match answer.compact_revision {
                0 => Report::Refused(answer.cancel_reason),
                _ => Report::Compacted,
            };
            self.tell(id, report);
            self.watches.remove(&id);
        } else if answer.created {
            self.tell(id, Report::Created);
        } else if !answer.events.is_empty() {
            self.tell(id, Report::Events(answer.events));
        }
    }

    /// A watch whose reports nobody reads ends.
    fn tell(&mut self, id: i64, report: Report) {
        if self.watches.get(&id).is_some_and(|watch| watch.try_send(report).is_err()) {
            self.watches.remove(&id);
        }
    }
}

impl Subscription {
    /// What it is told next; `None` when it has ended without a word.
    pub(crate) async fn next(&mut self) -> Option<Report> {
        self.reports.recv().await
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut table = self.shared.table();
        if table.watches.remove(&self.id).is_some() && !table.over {
            self.shared.send(WatchUnion::Cancel(WatchCancelRequest { watch_id: self.id }));
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.id).finish()
    }
}

/// However the task of a stream ends, everybody who watches on it hears that.
struct EndsAll(Arc<Shared>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What goes out on the stream.
pub(super) struct Requests(UnboundedReceiver<WatchRequest>);

impl Stream for Requests {
    type Item = WatchRequest;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<WatchRequest>> {
        self.0.poll_recv(context)
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::ResponseHeader;
    use super::*;

    fn hub() -> (Hub, UnboundedReceiver<WatchRequest>) {
        let (requests, sent) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared { requests, table: Mutex::default(), heard: AtomicU64::new(0) });
        (Hub { shared, task: tokio::spawn(std::future::pending::<()>()).abort_handle() }, sent)
    }

    fn answer(watch_id: i64, revision: i64, created: bool) -> WatchResponse {
        let header = Some(ResponseHeader { revision, ..ResponseHeader::default() });
        WatchResponse { header, watch_id, created, ..WatchResponse::default() }
    }

    #[tokio::test]
    async fn a_stream_that_stays_silent_while_the_store_moves_on_is_given_up() {
        let (hub, mut sent) = hub();
        let mut watch = hub.watch(b"office/1f".into(), Vec::new(), 5).expect("it stands");
        hub.shared.table().take(answer(1, 4, true));
        assert!(matches!(watch.next().await, Some(Report::Created)));
        assert!(matches!(sent.recv().await, Some(WatchRequest { union: Some(WatchUnion::Create(_)) })));
        hub.must_have_reached(4);
        assert!(sent.is_empty(), "it begins after that");
        hub.must_have_reached(7);
        assert!(matches!(sent.recv().await, Some(WatchRequest { union: Some(WatchUnion::Progress(_)) })));
        let long_ago = |hub: &Hub| {
            let since = Instant::now().checked_sub(Hub::SILENCE).expect("the host runs longer than that");
            hub.shared.table().demanded.as_mut().expect("it was asked").1 = since;
        };
        long_ago(&hub);
        hub.shared.table().take(answer(-1, 7, false));
        hub.must_have_reached(7);
        assert!(!hub.is_over(), "it has told everything");
        hub.must_have_reached(9);
        long_ago(&hub);
        hub.must_have_reached(9);
        assert!(hub.is_over() && watch.next().await.is_none(), "whoever watches hears that it is over");
    }
}
