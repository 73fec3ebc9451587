//! The test programs of the library, built with the mutants in them.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{cargo, output_of, target_dir};
use crate::failure::Failure;
use crate::test_program::TestProgram;

/// One test program and the names of its tests.
#[derive(Debug)]
pub(crate) struct Binary {
    program: TestProgram,
    tests: Vec<String>,
}

impl Binary {
    /// A call of it that ends up in no mutant and no strictness unless told so.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.program.command();
        command.env_remove("TENURE_MUTANT").env_remove("TENURE_STRICT");
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Result<String, Failure> {
        output_of(self.command().args(arguments))
    }

    pub(crate) fn has_test(&self, name: &str) -> bool {
        self.tests.iter().any(|test| test == name)
    }

    /// Whether the filter picks any of its tests.
    pub(crate) fn matches(&self, filter: &str) -> bool {
        let (place, tests) = parts(filter);
        place.is_none_or(|place| self.program.place() == place) && self.tests.iter().any(|test| test.contains(tests))
    }
}

/// A filter may name the program too, where several have tests of the same name: `tenure-redis/conformance=renewing::`.
pub(crate) fn parts(filter: &str) -> (Option<&str>, &str) {
    match filter.split_once('=') {
        Some((place, tests)) => (Some(place), tests),
        None => (None, filter),
    }
}

/// Where this chore keeps its build and its logs: flags of its own in the common target directory
/// would rebuild everything twice.
pub(crate) fn directory() -> PathBuf {
    target_dir().join("mutants")
}

/// Lets a call of cargo compile the mutants in.
pub(crate) fn with_mutants(command: &mut Command) {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    command.env("RUSTFLAGS", format!("{flags} --cfg tenure_mutants").trim()).env("CARGO_TARGET_DIR", directory());
}

/// Builds the tests once for all mutants.
pub(crate) fn build() -> Result<Vec<Binary>, Failure> {
    let mut command = cargo([
        "test",
        "--package",
        "tenure",
        "--package",
        "tenure-cli",
        "--package",
        "tenure-etcd",
        "--package",
        "tenure-redis",
        "--all-features",
        "--lib",
        "--bins",
        "--tests",
    ]);
    with_mutants(&mut command);
    let binaries: Vec<Binary> = TestProgram::build(&mut command)?
        .into_iter()
        .map(|program| {
            let mut binary = Binary { program, tests: Vec::new() };
            binary.tests = test_names(&binary.output(&["--list"])?);
            Ok(binary)
        })
        .collect::<Result<_, Failure>>()?;
    println!("{} test programs", binaries.len());
    Ok(binaries)
}

/// The names in the lines `name: test` that `--list` prints.
fn test_names(list: &str) -> Vec<String> {
    list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_program::tests::line;

    #[test]
    fn a_filter_can_name_its_program() {
        let program = TestProgram::read(&line(true, r#""/x/a""#)).expect("it is one");
        let binary = Binary { program, tests: vec!["renewing::a".to_owned()] };
        assert_eq!(binary.program.place(), "x/tenure");
        assert!(binary.matches("renewing") && binary.matches("x/tenure=renewing"));
        assert!(!binary.matches("x/other=renewing") && !binary.matches("x/tenure=standing"));
    }

    #[test]
    fn test_names_are_read_from_a_list() {
        assert_eq!(
            test_names("a::b: test\n[memory] grants: test\nc: benchmark\n\n2 tests, 1 benchmark\n"),
            ["a::b", "[memory] grants"]
        );
    }
}
