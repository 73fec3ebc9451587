//! Which mutants are planted, which rule each breaks, and which tests ought to notice.

use super::binary::Binary;
use crate::failure::Failure;

/// The test of the library that prints the list.
const LIST_TEST: &str = "mutant::tests::list_of_planted_mutants";

/// One planted mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mutant {
    pub(crate) name: String,
    pub(crate) rule: String,
    filters: Vec<String>,
}

impl Mutant {
    /// The filters that pick the tests which ought to kill it.
    pub(crate) fn filters(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().map(String::as_str)
    }
}

/// Asks the library's unit tests, and checks that every filter picks at least one test.
pub(crate) fn read(binaries: &[Binary]) -> Result<Vec<Mutant>, Failure> {
    let Some(library) = binaries.iter().find(|binary| binary.has_test(LIST_TEST)) else {
        return Err(Failure::new(format!("no test program has the test `{LIST_TEST}`, which lists the mutants")));
    };
    let output = library.output(&["--exact", "--nocapture", LIST_TEST])?;
    let mutants = parse(&output)?;
    for mutant in &mutants {
        for filter in mutant.filters() {
            if !binaries.iter().any(|binary| binary.matches(filter)) {
                return Err(Failure::new(format!("the filter `{filter}` of mutant `{}` matches no test", mutant.name)));
            }
        }
    }
    println!("{} mutants", mutants.len());
    Ok(mutants)
}

/// Reads the lines `mutant <name> | <rule> | <filter>[,<filter>…]` out of a test's output.
pub(crate) fn parse(output: &str) -> Result<Vec<Mutant>, Failure> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for line in output.lines() {
        // libtest leaves `test name ... ` on the line where the test's own output begins.
        let own = match line.split_once(" ... ") {
            Some((before, after)) if before.starts_with("test ") => after,
            _ => line,
        };
        let Some(entry) = own.trim().strip_prefix("mutant ") else {
            continue;
        };
        let mutant =
            parse_entry(entry).ok_or_else(|| Failure::new(format!("`{}` does not describe a mutant", own.trim())))?;
        if mutants.iter().any(|other| other.name == mutant.name) {
            return Err(Failure::new(format!("mutant `{}` is listed twice", mutant.name)));
        }
        mutants.push(mutant);
    }
    if mutants.is_empty() {
        return Err(Failure::new("no mutant is listed"));
    }
    Ok(mutants)
}

fn parse_entry(entry: &str) -> Option<Mutant> {
    let [name, rule, filters] = entry.split('|').map(str::trim).collect::<Vec<_>>().try_into().ok()?;
    let filters: Vec<String> = filters.split(',').map(|filter| filter.trim().to_owned()).collect();
    let complete = !rule.is_empty() && filters.iter().all(|filter| !filter.is_empty());
    (complete && is_kebab_case(name)).then(|| Mutant { name: name.to_owned(), rule: rule.to_owned(), filters })
}

fn is_kebab_case(name: &str) -> bool {
    name.split('-').all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_out_of_the_output_of_a_test() {
        let mutants = parse(
            "\nrunning 1 test\n\
             test mutant::tests::list_of_planted_mutants ... mutant stamp-on-receipt | SAFETY 1 | machine::\n\
             mutant late-revival | SAFETY 9 | machine::late, a_late_answer\n\
             ok\n\n\
             test result: ok. 1 passed; 0 failed; 0 ignored;\n",
        )
        .expect("well formed");
        assert_eq!(mutants.len(), 2);
        assert_eq!(mutants[0].name, "stamp-on-receipt");
        assert_eq!(mutants[0].rule, "SAFETY 1");
        assert_eq!(mutants[0].filters, ["machine::"]);
        assert_eq!(mutants[1].filters, ["machine::late", "a_late_answer"]);
    }

    #[test]
    fn a_line_that_is_not_complete_is_refused() {
        for line in [
            "mutant a",
            "mutant a | 1",
            "mutant a | 1 |",
            "mutant a |  | x",
            "mutant a | 1 | x,,y",
            "mutant Not_Kebab | 1 | x",
            "mutant -a | 1 | x",
            "mutant a | 1 | x | y",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn an_empty_list_and_a_name_used_twice_are_refused() {
        assert!(parse("test result: ok. 1 passed;").is_err());
        assert!(parse("mutant a | 1 | x\nmutant a | 2 | y").is_err());
    }
}
