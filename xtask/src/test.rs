//! `cargo xtask test`: every test of the workspace, and nothing skipped.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::cargo::{cargo, describe, not_started, succeed, target_dir};
use crate::failure::Failure;
use crate::parallel::in_parallel;
use crate::servers;
use crate::step::{seconds, step};
use crate::test_program::TestProgram;
use crate::test_report::TestReport;

/// How many test programs run at a time: most of them wait, for leases to end and for servers to start.
const AT_A_TIME: usize = 2;

/// Those that run by themselves: the first keeps every processor busy, the second needs three servers that keep up with each other.
const ALONE: [&str; 2] = ["tenure/busy_application", "tenure-etcd/conformance_cluster"];

/// Runs all tests, or those that `filter` names; it goes to the test programs as it stands.
pub(crate) fn run(filter: &[String]) -> Result<(), Failure> {
    servers::install(&[])?;
    // Tests run the examples as the programs they are; told which targets to test, cargo would not build those.
    let mut examples = cargo(["build", "--workspace", "--all-features", "--examples"]);
    let what = describe(&examples);
    step("examples", &what, || succeed(&mut examples))?;
    let mut building = test_programs();
    let what = describe(&building);
    let programs = step("build", &what, || TestProgram::build(&mut building))?;
    let what = format!("{} test programs, {AT_A_TIME} at a time", programs.len());
    let programs = step("tests", &what, || side_by_side(&programs, filter))?;
    let documentation = documentation(filter)?;
    let all = programs + documentation;
    println!("{all}");
    ran_something(&all, filter)
}

fn test_programs() -> Command {
    cargo(["test", "--workspace", "--all-features", "--lib", "--bins", "--tests"])
}

/// Runs them, and sums up what they say.
fn side_by_side(programs: &[TestProgram], filter: &[String]) -> Result<TestReport, Failure> {
    let is_alone = |program: &&TestProgram| ALONE.contains(&program.place().as_str());
    let (alone, together): (Vec<_>, Vec<_>) = programs.iter().partition(is_alone);
    if alone.len() != ALONE.len() {
        return Err(Failure::new(format!("of {} not all are test programs", ALONE.join(", "))));
    }
    let mut reports = in_parallel(AT_A_TIME, &together, |program| tested(program, filter))?;
    reports.extend(in_parallel(1, &alone, |program| tested(program, filter))?);
    let (mut all, mut failures) = (TestReport::default(), Vec::new());
    for (program, (report, succeeded)) in together.iter().chain(&alone).zip(reports) {
        if let Err(failure) = judge(&report, succeeded) {
            failures.push(format!("{}: {failure}", program.place()));
        }
        all = all + report;
    }
    if failures.is_empty() { Ok(all) } else { Err(Failure::new(failures.join("; "))) }
}

/// Runs one; its output goes to a file, where a person can see what hangs, and is shown at its end.
fn tested(program: &TestProgram, filter: &[String]) -> Result<(TestReport, bool), Failure> {
    let place = program.place();
    let failed = |error| Failure::new(format!("{place} could not be run: {error}"));
    let path = target_dir().join("tests").join(program.file_name()).with_extension("log");
    fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed)?;
    let log = File::create(&path).map_err(failed)?;
    let mut command = program.command();
    command.arg("--include-ignored").args(filter).stdout(log.try_clone().map_err(failed)?).stderr(log);
    println!("{place} begins; see {}", path.display());
    let started = Instant::now();
    let status = strict(&mut command).status().map_err(failed)?;
    let took = seconds(started.elapsed());
    let output = fs::read(&path).map_err(failed)?;
    let mut terminal = io::stdout().lock();
    let header = format!("{place} ended with {status} in {took}");
    writeln!(terminal, "{header}").and_then(|()| terminal.write_all(&output)).map_err(failed)?;
    Ok((TestReport::read(&String::from_utf8_lossy(&output)), status.success()))
}

/// By themselves, because told to include ignored ones rustdoc reports them as passed without
/// having compiled them.
fn documentation(filter: &[String]) -> Result<TestReport, Failure> {
    let mut command = cargo(["test", "--workspace", "--all-features", "--no-fail-fast", "--doc", "--"]);
    strict(&mut command).args(filter);
    let what = describe(&command);
    step("doc tests", &what, || {
        let (report, succeeded) = stream(&mut command)?;
        judge(&report, succeeded)?;
        Ok(report)
    })
}

/// Conformance targets then fail on a case they would otherwise only report as skipped.
fn strict(command: &mut Command) -> &mut Command {
    command.env("TENURE_STRICT", "1")
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
        return Err(Failure::new("it did not succeed, though no test was reported as failed; see above"));
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
