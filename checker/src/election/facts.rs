//! What must happen somewhere in a model, or its invariants hold because nothing does.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! facts {
    ($($fact:ident, $text:literal;)*) => {
        /// Something that happens on the way.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fact {
            $(#[doc = concat!("Says that ", $text, ".")] $fact,)*
        }

        impl Fact {
            /// How many there are.
            const COUNT: usize = [$(Fact::$fact),*].len();

            /// In words.
            pub const fn text(self) -> &'static str {
                match self { $(Fact::$fact => $text,)* }
            }
        }
    };
}

facts! {
    LeaderChanged, "another became leader";
    ThreeTenures, "three tenures began";
    RenewalCommittedUnheard, "a renewal landed, and its holder gave it up";
    WinCommittedUnheard, "a bid won, and its candidate gave it up or died";
    LateWinWithdrawn, "a win that nobody waited for was withdrawn";
    GhostLanded, "a bid that was given up won later";
    PauseOutlivedLease, "a process woke after its lease";
    Restarted, "a leader died and started again";
    Withdrawn, "a record was withdrawn";
    Expired, "a tenure ended at its deadline";
    StoreExpired, "the store expired a record";
    SilentHolderDisplaced, "a silent holder was displaced";
    LateWriteRefused, "a late renewal or withdrawal met another's record";
    Doubled, "a message came twice";
    AnsweredLate, "an answer came a tick after its question, and counted";
    OwnWriteRecognised, "a holder met a renewal of its own that it had not heard of";
    TurnCame, "one who waited in the queue came to its turn";
    SessionLost, "a session ended and took its office along";
}

/// How many steps of an exploration did each.
#[derive(Debug)]
pub struct Facts([AtomicU64; Fact::COUNT]);

impl Default for Facts {
    fn default() -> Self {
        Facts(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Facts {
    pub(super) fn note_all(&self, met: Met) {
        for (number, count) in self.0.iter().enumerate() {
            if met.0 & (1 << number) != 0 {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// In how many steps it happened.
    pub fn count(&self, fact: Fact) -> u64 {
        self.0[fact as usize].load(Ordering::Relaxed)
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met(u32);

impl Met {
    pub(super) fn note(&mut self, fact: Fact) {
        self.0 |= 1 << fact as u32;
    }
}
