//! What leaders guard: one counter behind a fence, and its twin without.

use tenure::FencingToken;
use tenure::mutant::{Mutant, planted};

use crate::history::Fact;

/// A counter that every leader raises by reading it and writing it back. An update is lost when a write is based on a value that another has changed
/// since.
#[derive(Debug, Default)]
pub struct Resource {
    fence: u64,
    fenced: u64,
    /// Whose the last update of the fenced counter is.
    writer: u64,
    unfenced: u64,
    /// Writes to the fenced counter that undid another's.
    pub lost: u64,
}

impl Resource {
    /// A new leader's first act.
    pub fn raise(&mut self, token: FencingToken) {
        self.fence = self.fence.max(token.get());
    }

    /// Both counters, as a leader reads them (they are read and written together).
    pub fn read(&self) -> u64 {
        self.fenced << 32 | self.unfenced
    }

    /// Writes both counters, one higher than they were read.
    pub fn write(&mut self, token: FencingToken, read: u64) -> Option<Fact> {
        let (fenced, unfenced) = (read >> 32, read & 0xffff_ffff);
        let undone = unfenced != self.unfenced;
        self.unfenced = unfenced + 1;
        if token.get() < self.fence && !planted(Mutant::FenceOpen) {
            return Some(if undone { Fact::UnfencedUpdateLost } else { Fact::LateWriterRefused });
        }
        self.fence = self.fence.max(token.get());
        // Two tenures with one token no fence can tell apart: that is I2's concern.
        if fenced != self.fenced && self.writer != token.get() {
            self.lost += 1;
        }
        self.writer = token.get();
        self.fenced = fenced + 1;
        undone.then_some(Fact::UnfencedUpdateLost)
    }
}
