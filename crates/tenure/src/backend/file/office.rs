//! One election's files: what a call does to them, in one go. Everything here blocks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;

use super::blame::Busy;
use super::copy::Copy;
use super::folder::{Checked, Folder, Opening};
use super::json::{self, Flaw};
use super::liveness::{self, Life, Locks};
use super::locality::Locality;
use super::names::Names;
use super::record::{Content, Record, wall_clock};
use super::{Options, Trust};
use crate::backend::{Bid, Cover, Evicted, Expiry, Grant, Renewal, Sight, Standing, Vacancy, Version};
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, Seat};

/// What came of one try.
#[derive(Debug)]
pub(super) enum Try<T> {
    Done(T),
    /// The file cannot be had at this moment, and nothing was done.
    Busy(Busy),
}

/// The files of one election.
#[derive(Debug)]
pub(super) struct Office<'a> {
    pub(super) folder: Folder,
    pub(super) seat: &'a Seat,
    pub(super) names: Names,
    pub(super) locality: Locality,
    pub(super) options: Options,
    pub(super) locks: &'a Locks,
}

/// The lease file under its short lock, and what stands in it.
struct Desk {
    file: Checked,
    found: Content,
}

macro_rules! done {
    ($tried:expr) => {
        match $tried {
            Try::Done(value) => value,
            Try::Busy(busy) => return Ok(Try::Busy(busy)),
        }
    };
}

