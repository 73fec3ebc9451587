//! I1: beliefs of two candidates, the grace included, never overlap.

use super::Broken;
use crate::record::Record;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let beliefs = record.beliefs();
    for (index, one) in beliefs.iter().enumerate() {
        let later = beliefs[index + 1..].iter().take_while(|other| other.from < one.until);
        let mut overlapping = later.filter(|other| !record.is_excused(other.from));
        if let Some(other) = overlapping.next() {
            let left = one.until.since(other.from);
            let what =
                format!("c{} began to lead while c{} counted on its office for another {left:?}", other.who, one.who);
            return Err((other.from, what));
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
    fn two_who_believe_at_once_are_found_unless_the_record_was_touched() {
        let first = format!("begins 100 {} 1\ncounts-on 100 900", id(1));
        let second = format!("begins 800 {} 2\ncounts-on 800 1700", id(2));
        let mut both = record(&[(0, &first), (1, &second)], "");
        let (at, what) = check(&both).expect_err("they overlap");
        assert_eq!(at.as_nanos(), 800);
        assert!(what.contains("c1 began to lead while c0"), "{what}");
        both.strikes.push(strike("key deleted", None, 300, 310, Breaks::Record));
        assert!(check(&both).is_ok(), "two may believe until the belief of the first is over");
        assert_eq!(both.excused_share(), 10, "for a lease and what the fault lasted, of 10,000");
        both.strikes[0] = strike("server killed", None, 300, 310, Breaks::Nothing);
        assert!(check(&both).is_err(), "not every fault excuses it");
    }

    #[test]
    fn a_belief_ends_with_its_process_or_when_it_is_given_up() {
        let first = format!("begins 100 {} 1\ncounts-on 100 900\nends 500 true", id(1));
        let second = format!("begins 600 {} 2\ncounts-on 600 1700", id(2));
        assert!(check(&record(&[(0, &first), (1, &second)], "")).is_ok());
        let lost = first.replace("true", "false");
        let mut both = record(&[(0, &lost), (1, &second)], "");
        assert!(check(&both).is_err(), "who lost the office has the grace to stop");
        both.lives[0].killed = Some(tenure::Moment::from_nanos(550));
        assert!(check(&both).is_ok());
    }
}
