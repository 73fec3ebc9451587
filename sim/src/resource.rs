//! What leaders guard: one counter behind a fence, and its twin without.

use tenure::{Fence, FencingToken};

use crate::history::Fact;

/// A counter that every leader raises by reading it and writing it back. An update is lost when a write is based on a value that another has changed
/// since. The fence is the library's own.
pub struct Resource {
    fence: Fence,
    fenced: u64,
    /// Whose the last update of the fenced counter is.
    writer: u64,
    unfenced: u64,
    /// Writes to the fenced counter that undid another's.
    pub lost: u64,
}

impl Default for Resource {
    fn default() -> Self {
        Resource { fence: Fence::in_memory(), fenced: 0, writer: 0, unfenced: 0, lost: 0 }
    }
}

impl Resource {
    /// A new leader's first act.
    pub fn raise(&mut self, token: FencingToken) {
        // One that heard of its win after the next had begun is refused here as everywhere.
        let _ = self.fence.raise(token);
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
        if self.fence.admit(token, || ()).is_err() {
            return Some(if undone { Fact::UnfencedUpdateLost } else { Fact::LateWriterRefused });
        }
        // Two tenures with one token no fence can tell apart: that is I2's concern.
        if fenced != self.fenced && self.writer != token.get() {
            self.lost += 1;
        }
        self.writer = token.get();
        self.fenced = fenced + 1;
        undone.then_some(Fact::UnfencedUpdateLost)
    }
}
