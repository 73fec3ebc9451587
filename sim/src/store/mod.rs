//! Models of stores, one for each family of real ones. A model is a small synchronous state machine: what it is asked it applies at once, by the
//! clock of the server that was asked, and says what it pushes to whom.

mod bucket;
mod claims;
mod file;
mod masters;
mod redis;
mod register;
mod session;

use std::sync::Arc;
use std::time::Duration;

use tenure::Moment;
use tenure::adapter::{Claim, Claimant, Look, RegisterRecord, Writing};
use tenure::backend::{Beat, Bid, Hint, Renewal, SessionId, Sight, Standing, TenureId, Version};

use crate::clock::DriftingClock;
use crate::history::Fact;

pub use bucket::Bucket;
pub use claims::ClaimStore;
pub use file::FileStore;
pub use masters::Masters;
pub use redis::{Drawer, Packet, RedisStore, Said, Script};
pub use register::RegisterStore;
pub use session::SessionStore;

/// What a client asks a server to do.
#[derive(Clone, Debug)]
pub enum Request {
    /// Try to win. Whole calls in one message are for stores in which they are one transaction.
    Stand(Bid, Moment),
    /// Extend the record with this version.
    Renew(Bid, Version),
    /// Remove every trace of the bid's tenure.
    Withdraw(Bid),
    /// See who holds the office.
    Inspect,
    /// Extend a session; when that was sent, on the client's clock.
    Beat(SessionId, Moment),

    /// Run these scripts, one after the other.
    Scripts(Packet),
    /// Run this one, which is known by its digest or sent in full.
    Script(Script, bool),

    /// Read a register.
    Read,
    /// Write it, if it has this version.
    Write(Option<Version>, Box<RegisterRecord>),

    /// Insert a claim, if there is none.
    Insert(Box<Claim<Claimant>>, Duration),
    /// Swap one claim for another.
    Swap(Box<(Claim<Claimant>, Claim<Claimant>)>, Duration),
    /// Delete a claim.
    Delete(Box<Claim<Claimant>>),
    /// Look at the claim.
    Look,
    /// Draw a number.
    Draw,

    /// Take the lock of one master, and read its counter.
    Lock(Lock),
    /// Raise its counter to this token, if the lock is still of this nonce and the counter below it.
    Raise(u64, u64),
    /// Give the lock of this nonce more time.
    Prolong(u64, Duration),
    /// Remove the lock of this nonce.
    Release(u64),
    /// Remove every lock of a tenure.
    Unlock(TenureId),
    /// See whose lock it is.
    Peek,

    /// A foreign program's `SET NX PX` with this value.
    SetIfAbsent(u64, Duration),
    /// Its extension, if the value is still there.
    ExtendIf(u64, Duration),
    /// Its deletion, if the value is still there.
    DeleteIf(u64),
}

/// A lock on one master.
#[derive(Clone, Debug)]
pub struct Lock {
    /// A fresh number of the attempt.
    pub nonce: u64,
    /// The tenure it is for.
    pub tenure: TenureId,
    /// The candidate.
    pub holder: Arc<str>,
    /// How long it lasts.
    pub ttl: Duration,
}

/// What a server answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// To a bid.
    Stood(Standing),
    /// To a renewal.
    Renewed(Renewal),
    /// To a look.
    Seen(Sight),
    /// To a heartbeat.
    Beat(Beat),
    /// To scripts, each.
    Scripts(Vec<Said>),
    /// To a script.
    Said(Said),
    /// To the read of a register.
    Record(Option<Box<(RegisterRecord, Version)>>),
    /// To its write.
    Written(Writing),
    /// To the look at a claim.
    Claim(Look<Box<Claim<Claimant>>>),
    /// To a draw.
    Number(u64),
    /// Whether it was done.
    Done(bool),
    /// The lock was taken; this is the counter.
    Locked(u64),
    /// The lock is another's: its holder, and what is left of it.
    Taken(Option<(Lock, Duration)>),
}

/// Who holds the office, as the store itself knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The holder's tenure; `None` for a foreign program's.
    pub tenure: Option<TenureId>,
    /// Its number, where the store knows it.
    pub token: Option<u64>,
}

/// The present, as every server's clock has it.
#[derive(Clone, Copy, Debug)]
pub struct Present<'a> {
    /// True time.
    pub time: u64,
    /// The servers' clocks.
    pub clocks: &'a [DriftingClock],
}

impl Present<'_> {
    /// What a server's clock shows.
    pub fn at(&self, server: usize) -> Moment {
        self.clocks[server].local(self.time)
    }
}

/// A push: to one client, or to everybody who watches.
pub type Push = (Option<usize>, Hint);

/// A store model.
pub trait Store {
    /// Applies a client's request at a server's present.
    fn apply(&mut self, now: Moment, server: usize, client: usize, request: &Request) -> Reply;

    /// Who holds the office now.
    fn truth(&mut self, present: &Present<'_>) -> Option<Truth>;

    /// What is to be pushed since the last call.
    fn pushes(&mut self) -> Vec<Push>;

    /// When a record or a session expires next, in true time.
    fn next_expiry(&self, present: &Present<'_>) -> u64;

    /// The record is deleted behind everybody's back.
    fn remove(&mut self);

    /// A server starts again, or another replica leads: nothing that was acknowledged is lost, and leases may be counted anew.
    fn restart(&mut self, present: &Present<'_>, server: usize);

    /// All data is gone, counters included.
    fn wipe(&mut self);

    /// A copy to restore later. One that is restored is another incarnation, where the store can tell.
    fn backup(&self) -> Box<dyn Store>;

    /// A client's process died; only a store on the same host can know.
    fn died(&mut self, _: usize) {}

    /// A server makes the first so many steps safe of those that it took since it did so last, and loses the others.
    fn persist(&mut self, _steps: usize) {}

    /// What happened since the last call that must happen in some worlds.
    fn facts(&mut self) -> Vec<Fact> {
        Vec::new()
    }

    /// What was restored is told apart from what it was.
    fn restored(&mut self, _incarnation: u64) {}
}
