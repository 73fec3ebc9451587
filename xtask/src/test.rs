//! `cargo xtask test`: every test of the workspace, and nothing skipped.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use crate::cargo::{cargo, describe, not_started, succeed};
use crate::failure::Failure;
use crate::servers;
use crate::step::step;
use crate::test_report::TestReport;

/// Runs all tests, or those that `filter` names; it goes to the test programs as it stands.
pub(crate) fn run(filter: &[String]) -> Result<(), Failure> {
    servers::install(&[])?;
    // Tests run the examples as the programs they are; told which targets to test, cargo would not build those.
    let mut examples = cargo(["build", "--workspace", "--all-features", "--examples"]);
    let what = describe(&examples);
    step("examples", &what, || succeed(&mut examples))?;
    let programs = tested("tests", test_programs(), filter)?;
    let documentation = tested("doc tests", doc_tests(), filter)?;
    let all = programs + documentation;
    println!("{all}");
    ran_something(&all, filter)
}

fn tested(name: &str, mut command: Command, filter: &[String]) -> Result<TestReport, Failure> {
    command.args(filter);
    // Conformance targets then fail on a case they would otherwise only report as skipped.
    command.env("TENURE_STRICT", "1");
    let what = describe(&command);
    step(name, &what, || {
        let (report, succeeded) = stream(&mut command)?;
        judge(&report, succeeded)?;
        Ok(report)
    })
}

fn test_programs() -> Command {
    cargo([
        "test",
        "--workspace",
        "--all-features",
        "--no-fail-fast",
        "--lib",
        "--bins",
        "--tests",
        "--",
        "--include-ignored",
    ])
}

/// By themselves, because told to include ignored ones rustdoc reports them as passed without
/// having compiled them.
fn doc_tests() -> Command {
    cargo(["test", "--workspace", "--all-features", "--no-fail-fast", "--doc", "--"])
}

/// Copies the output to the terminal as it comes, and reads it along the way.
fn stream(command: &mut Command) -> Result<(TestReport, bool), Failure> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| not_started(command, &error))?;
    let mut output = child.stdout.take().expect("the standard output is piped");
    let report = copy(&mut output, &mut io::stdout())
        .map_err(|error| Failure::new(format!("the tests' output broke off: {error}")))?;
    let status = child.wait().map_err(|error| Failure::new(format!("the tests could not be waited for: {error}")))?;
    Ok((report, status.success()))
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<TestReport> {
    let mut report = TestReport::default();
    let mut line = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        let length = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // By the chunk, not by the line: the name of a test that hangs is half a line.
        to.write_all(&chunk[..length])?;
        to.flush()?;
        for &byte in &chunk[..length] {
            if byte == b'\n' {
                report.read_line(&String::from_utf8_lossy(&line));
                line.clear();
            } else {
                line.push(byte);
            }
        }
    }
    report.read_line(&String::from_utf8_lossy(&line));
    Ok(report)
}

fn judge(report: &TestReport, succeeded: bool) -> Result<(), Failure> {
    if report.failed > 0 {
        return Err(Failure::new(format!(
            "{} of {} tests failed: {}",
            report.failed,
            report.failed + report.passed,
            report.failed_names.join(", ")
        )));
    }
    if !succeeded {
        return Err(Failure::new("cargo test did not succeed, though no test was reported as failed; see above"));
    }
    if report.ignored > 0 {
        return Err(Failure::new(format!(
            "nothing may be skipped here, yet {} was: {}",
            report.ignored,
            report.ignored_names.join(", ")
        )));
    }
    Ok(())
}

fn ran_something(report: &TestReport, filter: &[String]) -> Result<(), Failure> {
    match (report.passed, filter) {
        (0, []) => Err(Failure::new("there was no test to run.")),
        (0, filter) => Err(Failure::new(format!("no test matches `{}`.", filter.join(" ")))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> TestReport {
        let mut shown = Vec::new();
        let report = copy(&mut output.as_bytes(), &mut shown).expect("memory does not fail");
        assert_eq!(shown, output.as_bytes(), "the terminal shows what the tests wrote");
        report
    }

    #[test]
    fn all_passed_is_a_pass() {
        let report = read("test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured;");
        assert_eq!(judge(&report, true), Ok(()));
    }

    #[test]
    fn a_skipped_test_fails_the_run_by_name() {
        let report = read(
            "test a ... ok\ntest needs_a_server ... ignored\n\n\
             test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n",
        );
        let failure = judge(&report, true).expect_err("one was skipped");
        assert!(failure.to_string().contains("needs_a_server"), "{failure}");
    }

    #[test]
    fn a_run_that_tested_nothing_is_no_pass() {
        let report = read("test result: ok. 0 passed; 0 failed; 0 ignored; 9 filtered out\n");
        assert!(ran_something(&report, &["typo".to_owned()]).is_err());
        assert!(ran_something(&read(""), &[]).is_err());
    }

    #[test]
    fn a_crash_without_a_result_fails_the_run() {
        let report = read("test result: ok. 2 passed; 0 failed; 0 ignored;\nrunning 1 test\n");
        assert!(judge(&report, false).is_err());
    }
}
