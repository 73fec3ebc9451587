//! I6: a late renewal or release never touches a newer tenure.
//!
//! Seen from outside: a tenure that was succeeded by another is never in office again.

use std::collections::BTreeSet;

use super::Broken;
use crate::call::{Look, Outcome};
use crate::record::Record;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let (mut past, mut present) = (BTreeSet::new(), None);
    for call in record.looks.iter().filter(|call| !record.may_be_past(call.end.unwrap_or(call.start))) {
        let Outcome::Saw(Look::Held { tenure: Some(tenure), .. }) = &call.outcome else { continue };
        if past.contains(tenure) {
            return Err((call.end.unwrap_or(call.start), format!("tenure {tenure} is in office again after another")));
        }
        if present != Some(*tenure) {
            past.extend(present.replace(*tenure));
        }
    }
    if record.looks.len() < 10 {
        return Err((record.end, "hardly anybody looked at the office".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::invariants::tests::{id, record, strike};
    use crate::subject::Breaks;

    #[test]
    fn a_tenure_that_comes_back_is_found() {
        let looks = |ids: &[u64]| {
            let lines = ids.iter().enumerate().map(|(number, holder)| {
                format!(
                    "call {number} {0} inspect\nanswer {number} {0} saw {1} v{number} 1\n",
                    number * 10,
                    id(*holder)
                )
            });
            lines.collect::<String>()
        };
        assert!(check(&record(&[], &looks(&[1, 1, 1, 2, 2, 2, 3, 3, 3, 3]))).is_ok());
        assert!(check(&record(&[], &looks(&[1, 1, 1, 2, 2, 2, 1, 1, 1, 1]))).is_err());
        let mut split = record(&[], &looks(&[1, 1, 1, 2, 2, 2, 1, 1, 1, 1]));
        split.strikes.push(strike("failover", None, 25, 50, Breaks::Past));
        assert!(check(&split).is_ok(), "two servers answered for a while");
        split.strikes[0] = strike("key deleted", None, 25, 50, Breaks::Record);
        assert!(check(&split).is_err(), "a deletion brings nobody back");
        assert!(check(&record(&[], &looks(&[1, 2]))).is_err(), "two looks prove nothing");
    }
}
