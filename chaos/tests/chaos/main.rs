//! The harness on a small store of its own, and backends that were made wrong on purpose: each has to be caught.
//!
//! The store is this program again, in another role: one record that expires, over TCP, a line a call.

mod client;
mod file;
mod plants;
mod store;

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use chaos::{Breaks, Chaos, Fault, Request, Servers, Subject};
use tenure::{Backend, CandidateBuilder};
use testbed::{Failure, Place, Program, Server};

use crate::client::Shelf;
use crate::plants::{Plant, SlowClock};

fn main() {
    if std::env::var(store::ROLE).is_ok() {
        return store::serve();
    }
    Chaos::new()
        .subject(&Store { name: "store", plant: None })
        .subject(&file::File)
        .planted(&Store { name: "blind-renewal", plant: Some(Plant::BlindRenewal) }, &["I6", "I11"])
        .planted(&Store { name: "blind-withdrawal", plant: Some(Plant::BlindWithdrawal) }, &["I1", "I4", "I11"])
        .planted(&Store { name: "token-that-repeats", plant: Some(Plant::TokenRepeats) }, &["I2"])
        .planted(&Store { name: "win-without-a-write", plant: Some(Plant::WinWithoutAWrite) }, &["I1", "I11"])
        .planted(&Store { name: "stale-reads", plant: Some(Plant::StaleReads) }, &["I11"])
        .planted(&Store { name: "grant-too-long", plant: Some(Plant::GrantTooLong) }, &["I1", "I4"])
        .planted(&Store { name: "holder-that-ignores-its-deadline", plant: Some(Plant::SlowClock) }, &["I5"])
        .main()
}

/// The store, with a backend that is right, or wrong in one way.
struct Store {
    name: &'static str,
    plant: Option<Plant>,
}

impl Subject for Store {
    fn name(&self) -> &'static str {
        self.name
    }

    fn start(&self) -> Result<Box<dyn Servers>, Failure> {
        Ok(Box::new(Running(Server::start(StoreProgram)?)))
    }

    fn backend(&self, place: &str) -> Result<Arc<dyn Backend>, tenure::Error> {
        let address = place.parse().expect("the place is an address");
        Ok(Arc::new(Shelf::new(address, self.plant)))
    }

    fn settings(&self, candidate: CandidateBuilder) -> CandidateBuilder {
        match self.plant {
            Some(Plant::SlowClock) => candidate.clock(SlowClock::default()),
            _ => candidate,
        }
    }
}

struct StoreProgram;

impl Program for StoreProgram {
    fn name(&self) -> &str {
        "store"
    }

    fn command(&self, place: &Place) -> Result<Command, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(store::ROLE, place.port(0).to_string()).arg(place.data().join("record"));
        Ok(command)
    }

    fn is_ready(&self, place: &Place) -> bool {
        place.log().contains("listening")
    }
}

struct Running(Server);

const FROZEN: &str = "server frozen";
const KILLED: &str = "server killed and restarted";
const WIPED: &str = "server killed and its data lost";
const DELETED: &str = "key deleted";

impl Servers for Running {
    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.0.address()]
    }

    fn place(&self, through: &[SocketAddr]) -> String {
        through[0].to_string()
    }

    fn marks(&self) -> Vec<(Request, Vec<u8>)> {
        vec![
            (Request::Stand, b"stand".to_vec()),
            (Request::Renew, b"renew".to_vec()),
            (Request::Withdraw, b"withdraw".to_vec()),
        ]
    }

    fn faults(&self) -> Vec<Fault> {
        let fault = |name, breaks, from, to| Fault {
            name,
            breaks,
            lasts: Duration::from_millis(from)..Duration::from_millis(to),
        };
        vec![
            fault(FROZEN, Breaks::Nothing, 300, 3000),
            fault(KILLED, Breaks::Nothing, 50, 1500),
            fault(WIPED, Breaks::Record, 50, 1500),
            fault(DELETED, Breaks::Record, 1, 10),
        ]
    }

    fn strike(&mut self, fault: &str, _: u64) -> Result<(), Failure> {
        match fault {
            FROZEN => self.0.freeze()?,
            DELETED => store::delete(self.0.address())?,
            WIPED => {
                self.0.kill();
                self.0.wipe()?;
            }
            _ => self.0.kill(),
        }
        Ok(())
    }

    fn heal(&mut self, fault: &str) -> Result<(), Failure> {
        match fault {
            FROZEN => self.0.thaw(),
            DELETED => Ok(()),
            _ => self.0.restart(),
        }
    }
}
