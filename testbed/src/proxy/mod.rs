//! A TCP proxy that breaks connections on demand.

mod connection;
mod faults;
mod flow;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

use self::connection::connect;
use self::faults::{Faults, State};
use crate::failure::While;
use crate::{Failure, Port};

/// What went through a proxy. A packet is what one read gave: small messages that were sent one by one are counted one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were accepted.
    pub connections: u64,
    /// Bytes that clients sent.
    pub bytes_to_server: u64,
    /// Packets that clients sent.
    pub packets_to_server: u64,
    /// Bytes that the server sent.
    pub bytes_to_client: u64,
    /// Packets that the server sent.
    pub packets_to_client: u64,
    /// Answers that were dropped because of [`Proxy::drop_answer_to`].
    pub dropped_answers: u64,
}

/// Stands between clients and a server, on a thread of its own; whole and without delay at first.
#[derive(Debug)]
pub struct Proxy {
    port: Port,
    faults: watch::Sender<Faults>,
    tally: Arc<Tally>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// One that leads to this server, which need not be there yet.
    pub fn to(server: SocketAddr) -> Result<Self, Failure> {
        let (port, listener) = bound()?;
        let (faults, seen) = watch::channel(Faults::default());
        let tally = Arc::new(Tally::default());
        // Bound without a runtime, and what serves is made on its thread, so that whoever is in one can have a proxy too.
        listener.set_nonblocking(true).when(port.address())?;
        let (address, counted) = (port.address(), Arc::clone(&tally));
        let serve = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be had");
            runtime.block_on(async {
                if let Ok(listener) = TcpListener::from_std(listener) {
                    serve(listener, address, server, seen, counted).await;
                }
            });
        };
        let thread = std::thread::Builder::new().name("testbed-proxy".into()).spawn(serve).when("the proxy")?;
        Ok(Proxy { port, faults, tally, thread: Some(thread) })
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Everything, both ways, takes so much longer.
    pub fn delay(&self, by: Duration) {
        self.faults.send_modify(|faults| faults.delay = by);
    }

    /// Resets every connection and refuses new ones.
    pub fn cut(&self) {
        self.turn(State::Cut);
    }

    /// Resets every connection; new ones are welcome.
    pub fn reset(&self) {
        self.faults.send_modify(|faults| faults.resets += 1);
    }

    /// Swallows whatever is sent, both ways; connections stay open, and new ones are accepted.
    pub fn half_open(&self) {
        self.turn(State::HalfOpen);
    }

    /// Lets requests through and swallows the answers.
    pub fn mute(&self) {
        self.turn(State::Mute);
    }

    /// Holds everything back, both ways; it arrives when the proxy is healed, as after a partition.
    pub fn stall(&self) {
        self.turn(State::Stalled);
    }

    /// Lets the next request that contains these bytes through, swallows what the server says next on that connection, and resets it.
    pub fn drop_answer_to(&self, bytes: impl Into<Vec<u8>>) {
        *self.tally.drop_answer_to.lock().expect("nobody panics with it") = Some(bytes.into());
    }

    /// Whole again, and without delay. A connection that something was swallowed from is reset: it would never make sense again.
    pub fn heal(&self) {
        *self.tally.drop_answer_to.lock().expect("nobody panics with it") = None;
        self.faults.send_modify(|faults| *faults = Faults { resets: faults.resets, ..Faults::default() });
    }

    /// What went through so far.
    pub fn counts(&self) -> Counts {
        self.tally.counts()
    }

    fn turn(&self, state: State) {
        self.faults.send_modify(|faults| faults.state = state);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.turn(State::Closed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A port that somebody who does not know the testbed took in the meantime is left to them.
fn bound() -> Result<(Port, std::net::TcpListener), Failure> {
    let mut tries = 5;
    loop {
        let port = Port::free()?;
        match std::net::TcpListener::bind(port.address()) {
            Ok(listener) => return Ok((port, listener)),
            Err(_) if tries > 0 => tries -= 1,
            Err(error) => return Err(error).when(port.address()),
        }
    }
}

/// Accepts until the proxy is dropped. While it is cut nobody listens, so that clients are refused.
async fn serve(
    listener: TcpListener,
    address: SocketAddr,
    server: SocketAddr,
    mut seen: watch::Receiver<Faults>,
    tally: Arc<Tally>,
) {
    let mut listener = Some(listener);
    loop {
        match seen.borrow_and_update().state {
            State::Closed => return,
            State::Cut => listener = None,
            // The port is kept for us; what is left of old connections may be in the way for a moment.
            _ if listener.is_none() => {
                listener = TcpListener::bind(address).await.ok();
                if listener.is_none() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    continue;
                }
            }
            _ => {}
        }
        let accepted = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            client = accepted => {
                if let Ok((client, _)) = client {
                    tally.connections.fetch_add(1, Relaxed);
                    tokio::spawn(connect(client, server, seen.clone(), Arc::clone(&tally)));
                }
            }
            changed = seen.changed() => if changed.is_err() { return },
        }
    }
}

/// What all connections share: the counts while they are being counted, and whose answer is to be dropped.
#[derive(Debug, Default)]
struct Tally {
    drop_answer_to: Mutex<Option<Vec<u8>>>,
    connections: AtomicU64,
    bytes_to_server: AtomicU64,
    packets_to_server: AtomicU64,
    bytes_to_client: AtomicU64,
    packets_to_client: AtomicU64,
    dropped_answers: AtomicU64,
}

impl Tally {
    fn counts(&self) -> Counts {
        Counts {
            connections: self.connections.load(Relaxed),
            bytes_to_server: self.bytes_to_server.load(Relaxed),
            packets_to_server: self.packets_to_server.load(Relaxed),
            bytes_to_client: self.bytes_to_client.load(Relaxed),
            packets_to_client: self.packets_to_client.load(Relaxed),
            dropped_answers: self.dropped_answers.load(Relaxed),
        }
    }
}
