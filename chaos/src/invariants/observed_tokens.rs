//! I10: observers never see a token go back: neither one who reads the store, nor one process through its observation. A store that forgot what it
//! had acknowledged may show an older one to whoever reads it, but an observation never tells.

use tenure::Moment;

use super::Broken;
use crate::call::{Look, Outcome};
use crate::record::Record;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    let read = record.looks.iter().filter_map(|call| match &call.outcome {
        Outcome::Saw(Look::Held { token: Some(token), .. }) => Some((call.end?, *token)),
        _ => None,
    });
    rising("who looks on", read, |at| record.may_forget(at))?;
    for life in &record.lives {
        let shown = life.shown.iter().filter_map(|shown| Some((shown.at, shown.token?)));
        rising(&format!("c{}", life.who), shown, |_| false)?;
    }
    Ok(())
}

fn rising(
    who: &str,
    tokens: impl Iterator<Item = (Moment, u64)>,
    is_excused: impl Fn(Moment) -> bool,
) -> Result<(), Broken> {
    let mut highest = 0;
    for (at, token) in tokens {
        if token < highest && !is_excused(at) {
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
        let mut forgetful = record(&[(0, &shows(5, 6))], &looks(6, 5));
        forgetful.strikes.push(strike("failover", None, 0, 300, Breaks::Acknowledged));
        assert!(check(&forgetful).is_ok());
        forgetful.lives = record(&[(0, &shows(6, 5))], "").lives;
        assert!(check(&forgetful).is_err(), "an observation remembers");
    }
}
