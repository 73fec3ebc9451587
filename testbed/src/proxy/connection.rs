//! One client's connection through the proxy.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::net::TcpStream;
use tokio::sync::watch;

use super::Tally;
use super::faults::{Direction, Faults, State};
use super::flow::Flow;

/// What both directions of a connection know of each other.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Something was swallowed: what comes later makes no sense to the other side.
    pub(super) gap: AtomicBool,
    /// A request went through whose answer is to be dropped.
    pub(super) doomed: AtomicBool,
}

/// The connection is to end by a reset.
#[derive(Debug)]
pub(super) struct Reset;

/// Carries a connection until both sides are done with it, or a fault ends it.
pub(super) async fn connect(
    client: TcpStream,
    server: SocketAddr,
    mut seen: watch::Receiver<Faults>,
    tally: Arc<Tally>,
) {
    // From here on only what is new counts.
    let resets = seen.borrow_and_update().resets;
    let Ok(upstream) = reach(server, &mut seen).await else { return reset(&client) };
    let _ = (client.set_nodelay(true), upstream.set_nodelay(true));
    let shared = Shared::default();
    let flow = |from, to, direction| Flow::new(from, to, direction, resets, &shared, &tally, seen.clone());
    let requests = flow(&client, &upstream, Direction::ToServer);
    let answers = flow(&upstream, &client, Direction::ToClient);
    let ended = tokio::try_join!(requests.run(), answers.run());
    if ended.is_err() {
        reset(&client);
        reset(&upstream);
    }
}

/// Connects to the server; a frozen one may take its time, and a fault may end the attempt.
async fn reach(server: SocketAddr, seen: &mut watch::Receiver<Faults>) -> Result<TcpStream, Reset> {
    let ended = seen.wait_for(|faults| matches!(faults.state, State::Cut | State::Closed));
    tokio::select! {
        stream = TcpStream::connect(server) => stream.map_err(|_| Reset),
        _ = ended => Err(Reset),
    }
}

/// The stream's end is told by a reset when it is dropped.
fn reset(stream: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(std::time::Duration::ZERO));
}
