//! Which planted mutants simulation must kill, and where each shows soonest.

use crate::Family;

/// The family and the faults in which a mutant is to be looked for; `None` for one that only tests can kill.
pub fn of(mutant: &str) -> Option<(Family, &'static str)> {
    KILLERS.iter().find(|(name, ..)| *name == mutant).map(|(_, family, faults)| (*family, *faults))
}

/// Every mutant that breaks an invariant in some world. The others break no promise of safety, or one that no store model shows.
pub const KILLERS: &[(&str, Family, &str)] = &[];