impl Office<'_> {
    pub(super) fn stand(&self, bid: &Bid) -> Result<Try<Standing>, Error> {
        // Whoever cannot win needs no lock: a candidate that is frozen while it asks must not keep the holder from renewing.
        if let Try::Done(Some(seen)) = self.peek()?
            && !planted(Mutant::FileContenderLocks)
            && !seen.is_of(bid.tenure())
            && !is_open_to(&seen, bid)
        {
            return Ok(Try::Done(Standing::Held(self.sight(&seen))));
        }
        let Some(desk) = done!(self.desk()?) else {
            return self.found(bid);
        };
        if let Content::Ours(record) = &desk.found
            && desk.found.is_of(bid.tenure())
        {
            let extended = record.extended(bid.lease());
            // A record of ours is there, so no error may say that nothing is.
            self.put(&desk.file, &extended).map_err(Error::indeterminate)?;
            return Ok(Try::Done(Standing::Elected(self.grant(bid, &extended, Vacancy::Free))));
        }
        if !is_open_to(&desk.found, bid) {
            return Ok(Try::Done(Standing::Held(self.sight(&desk.found))));
        }
        let copy = Copy::read(&self.folder, self.seat)?;
        let record = self.taking_over(bid, desk.found.token().max(copy.token()))?;
        done!(self.announce(bid, &record)?);
        self.put(&desk.file, &record).map_err(Error::indeterminate)?;
        self.sweep(bid, Some(&desk.found), &copy);
        self.locks.keep_only(self.seat, bid.tenure());
        Ok(Try::Done(Standing::Elected(self.grant(bid, &record, desk.found.vacancy()))))
    }

    /// The first record of an election: it gets its name when it is whole, so that an empty lease file is never ours.
    fn found(&self, bid: &Bid) -> Result<Try<Standing>, Error> {
        let (first, lease) = (self.names.first(), self.names.lease());
        let file = match self.folder.locked(&first, true)? {
            Opening::Done(file) => file,
            Opening::Absent => return Err(super::folder::gone(self.folder.path())),
            Opening::Busy(busy) => return Ok(Try::Busy(busy)),
        };
        let copy = Copy::read(&self.folder, self.seat)?;
        let record = self.taking_over(bid, copy.token())?;
        done!(self.announce(bid, &record)?);
        let named = self.put(&file, &record).and_then(|()| self.folder.name(&first, &lease));
        if !matches!(named, Ok(true)) {
            self.locks.drop(&self.folder, self.seat, bid.tenure());
            self.folder.remove(&first)?;
            // Another was first, and its record is there.
            return named.map(|_| Try::Busy(Busy::Replaced));
        }
        self.sweep(bid, None, &copy);
        Ok(Try::Done(Standing::Elected(self.grant(bid, &record, Vacancy::Free))))
    }

    pub(super) fn renew(&self, bid: &Bid, version: &Version) -> Result<Try<Renewal>, Error> {
        let Some(desk) = done!(self.desk()?) else {
            if planted(Mutant::FileRenewCreates) {
                return Ok(match done!(self.found(bid)?) {
                    Standing::Elected(grant) => Try::Done(Renewal::Extended(grant)),
                    Standing::Held(sight) | Standing::Queued(sight, _) => Try::Done(Renewal::Mismatch(sight)),
                });
            }
            self.locks.drop(&self.folder, self.seat, bid.tenure());
            return Ok(Try::Done(Renewal::Mismatch(Sight::Vacant(Vacancy::Removed))));
        };
        let current = desk.found.version() == *version || planted(Mutant::FileRenewsAnyVersion);
        match desk.found.record().filter(|_| current && desk.found.is_of(bid.tenure())) {
            Some(record) => {
                let extended = record.extended(bid.lease());
                self.put(&desk.file, &extended).map_err(Error::indeterminate)?;
                Ok(Try::Done(Renewal::Extended(self.grant(bid, &extended, Vacancy::Free))))
            }
            None => {
                // An evicted holder's work may still run, and the bar names its lock: that is kept until the work has stopped.
                let named = desk.found.work().is_some_and(|work| work.liveness == bid.tenure());
                if !named || planted(Mutant::FileEvictedLetsGo) {
                    self.locks.drop(&self.folder, self.seat, bid.tenure());
                }
                Ok(Try::Done(Renewal::Mismatch(self.sight(&desk.found))))
            }
        }
    }

    pub(super) fn withdraw(&self, bid: &Bid) -> Result<Try<()>, Error> {
        let tenure = bid.tenure();
        let desk = done!(self.desk()?);
        if let Some(Desk { file, found: Content::Ours(record), .. }) = &desk
            && (record.holder.as_ref().is_some_and(|holder| holder.tenure == tenure)
                || planted(Mutant::FileUnconditionalRelease))
        {
            self.put(file, &record.released_by(tenure)).map_err(Error::indeterminate)?;
        }
        // The lock goes after the record: a lock that is free while the record stands means that the holder died.
        self.locks.drop(&self.folder, self.seat, tenure);
        Ok(Try::Done(()))
    }

    pub(super) fn inspect(&self) -> Result<Try<Sight>, Error> {
        let found = done!(self.peek()?);
        Ok(Try::Done(found.map_or(Sight::Vacant(Vacancy::Free), |content| self.sight(&content))))
    }

    pub(super) fn ask_to_resign(&self) -> Result<Try<bool>, Error> {
        let Some(desk) = done!(self.desk()?) else {
            return Ok(Try::Done(false));
        };
        match &desk.found {
            Content::Ours(record) => {
                let Some(holder) = record.holder.as_ref() else { return Ok(Try::Done(false)) };
                // Every write makes contenders wait anew: one that says nothing new would only keep a dead holder in office.
                if holder.asked_to_resign || record.is_barred() {
                    return Ok(Try::Done(holder.asked_to_resign));
                }
                self.put(&desk.file, &record.asked()).map_err(Error::indeterminate)?;
                Ok(Try::Done(true))
            }
            Content::Foreign(_) if desk.found.is_held() => Err(Error::new(
                ErrorKind::Unsupported,
                "a program other than tenure holds the office, and it cannot be asked; stop it, or evict it",
            )),
            Content::Foreign(_) => Ok(Try::Done(false)),
        }
    }

    pub(super) fn evict(&self) -> Result<Try<Evicted>, Error> {
        let Some(desk) = done!(self.desk()?).filter(|desk| desk.found.is_held()) else {
            return Ok(Try::Done(Evicted::WasVacant));
        };
        let remaining = desk.found.lease();
        match &desk.found {
            Content::Ours(record) if record.is_barred() => {}
            Content::Ours(record) => self.put(&desk.file, &record.barred()).map_err(Error::indeterminate)?,
            Content::Foreign(foreign) => {
                let text = json::write_foreign(&foreign.barred(), desk.file.length());
                desk.file.put(&text, 0).map_err(Error::indeterminate)?;
            }
        }
        Ok(Try::Done(Evicted::Barred { remaining }))
    }

    /// What stands in the lease file. A record of ours is whole or it is not one, so it can be read without a lock; anything else is read again under
    /// one, for it may be half written.
    fn peek(&self) -> Result<Try<Option<Content>>, Error> {
        let name = self.names.lease();
        let Some(file) = self.folder.read(&name)? else {
            return Ok(Try::Done(None));
        };
        if let Ok(content @ Content::Ours(_)) = json::read(&file.content(json::LONGEST + 1)?, self.seat, "") {
            return Ok(Try::Done(Some(content)));
        }
        let file = match self.folder.lock(&name, file, FlockOperation::NonBlockingLockShared)? {
            Opening::Done(file) => file,
            Opening::Absent => return Ok(Try::Done(None)),
            Opening::Busy(busy) => return Ok(Try::Busy(busy)),
        };
        let read = json::read(&file.content(json::LONGEST + 1)?, self.seat, &file.changed()?);
        match read {
            Ok(content) => Ok(Try::Done(Some(content))),
            Err(flaw) => match self.before_it_was_torn(&file)? {
                Some(record) => Ok(Try::Done(Some(Content::Ours(record)))),
                None => Err(self.flawed(&file, &flaw)),
            },
        }
    }

    /// The lease file under its lock; `None` when there is none.
    fn desk(&self) -> Result<Try<Option<Desk>>, Error> {
        let file = match self.folder.locked(&self.names.lease(), false)? {
            Opening::Done(file) => file,
            Opening::Absent => return Ok(Try::Done(None)),
            Opening::Busy(busy) => return Ok(Try::Busy(busy)),
        };
        let read = json::read(&file.content(json::LONGEST + 1)?, self.seat, &file.changed()?);
        let found = match read {
            Ok(content) => content,
            Err(_) if planted(Mutant::FileCorruptIsFree) => {
                let released = Record { holder: None, released_by: None, lease: Duration::from_secs(1), ..blank() };
                Content::Ours(released)
            }
            Err(flaw) => match self.before_it_was_torn(&file)? {
                Some(record) => {
                    self.put(&file, &record)?;
                    tracing::warn!(election = %self.seat, path = %file.path().display(), "a torn lease file was mended");
                    Content::Ours(record)
                }
                None => return Err(self.flawed(&file, &flaw)),
            },
        };
        Ok(Try::Done(Some(Desk { file, found })))
    }

    /// The machine went down in the middle of a write: the side copy is the last that is sure. A foreign program may tear a file at any time, and
    /// live on.
    fn before_it_was_torn(&self, file: &Checked) -> Result<Option<Record>, Error> {
        let copy = Copy::read(&self.folder, self.seat)?;
        Ok(copy.of_an_earlier_boot(file).filter(|_| self.options.peers.is_none()).cloned())
    }

    /// SAFETY 18: the next number is above every number that may have been used, wherever it is still known, and above the clock, which knows it
    /// when nobody else does.
    fn taking_over(&self, bid: &Bid, last: u64) -> Result<Record, Error> {
        if last >= i64::MAX as u64 {
            let message =
                format!("the last token was {last}, and none is higher: move its files away, and set a token base");
            return Err(Error::new(ErrorKind::TokenWentBack, message));
        }
        let clock = if planted(Mutant::FileTokenWithoutClock) { 0 } else { micros(wall_clock()) };
        let token = if planted(Mutant::FileTokenKept) { last.max(1) } else { last.saturating_add(1).max(clock) };
        let declared = bid.work_ends_with_process() || planted(Mutant::FileWorkEndAssumed);
        // Nobody waits longer than the lease, so no more is written: not every duration can be read back.
        let within =
            (declared && self.locality == Locality::Local).then(|| self.options.work.within().min(bid.lease()));
        Ok(Record::taken_by(bid, token, within))
    }

    /// What comes before a new record is written in place: its number on disk, and its liveness lock.
    fn announce(&self, bid: &Bid, record: &Record) -> Result<Try<()>, Error> {
        done!(Copy::keep(&self.folder, self.seat, record)?);
        if record.holder.as_ref().is_some_and(|holder| holder.work.is_some()) {
            self.locks.take(&self.folder, self.seat, bid.tenure())?;
        }
        Ok(Try::Done(()))
    }

    fn put(&self, file: &Checked, record: &Record) -> Result<(), Error> {
        file.put(&json::write(self.seat, record, file.length()), 0)
    }

    /// Removes the liveness files of those who were here before: the last holder, and whoever died between its number and its record.
    fn sweep(&self, bid: &Bid, found: Option<&Content>, copy: &Copy) {
        let works = copy.records().filter_map(|record| record.holder.as_ref()?.work);
        for work in works.chain(found.and_then(Content::work)) {
            if work.liveness != bid.tenure() {
                liveness::sweep(&self.folder, self.seat, work.liveness);
            }
        }
    }

    fn grant(&self, bid: &Bid, record: &Record, over: Vacancy) -> Grant {
        Grant {
            tenure: bid.tenure(),
            version: record.version(),
            // Numbers from a file system whose locks may not hold are no tokens.
            token: (self.locality == Locality::Local).then_some(record.token),
            incarnation: None,
            cover: Cover::Own { ttl: record.lease },
            over,
            asked_to_resign: record.holder.as_ref().is_some_and(|holder| holder.asked_to_resign),
        }
    }

    fn sight(&self, content: &Content) -> Sight {
        let mut sight = content.sight(|content| self.expiry(content));
        if let Sight::Held(held) = &mut sight
            && self.locality != Locality::Local
        {
            held.token = None;
        }
        sight
    }

    /// SAFETY 4: contenders wait the holder's recorded lease, unless the holder is proved dead and said that its work dies with it.
    fn expiry(&self, content: &Content) -> Expiry {
        if let Some(work) = content.work()
            && self.locality == Locality::Local
            && liveness::look(&self.folder, self.seat, work.liveness) == Life::Over
        {
            let after = if planted(Mutant::FileKillTakesNothing) { Duration::ZERO } else { work.within };
            return Expiry::Dead { after: after.min(content.lease()) };
        }
        let lease = content.lease();
        match self.options.trust {
            Trust::Observation if !planted(Mutant::FileWallTimeTrusted) => Expiry::Observe { recorded: lease },
            Trust::Observation | Trust::RecordedWallTime => {
                let age = wall_clock().duration_since(content.renewed()).unwrap_or_default();
                Expiry::Dead { after: lease.saturating_sub(age) }
            }
        }
    }

    fn flawed(&self, file: &Checked, flaw: &Flaw) -> Error {
        let path = file.path().display();
        let remedy = "Restore it; or, if nobody leads, remove it: tokens count on by the side copy and the clock";
        match flaw {
            Flaw::Empty => {
                // A foreign program that makes the file first and writes it then is at it, or was.
                let message = format!("{path} is empty, which is not the same as free. {remedy}");
                Error::new(ErrorKind::Corrupt, message).transient(true)
            }
            Flaw::Corrupt(why) => {
                Error::new(ErrorKind::Corrupt, format!("{path} is not a lease file: {why}. {remedy}"))
            }
            Flaw::OtherFormat(format) => {
                let message = format!(
                    "{path} has format {format}, and this version of tenure knows format {}: update tenure",
                    json::FORMAT
                );
                Error::new(ErrorKind::Corrupt, message)
            }
            Flaw::OtherElection(name) => {
                let message = format!("{path} is the record of the election {name:?}, not of this one. {remedy}");
                Error::new(ErrorKind::Corrupt, message)
            }
        }
    }
}

/// SAFETY 4: nobody holds it, or one exact version may be displaced.
fn is_open_to(found: &Content, bid: &Bid) -> bool {
    let permitted = |version: &Version| *version == found.version() || planted(Mutant::FileDisplacesAnyVersion);
    !found.is_held() || bid.displace().is_some_and(permitted)
}

fn micros(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |span| span.as_micros() as u64)
}

fn blank() -> Record {
    Record {
        holder: None,
        lease: Duration::ZERO,
        renewed: UNIX_EPOCH,
        token: 0,
        version: 0,
        released_by: None,
        boot: super::boot::id(),
    }
}
