//! I2: tokens rise with every tenure, and none is used twice.
//!
//! Where a record was touched, one may hear of its win after the next has begun, so that the order of beginnings is not that of the wins. Only where
//! the store's own numbers come again may a token come twice, and even there never in the hand of one who has seen as high a one.

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
        if let Some(other) = used.insert(token, belief.who).filter(|_| !record.may_repeat(belief.from)) {
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
        Outcome::Saw(Look::Held { token, .. }) | Outcome::Queued(Look::Held { token, .. }) => *token,
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
    fn numbers_that_come_again_are_excused_where_nobody_remembers() {
        let led = |who: u64, seen: u64| {
            let bid = format!("call 0 20 stand {} -\nanswer 0 30 queued {} v1 {seen}\n", id(9), id(1));
            bid + &format!("begins 1000 {} 5\ncounts-on 1000 1700", id(who))
        };
        let first = format!("begins 100 {} 7\ncounts-on 100 900", id(1));
        let restored = |seen| {
            let mut run = record(&[(0, &first), (1, &led(2, seen))], "");
            run.strikes.push(strike("restored", None, 900, 950, Breaks::Numbers));
            run
        };
        assert!(check(&restored(4)).is_ok());
        assert!(check(&restored(5)).is_err(), "it had seen that");
        assert!(check(&restored(7)).is_err(), "and that it was higher");
    }
}
