//! What a backend has to say of itself so that it can be put through chaos.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tenure::{Backend, CandidateBuilder};
use testbed::Failure;
use testbed::tools::Missing;

/// A backend with its servers.
pub trait Subject: Send + Sync + 'static {
    /// Its name, also that of the test.
    fn name(&self) -> &'static str;

    /// What is not installed of what it needs.
    fn missing(&self) -> Option<Missing> {
        None
    }

    /// Starts what candidates contend on. Called once, in the process that looks on.
    fn start(&self) -> Result<Box<dyn Servers>, Failure>;

    /// The backend as one candidate has it. Called in each candidate's own process, with what [`Servers::place`] gave.
    fn backend(&self, place: &str) -> Result<Arc<dyn Backend>, tenure::Error>;

    /// The lease of every candidate.
    fn lease(&self) -> Duration {
        Duration::from_millis(1500)
    }

    /// How much longer than a lease it may take until somebody leads after the last fault: what the store needs by itself, and the patience
    /// of a busy machine.
    fn stretch(&self) -> Duration {
        Duration::from_secs(15)
    }

    /// Other settings of a candidate.
    fn settings(&self, candidate: CandidateBuilder) -> CandidateBuilder {
        candidate
    }
}

/// The servers of a run.
pub trait Servers: Send {
    /// Where they listen. Each candidate reaches each of them through a proxy of its own; a store without one has none.
    fn addresses(&self) -> Vec<SocketAddr>;

    /// What a candidate is told, which reaches the servers through these addresses, in the same order.
    fn place(&self, through: &[SocketAddr]) -> String;

    /// Bytes by which a proxy knows requests to stand, renew and withdraw; none where they cannot be told apart.
    fn marks(&self) -> Vec<(Request, Vec<u8>)> {
        Vec::new()
    }

    /// What can go wrong with them.
    fn faults(&self) -> Vec<Fault>;

    /// Makes it go wrong. `random` is the same in every run of a seed.
    fn strike(&mut self, fault: &str, random: u64) -> Result<(), Failure>;

    /// Mends what [`Servers::strike`] broke; called once for each.
    fn heal(&mut self, fault: &str) -> Result<(), Failure>;

    /// Whether what [`Servers::heal`] mended is whole again. Asked again and again until it is: only then is the fault over, and with it what it
    /// excuses.
    fn is_healed(&mut self, fault: &str) -> Result<bool, Failure> {
        let _ = fault;
        Ok(true)
    }
}

/// A request whose answer can be dropped after it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// To win.
    Stand,
    /// To keep.
    Renew,
    /// To give up.
    Withdraw,
}

/// Something that can go wrong with servers.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What it is called, in the past tense: `server killed`.
    pub name: &'static str,
    /// What it may break.
    pub breaks: Breaks,
    /// How long it lasts.
    pub lasts: Range<Duration>,
}

/// What a fault may do to promises. Nothing excuses a lost fenced update, a token that comes twice, or a late write over a newer record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// Nothing.
    Nothing,
    /// The record may go, or be another: two may believe until the belief of the first is over (SAFETY 14).
    Record,
    /// That, and what was acknowledged may be lost, or two servers answer for a while: whoever reads the store itself may see its past. What the
    /// library shows to observers never goes back.
    Past,
}
