//! I3: a fenced register loses no update, and its twin without a fence must lose some under pauses, or the fault did not bite.

use super::Broken;
use crate::record::Record;

/// So many leaders have to have been overtaken while they were frozen, before the twin must have lost something: each is frozen between its read and
/// its write nearly always.
const ENOUGH: usize = 3;

pub(super) fn check(record: &Record) -> Result<(), Broken> {
    if record.has_tokens && record.fenced.lost() > 0 {
        return Err((record.end, format!("the fenced register lost updates: {}", record.fenced)));
    }
    if record.fenced.written == 0 {
        return Err((record.end, "nobody wrote to the fenced register".to_owned()));
    }
    let overtaken = record.overtaken_freezes();
    if overtaken >= ENOUGH && record.unfenced.lost() == 0 {
        let what =
            format!("{overtaken} leaders were overtaken while frozen, and yet the unfenced register lost nothing");
        return Err((record.end, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::invariants::tests::{id, record, strike};
    use crate::registers::Register;
    use crate::subject::Breaks;

    fn register(written: u64, value: u64) -> Register {
        Register { written, value, ..Register::default() }
    }

    #[test]
    fn a_lost_update_is_found_and_so_is_a_run_that_wrote_nothing() {
        let mut run = record(&[], "");
        assert!(check(&run).is_err(), "nothing was written");
        run.fenced = register(10, 10);
        assert!(check(&run).is_ok());
        run.fenced = register(10, 9);
        assert!(check(&run).is_err());
        run.has_tokens = false;
        assert!(check(&run).is_ok(), "without tokens there is no fence");
    }

    #[test]
    fn pauses_that_cost_the_twin_nothing_did_not_bite() {
        let first = format!("begins 100 {} 1\ncounts-on 100 900", id(1));
        let second = format!("begins 1000 {} 2\ncounts-on 1000 1700", id(2));
        let mut run = record(&[(0, &first), (1, &second)], "");
        run.strikes = vec![strike("frozen past the lease", Some(0), 500, 2000, Breaks::Nothing); 3];
        (run.fenced, run.unfenced) = (register(10, 10), register(10, 10));
        assert!(check(&run).is_err());
        run.unfenced = register(10, 8);
        assert!(check(&run).is_ok());
    }
}
