//! I5: nothing starts after the deadline, also right after a long stop.
//!
//! A candidate reads the clock, and then asks whether it leads and until when: the deadline that it is told must lie after what it read.

use super::Broken;
use crate::record::Record;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let late = record.lives.iter().flat_map(|life| life.late.iter().map(move |late| (life.who, late)));
    match late.into_iter().next() {
        None => Ok(()),
        Some((who, (at, deadline))) => {
            Err((*at, format!("c{who} was told that it leads {:?} after its deadline", at.since(*deadline))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::invariants::tests::{id, record};

    #[test]
    fn who_leads_after_its_deadline_is_found() {
        let good = format!("begins 100 {} 1\ncounts-on 100 900", id(1));
        assert!(check(&record(&[(0, &good)], "")).is_ok());
        assert!(check(&record(&[(0, &format!("{good}\nlate 950 900"))], "")).is_err());
    }
}
