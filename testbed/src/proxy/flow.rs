//! One direction of a connection.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Tally;
use super::connection::{Reset, Shared};
use super::faults::{Direction, Faults, State};

/// How much may wait to be passed on; then the sender is held up, as by any network.
const PACKETS: usize = 1024;
const PACKET: usize = 16 * 1024;

pub(super) struct Flow<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    direction: Direction,
    resets: u64,
    shared: &'a Shared,
    tally: &'a Tally,
    seen: watch::Receiver<Faults>,
    /// What was read and is to be passed on, each when it is due.
    waiting: VecDeque<(Instant, Vec<u8>)>,
    /// The end of what was passed on last, for requests that came in pieces.
    tail: Vec<u8>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(
        from: &'a TcpStream,
        to: &'a TcpStream,
        direction: Direction,
        resets: u64,
        shared: &'a Shared,
        tally: &'a Tally,
        seen: watch::Receiver<Faults>,
    ) -> Self {
        let (waiting, tail) = Default::default();
        Flow { from, to, direction, resets, shared, tally, seen, waiting, tail }
    }

    /// Until the sender is done and everything was passed on.
    pub(super) async fn run(mut self) -> Result<(), Reset> {
        let mut done = false;
        let mut packet = vec![0; PACKET];
        loop {
            let faults = *self.seen.borrow_and_update();
            self.obey(&faults)?;
            let held_back = faults.state == State::Stalled;
            if done && self.waiting.is_empty() && !faults.swallows(self.direction) && !held_back {
                let _ = rustix::net::shutdown(self.to, rustix::net::Shutdown::Write);
                return Ok(());
            }
            let due = self.waiting.front().map(|(due, _)| *due);
            tokio::select! {
                changed = self.seen.changed() => changed.map_err(|_| Reset)?,
                length = read(self.from, &mut packet), if !done && self.waiting.len() < PACKETS => match length? {
                    0 => done = true,
                    length => self.take(&packet[..length], &faults)?,
                },
                passed = pass(self.to, due, self.waiting.front()), if due.is_some() && !held_back => self.passed(passed?),
            }
        }
    }

    /// Ends what a fault ends.
    fn obey(&self, faults: &Faults) -> Result<(), Reset> {
        let over = matches!(faults.state, State::Cut | State::Closed) || faults.resets > self.resets;
        let mended = faults.state == State::Open && self.shared.gap.load(Relaxed);
        if over || mended { Err(Reset) } else { Ok(()) }
    }

    /// Counts a packet and decides what becomes of it.
    fn take(&mut self, packet: &[u8], faults: &Faults) -> Result<(), Reset> {
        let (bytes, packets) = match self.direction {
            Direction::ToServer => (&self.tally.bytes_to_server, &self.tally.packets_to_server),
            Direction::ToClient => (&self.tally.bytes_to_client, &self.tally.packets_to_client),
        };
        bytes.fetch_add(packet.len() as u64, Relaxed);
        packets.fetch_add(1, Relaxed);
        if self.direction == Direction::ToClient && self.shared.doomed.load(Relaxed) {
            self.tally.dropped_answers.fetch_add(1, Relaxed);
            return Err(Reset);
        }
        if faults.swallows(self.direction) {
            self.shared.gap.store(true, Relaxed);
            return Ok(());
        }
        self.waiting.push_back((Instant::now() + faults.delay, packet.to_vec()));
        Ok(())
    }

    fn passed(&mut self, length: usize) {
        let Some((_, packet)) = self.waiting.front_mut() else { return };
        let rest = packet.split_off(length);
        let sent = std::mem::replace(packet, rest);
        if packet.is_empty() {
            self.waiting.pop_front();
        }
        if self.direction == Direction::ToServer {
            self.look_for_the_doomed(&sent);
        }
    }

    /// Looks for the request whose answer is to be dropped; there is one.
    fn look_for_the_doomed(&mut self, sent: &[u8]) {
        let mut wish = self.tally.drop_answer_to.lock().expect("nobody panics with it");
        let Some(bytes) = wish.as_ref().filter(|bytes| !bytes.is_empty()) else { return self.tail.clear() };
        self.tail.extend_from_slice(sent);
        if self.tail.windows(bytes.len()).any(|window| window == bytes) {
            self.shared.doomed.store(true, Relaxed);
            self.tail.clear();
            *wish = None;
        } else {
            let beyond = self.tail.len().saturating_sub(bytes.len());
            self.tail.drain(..beyond);
        }
    }
}

async fn read(from: &TcpStream, packet: &mut [u8]) -> Result<usize, Reset> {
    loop {
        from.readable().await.map_err(|_| Reset)?;
        match from.try_read(packet) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            length => return length.map_err(|_| Reset),
        }
    }
}

/// Writes what it can of the first packet once that is due.
async fn pass(to: &TcpStream, due: Option<Instant>, first: Option<&(Instant, Vec<u8>)>) -> Result<usize, Reset> {
    let (Some(due), Some((_, packet))) = (due, first) else { return std::future::pending().await };
    sleep_until(due).await;
    loop {
        to.writable().await.map_err(|_| Reset)?;
        match to.try_write(packet) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            length => return length.map_err(|_| Reset),
        }
    }
}
