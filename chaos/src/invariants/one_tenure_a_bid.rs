//! I7: an unknown outcome never makes two tenures: no tenure begins twice, in whatever process.

use std::collections::BTreeMap;

use super::Broken;
use crate::record::Record;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let mut begun = BTreeMap::new();
    for belief in record.beliefs() {
        if let Some(other) = begun.insert(belief.tenure, belief.who) {
            let what = format!("tenure {} began with c{other} and again with c{}", belief.tenure, belief.who);
            return Err((belief.from, what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::invariants::tests::{id, record};

    #[test]
    fn a_tenure_that_begins_twice_is_found() {
        let begins = |tenure: u64, at: u64| format!("begins {at} {} {at}", id(tenure));
        assert!(check(&record(&[(0, &begins(1, 100)), (0, &begins(2, 200))], "")).is_ok());
        assert!(check(&record(&[(0, &begins(1, 100)), (0, &begins(1, 200))], "")).is_err());
    }
}
