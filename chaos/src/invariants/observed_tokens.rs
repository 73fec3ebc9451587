//! I10: observers never see a token go back: neither one who reads the store, nor one process through its observation. Where a fault lets a store
//! answer from its past, the observation alone is held to it.

use super::Broken;
use crate::call::{Look, Outcome};
use crate::record::Record;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let read = record.looks.iter().filter_map(|call| match &call.outcome {
        Outcome::Saw(Look::Held { token: Some(token), .. }) => {
            Some((call.end?, *token)).filter(|(at, _)| !record.may_be_past(*at))
        }
        _ => None,
    });
    rising("who looks on", read)?;
    for life in &record.lives {
        let shown = life.shown.iter().filter_map(|shown| Some((shown.at, shown.token?)));
        rising(&format!("c{}", life.who), shown)?;
    }
    Ok(())
}

fn rising(who: &str, tokens: impl Iterator<Item = (tenure::Moment, u64)>) -> Result<(), Broken> {
    let mut highest = 0;
    for (at, token) in tokens {
        if token < highest {
            return Err((at, format!("{who} saw token {token} after {highest}")));
        }
        highest = token;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::invariants::tests::{id, record, strike};
    use crate::subject::Breaks;

    #[test]
    fn a_token_that_is_seen_to_go_back_is_found() {
        let shows = |first: u64, second: u64| format!("shows 100 {0} {first}\nshows 200 {0} {second}", id(1));
        assert!(check(&record(&[(0, &shows(5, 6))], "")).is_ok());
        assert!(check(&record(&[(0, &shows(6, 5))], "")).is_err());
        let looks = |first: u64, second: u64| {
            format!(
                "call 0 1 inspect\nanswer 0 2 saw {0} v1 {first}\ncall 1 3 inspect\nanswer 1 4 saw {0} v2 {second}",
                id(1)
            )
        };
        assert!(check(&record(&[], &looks(5, 5))).is_ok());
        assert!(check(&record(&[], &looks(6, 5))).is_err());
        let mut failover = record(&[], &looks(6, 5));
        failover.strikes.push(strike("failover", None, 1, 3, Breaks::Past));
        assert!(check(&failover).is_ok(), "the store answered from its past");
        failover.lives = record(&[(0, &shows(6, 5))], "").lives;
        assert!(check(&failover).is_err(), "what the library shows never goes back");
    }
}
