//! The result, one line a mutant.

use super::plan::Mutant;
use super::verdict::Verdict;

pub(crate) fn print(mutants: &[Mutant], verdicts: &[Verdict]) {
    println!();
    for line in lines(mutants, verdicts) {
        println!("{line}");
    }
    println!();
}

fn lines(mutants: &[Mutant], verdicts: &[Verdict]) -> Vec<String> {
    let heading = ["mutant", "rule", "verdict"].map(str::to_owned);
    let rows: Vec<[String; 3]> = std::iter::once(heading)
        .chain(
            mutants
                .iter()
                .zip(verdicts)
                .map(|(mutant, verdict)| [mutant.name.clone(), mutant.rule.clone(), verdict.to_string()]),
        )
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    rows.iter().map(|[name, rule, verdict]| format!("{name:first$}  {rule:second$}  {verdict}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let mutants = plan::parse("mutant a-long-name | SAFETY 9a | x\nmutant b | SAFETY 1 | y").expect("well formed");
        let verdicts = [Verdict::Survived, Verdict::Killed(vec!["y".to_owned()])];
        assert_eq!(
            lines(&mutants, &verdicts),
            [
                "mutant       rule       verdict",
                "a-long-name  SAFETY 9a  SURVIVED",
                "b            SAFETY 1   killed by y",
            ]
        );
    }
}
