//! The invariants of the guarantees, as far as they are about safety within one election.

macro_rules! invariants {
    ($($invariant:ident, $name:literal;)*) => {
        /// What must always hold.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Invariant {
            $(#[doc = $name] $invariant,)*
        }

        impl Invariant {
            /// All of them.
            pub const ALL: &[Invariant] = &[$(Invariant::$invariant),*];

            /// Its number in the guarantees, and what it says.
            pub const fn name(self) -> &'static str {
                match self { $(Invariant::$invariant => $name,)* }
            }
        }
    };
}

invariants! {
    OneBelieves, "I1 beliefs, grace included, never overlap";
    TokensRise, "I2 tokens rise, and none is used twice";
    StoreAgrees, "I4 belief ends before the store can give the office away";
    NothingAfterDeadline, "I5 nothing begins or goes on after its deadline";
    LateWritesHarmless, "I6 a late renewal or withdrawal touches no other tenure";
    OneTenureABid, "I7 an unknown outcome never makes two tenures";
    NoFalseAlarm, "no alarm without a reason";
}

/// Invariants that a step has broken. Kept in the state, so that the path that leads there is the counterexample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Broken(u8);

impl Broken {
    pub(super) fn add(&mut self, invariant: Invariant) {
        self.0 |= 1 << invariant as u8;
    }

    /// Whether this one is broken.
    pub fn contains(self, invariant: Invariant) -> bool {
        self.0 & (1 << invariant as u8) != 0
    }
}
