//! I2: tokens rise with every tenure, and none is used twice.
//!
//! Where a record was touched, one may hear of its win after the next has begun, so that the order of beginnings is not that of the wins; no fault
//! excuses a token that comes twice.

use std::collections::BTreeMap;

use super::Broken;
use crate::record::Record;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let mut used = BTreeMap::new();
    let mut highest = None;
    for belief in record.beliefs() {
        let Some(token) = belief.token else {
            if record.has_tokens {
                return Err((belief.from, format!("c{} led without a token", belief.who)));
            }
            continue;
        };
        if let Some(other) = used.insert(token, belief.who) {
            return Err((belief.from, format!("c{} led with token {token}, which c{other} had before", belief.who)));
        }
        if highest.is_some_and(|highest| token < highest) && !record.is_excused(belief.from) {
            return Err((
                belief.from,
                format!("c{} led with token {token} after {}", belief.who, highest.unwrap_or(0)),
            ));
        }
        highest = highest.max(Some(token));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::invariants::tests::{id, record, strike};
    use crate::record::Record;
    use crate::subject::Breaks;

    fn tokens(first: &str, second: &str) -> Record {
        let first = format!("begins 100 {} {first}\ncounts-on 100 900", id(1));
        let second = format!("begins 1000 {} {second}\ncounts-on 1000 1700", id(2));
        record(&[(0, &first), (1, &second)], "")
    }

    #[test]
    fn tokens_that_go_back_repeat_or_are_missing_are_found() {
        assert!(check(&tokens("5", "6")).is_ok());
        assert!(check(&tokens("6", "5")).is_err());
        assert!(check(&tokens("5", "5")).is_err());
        assert!(check(&tokens("5", "-")).is_err());
    }

    #[test]
    fn no_fault_excuses_a_token_that_comes_twice() {
        let mut touched = tokens("5", "5");
        touched.strikes.push(strike("data wiped", None, 900, 950, Breaks::Record));
        assert!(check(&touched).is_err());
    }
}
