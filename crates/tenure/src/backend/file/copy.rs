//! The side copy: two slots with the last records that raised a token.

use super::blame::Busy;
use super::folder::{Checked, Folder, Opening, gone};
use super::names::Names;
use super::office::Try;
use super::record::{Content, Record};
use super::{boot, json};
use crate::mutant::{Mutant, planted};
use crate::{Error, Seat};

/// The room for a record in the side copy; none is longer.
const SLOT: usize = 4096;

/// What the side copy of an election says.
///
/// A record that raises the token is written here and on disk before it is written in place, each time in the slot that does not have the
/// highest token: whatever is cut off, and wherever, the other slot or the lease file has the number before it.
#[derive(Debug, Default)]
pub(super) struct Copy {
    slots: [Option<Record>; 2],
}

impl Copy {
    /// Reads the side copy of an election; a slot that is empty or torn says nothing.
    pub(super) fn read(folder: &Folder, seat: &Seat) -> Result<Self, Error> {
        let Some(file) = folder.read(&Names::of(seat).copy())? else {
            return Ok(Copy::default());
        };
        Ok(Copy::parse(&file.content(2 * SLOT)?, seat))
    }

    pub(super) fn parse(bytes: &[u8], seat: &Seat) -> Self {
        let slot = |number: usize| {
            let bytes = bytes.get(number * SLOT..)?;
            match json::read(&bytes[..bytes.len().min(SLOT)], seat, "") {
                Ok(Content::Ours(record)) => Some(record),
                _ => None,
            }
        };
        Copy { slots: [slot(0), slot(1)] }
    }

    /// The highest token that may have been used.
    pub(super) fn token(&self) -> u64 {
        if planted(Mutant::FileTokenNotMirrored) {
            return 0;
        }
        self.records().map(|record| record.token).max().unwrap_or(0)
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.slots.iter().flatten()
    }

    /// What a lease file that cannot be read said last, if that was torn when the machine went down: then no process of that time lives. Neither
    /// this record nor the file was written since.
    pub(super) fn of_an_earlier_boot(&self, torn: &Checked) -> Option<&Record> {
        let last = self.records().max_by_key(|record| record.token)?;
        let now = boot::id();
        let restarted = !now.is_empty() && !last.boot.is_empty() && *last.boot != *now;
        (restarted && torn.is_from_before_boot() || planted(Mutant::FileMendedAnytime)).then_some(last)
    }

    /// Writes a record that raises the token, and waits until it is on disk. It has a lock of its own: whoever makes the first record of an
    /// election and whoever found one that a foreign program made do not share the lease file's.
    pub(super) fn keep(folder: &Folder, seat: &Seat, record: &Record) -> Result<Try<()>, Error> {
        let name = Names::of(seat).copy();
        let file = match folder.locked(&name, true)? {
            Opening::Done(file) => file,
            Opening::Absent => return Err(gone(folder.path())),
            Opening::Busy(busy) => return Ok(Try::Busy(busy)),
        };
        let made = file.length() == 0;
        let copy = Copy::parse(&file.content(2 * SLOT)?, seat);
        if record.token <= copy.token() && !planted(Mutant::FileTokenKept) {
            return Ok(Try::Busy(Busy::Replaced));
        }
        let token = |slot: &Option<Record>| slot.as_ref().map_or(0, |record| record.token);
        let slot = usize::from(token(&copy.slots[0]) >= token(&copy.slots[1]));
        file.put(&json::write(seat, record, SLOT), (slot * SLOT) as u64)?;
        if planted(Mutant::FileTokenNotSynced) {
            return Ok(Try::Done(()));
        }
        file.sync()?;
        if made {
            folder.sync()?;
        }
        Ok(Try::Done(()))
    }
}
