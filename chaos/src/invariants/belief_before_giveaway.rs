//! I4: belief ends before the store can give the office away.
//!
//! Stronger than I1: the store's answer to the next winner counts, also when that never began to lead.

use super::Broken;
use crate::call::{Act, Outcome};
use crate::record::Record;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let beliefs = record.beliefs();
    for call in record.lives.iter().flat_map(|life| &life.calls) {
        let (Act::Stand { tenure, .. }, Outcome::Granted(_), Some(end)) = (&call.act, &call.outcome, call.end) else {
            continue;
        };
        // Given away by the time of the answer; a belief that began after the bid was made may be the next one.
        let overlaps = |belief: &&crate::record::Belief| {
            belief.tenure != *tenure && belief.from < call.start && end < belief.until && !record.is_excused(end)
        };
        if let Some(belief) = beliefs.iter().find(overlaps) {
            let left = belief.until.since(end);
            let what =
                format!("the store gave the office away while c{} counted on it for another {left:?}", belief.who);
            return Err((end, what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::invariants::tests::{id, record, strike};
    use crate::subject::Breaks;

    #[test]
    fn a_win_beside_a_belief_is_found_also_when_it_never_led() {
        let first = format!("begins 100 {} 1\ncounts-on 100 900", id(1));
        let early = format!("call 0 700 stand {} -\nanswer 0 800 granted v2 2 1000", id(2));
        let mut run = record(&[(0, &first), (1, &early)], "");
        assert!(check(&run).is_err());
        run.strikes.push(strike("key deleted", None, 600, 610, Breaks::Record));
        assert!(check(&run).is_ok());
        let late = early.replace("700", "900").replace("800", "950");
        assert!(check(&record(&[(0, &first), (1, &late)], "")).is_ok());
    }
}
