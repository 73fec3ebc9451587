//! I8: after the last fault somebody leads within a lease, and what the store needs beyond it.

use super::Broken;
use crate::record::Record;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let by = record.peace.after(record.lease).after(record.stretch);
    let leads = record.beliefs().iter().any(|belief| belief.until > record.peace && belief.from < by);
    if leads { Ok(()) } else { Err((by, format!("nobody led by {:?} after the last fault", by.since(record.peace)))) }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::invariants::tests::{id, record};

    #[test]
    fn a_run_without_a_leader_in_the_end_is_found() {
        let leads = |from: u64, until: u64| format!("begins {from} {} 1\ncounts-on {from} {until}", id(1));
        assert!(check(&record(&[(0, &leads(9_000, 9_900))], "")).is_err(), "long before");
        assert!(check(&record(&[(0, &leads(9_900, 10_800))], "")).is_ok(), "through it");
        assert!(check(&record(&[(0, &leads(11_000, 12_000))], "")).is_ok(), "soon after");
        assert!(check(&record(&[(0, &leads(19_000, 19_900))], "")).is_err(), "much too late");
    }
}
