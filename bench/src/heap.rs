//! Counts what is allocated and not freed, by size, so that growth of resident memory can be explained.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Blocks up to so many bytes are told apart by size.
const LARGEST: usize = 2048;
/// Sizes are told apart in steps of this, as most allocators do.
const STEP: usize = 16;

#[global_allocator]
static HEAP: Heap = Heap {
    counting: AtomicBool::new(true),
    bytes: AtomicI64::new(0),
    blocks: [const { AtomicI64::new(0) }; LARGEST / STEP + 1],
};

struct Heap {
    counting: AtomicBool,
    bytes: AtomicI64,
    /// By size, the last for all that are larger.
    blocks: [AtomicI64; LARGEST / STEP + 1],
}

impl Heap {
    fn count(&self, size: usize, sign: i64) {
        if self.counting.load(Ordering::Relaxed) {
            self.bytes.fetch_add(sign * size as i64, Ordering::Relaxed);
            self.blocks[(size.max(1) - 1).min(LARGEST) / STEP].fetch_add(sign, Ordering::Relaxed);
        }
    }
}

// SAFETY: every call is passed on as it came; what is counted beside it does not touch the memory.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size(), 1);
        // SAFETY: the caller's obligations are ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.count(layout.size(), -1);
        // SAFETY: the caller's obligations are ours.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count(layout.size(), -1);
        self.count(size, 1);
        // SAFETY: the caller's obligations are ours.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// What is allocated at one instant.
pub(crate) struct Snapshot {
    bytes: i64,
    blocks: Vec<i64>,
}

impl Snapshot {
    /// What is allocated now.
    pub(crate) fn take() -> Self {
        Snapshot {
            bytes: HEAP.bytes.load(Ordering::Relaxed),
            blocks: HEAP.blocks.iter().map(|blocks| blocks.load(Ordering::Relaxed)).collect(),
        }
    }

    /// How many bytes more are allocated than there were `before`.
    pub(crate) fn bytes_since(&self, before: &Snapshot) -> i64 {
        self.bytes - before.bytes
    }

    /// Block sizes of which there are at least `least` more than there were `before`: the size, and how many more.
    pub(crate) fn blocks_since(&self, before: &Snapshot, least: i64) -> Vec<(usize, i64)> {
        let more = self.blocks.iter().zip(&before.blocks).map(|(now, then)| now - then);
        more.enumerate().map(|(step, more)| ((step + 1) * STEP, more)).filter(|(_, more)| *more >= least).collect()
    }
}

/// Counts nothing any more: from now on the allocator costs what it costs.
pub(crate) fn stop_counting() {
    HEAP.counting.store(false, Ordering::Relaxed);
}
