//! I2: tokens rise with every tenure, and none is used twice.
//!
//! Where a record was touched, one may hear of its win after the next has begun, so that the order of beginnings is not that of the wins; no fault
//! excuses a token that comes twice, or one in the hand of somebody who has seen as high a one.

use std::collections::BTreeMap;

use super::Broken;
use crate::call::{Act, Look, Outcome};
use crate::record::{Belief, Life, Record};

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
    let remembered = |life: &Life| life.beliefs.iter().try_for_each(|belief| check_memory(life, belief));
    record.lives.iter().try_for_each(remembered)
}

/// Nobody leads with a token that is not above all that its own bids had shown it, whatever became of the store.
fn check_memory(life: &Life, belief: &Belief) -> Result<(), Broken> {
    let Some(token) = belief.token else { return Ok(()) };
    let own = life.beliefs.iter().filter(|other| other.from < belief.from).filter_map(|other| other.token);
    let bids = life.calls.iter().filter(|call| {
        let another = matches!(&call.act, Act::Stand { tenure, .. } if *tenure != belief.tenure);
        another && call.end.is_some_and(|end| end < belief.from)
    });
    let seen = bids.filter_map(|call| match &call.outcome {
        // A former bid that is answered late may find the new one in office.
        Outcome::Saw(Look::Held { tenure, token, .. }) | Outcome::Queued(Look::Held { tenure, token, .. }) => {
            token.filter(|_| *tenure != Some(belief.tenure))
        }
        _ => None,
    });
    match own.chain(seen).max().filter(|seen| token <= *seen) {
        Some(seen) => Err((belief.from, format!("c{} led with token {token}, and had seen {seen}", belief.who))),
        None => Ok(()),
    }
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
    fn a_token_that_comes_twice_is_not_excused() {
        let mut touched = tokens("5", "5");
        touched.strikes.push(strike("data wiped", None, 900, 950, Breaks::Record));
        assert!(check(&touched).is_err());
        touched.strikes[0].breaks = Breaks::Past;
        assert!(check(&touched).is_err());
    }

    #[test]
    fn who_has_seen_a_token_never_leads_with_a_lower_one() {
        let led = |seen: u64| {
            let bid = format!("call 0 20 stand {} -\nanswer 0 30 queued {} v1 {seen}\n", id(9), id(1));
            let mut run = record(&[(0, &(bid + &format!("begins 1000 {} 5\ncounts-on 1000 1700", id(2))))], "");
            run.strikes.push(strike("data wiped", None, 900, 950, Breaks::Past));
            run
        };
        assert!(check(&led(4)).is_ok());
        assert!(check(&led(5)).is_err(), "the same");
        assert!(check(&led(7)).is_err(), "a higher one");
    }
}
