//! `cargo xtask mutants`: break one rule at a time, and demand that a test notices.
//!
//! The library carries its planted mutants under `--cfg tenure_mutants`; one is chosen at run time
//! by `TENURE_MUTANT`. So all of them share one build, and a run costs seconds.

mod binary;
mod plan;
mod table;
mod trial;
mod verdict;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use binary::Binary;
pub(crate) use binary::with_mutants;
use plan::Mutant;
use trial::{Ending, Trial};
use verdict::Verdict;

use crate::failure::Failure;
use crate::parallel::in_parallel;
use crate::step::{seconds, step};

/// How many test programs run at a time.
const AT_A_TIME: usize = 2;
/// A mutant whose tests have not ended by then has made them hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tries the mutants that `names` lists, or all of them.
pub(crate) fn run(names: &[String]) -> Result<(), Failure> {
    let binaries = step("build", "the library's tests with all mutants in them", binary::build)?;
    let mutants =
        step("plan", "which mutants there are, and what kills them", || chosen(plan::read(&binaries)?, names))?;
    step("baseline", "every test passes while nothing is broken", || baseline(&mutants, &binaries))?;
    let mut killed = 0;
    let mut total = 0;
    let outcome = step("mutants", "one broken rule at a time", || {
        let verdicts = in_parallel(AT_A_TIME, &mutants, |mutant| tried(mutant, &binaries))?;
        table::print(&mutants, &verdicts);
        total = verdicts.len();
        killed = verdicts.iter().filter(|verdict| verdict.is_killed()).count();
        judge(killed, total)
    });
    println!("{killed} passed, {} failed", total - killed);
    outcome
}

fn tried(mutant: &Mutant, binaries: &[Binary]) -> Result<Verdict, Failure> {
    let started = Instant::now();
    let verdict = Verdict::reach(mutant, binaries, PATIENCE)?;
    let took = seconds(started.elapsed());
    println!("{}: {} in {took}", mutant.name, verdict.word());
    Ok(verdict)
}

fn judge(killed: usize, total: usize) -> Result<(), Failure> {
    if killed == total {
        return Ok(());
    }
    Err(Failure::new(format!(
        "of {total} mutants {} were not killed: a rule can be broken and no test notices",
        total - killed
    )))
}

fn chosen(mutants: Vec<Mutant>, names: &[String]) -> Result<Vec<Mutant>, Failure> {
    if let Some(unknown) = names.iter().find(|name| !mutants.iter().any(|mutant| mutant.name == **name)) {
        return Err(Failure::new(format!("there is no mutant `{unknown}`")));
    }
    Ok(mutants.into_iter().filter(|mutant| names.is_empty() || names.contains(&mutant.name)).collect())
}

/// A test that fails or is slow without any mutant proves nothing with one.
fn baseline(mutants: &[Mutant], binaries: &[Binary]) -> Result<(), Failure> {
    let filters: BTreeSet<&str> = mutants.iter().flat_map(Mutant::filters).collect();
    let filters: Vec<&str> = filters.into_iter().collect();
    let times = in_parallel(AT_A_TIME, &filters, |filter| {
        let started = Instant::now();
        for trial in Trial::all(binaries, filter, None) {
            match trial.run(PATIENCE)? {
                Ending::Passed => {}
                ending => {
                    return Err(Failure::new(format!(
                        "`{filter}` does not pass without a mutant: {ending}; see {}",
                        trial.log().display()
                    )));
                }
            }
        }
        Ok(started.elapsed())
    })?;
    for mutant in mutants {
        let time: Duration = filters
            .iter()
            .zip(&times)
            .filter(|(filter, _)| mutant.filters().any(|own| own == **filter))
            .map(|(_, time)| *time)
            .sum();
        if time > PATIENCE / 2 {
            return Err(Failure::new(format!(
                "the tests against `{}` take {} by themselves, too long to tell slow from hung \
                 after {}; give it narrower filters",
                mutant.name,
                seconds(time),
                seconds(PATIENCE)
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_mutants_are_chosen_and_a_wrong_name_is_refused() {
        let mutants = || plan::parse("mutant a | 1 | x\nmutant b | 2 | y\n").expect("well formed");
        assert_eq!(chosen(mutants(), &[]), Ok(mutants()));
        assert_eq!(chosen(mutants(), &["b".to_owned()]), Ok(vec![mutants().remove(1)]));
        assert!(chosen(mutants(), &["c".to_owned()]).is_err());
    }
}
