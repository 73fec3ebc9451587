//! What test programs say of themselves, read from their output.
//!
//! libtest, rustdoc and libtest-mimic share one text format; the machine-readable one is not stable.

use std::fmt;
use std::ops::Add;

/// The sum over all test programs of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestReport {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
    pub(crate) ignored_names: Vec<String>,
    /// As listed under the last `failures:` of each program: the `... FAILED` lines may have a
    /// test's own output in their middle.
    pub(crate) failed_names: Vec<String>,
    listed: Option<Vec<String>>,
}

impl TestReport {
    pub(crate) fn read(output: &str) -> Self {
        let mut report = Self::default();
        for line in output.lines() {
            report.read_line(line);
        }
        report
    }

    pub(crate) fn read_line(&mut self, line: &str) {
        let line = without_colour(line);
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += count(counts, "passed");
            self.failed += count(counts, "failed");
            self.ignored += count(counts, "ignored");
            self.failed_names.extend(self.listed.take().unwrap_or_default());
        } else if line.trim_end() == "failures:" {
            self.listed = Some(Vec::new());
        } else if let Some(name) = ignored_name(&line) {
            self.ignored_names.push(name.to_owned());
        } else if let (Some(listed), Some(name)) = (&mut self.listed, line.strip_prefix("    ")) {
            listed.push(name.trim_end().to_owned());
        }
    }
}

impl Add for TestReport {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.ignored_names.extend(other.ignored_names);
        self.failed_names.extend(other.failed_names);
        self
    }
}

impl fmt::Display for TestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.ignored)
    }
}

/// The number before `word` in `ok. 3 passed; 0 failed; …`.
fn count(counts: &str, word: &str) -> usize {
    counts
        .split([';', '.'])
        .filter_map(|part| part.trim().split_once(' '))
        .find(|(_, what)| *what == word)
        .and_then(|(number, _)| number.parse().ok())
        .unwrap_or(0)
}

/// The name in `test name ... ignored`, with or without a reason.
fn ignored_name(line: &str) -> Option<&str> {
    let (name, verdict) = line.strip_prefix("test ")?.split_once(" ... ")?;
    // libtest gives the reason after a comma, libtest-mimic in brackets.
    let skipped =
        verdict.strip_prefix("ignored").is_some_and(|reason| reason.is_empty() || reason.starts_with([',', ' ']));
    skipped.then(|| name.trim())
}

/// Colours may be forced from outside even when the output is not a terminal.
fn without_colour(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_programs_add_up() {
        let report = TestReport::read(
            "running 3 tests\n\
             test a ... ok\n\
             test b ... ignored, needs etcd\n\
             \n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s\n\
             \n\
             test src/lib.rs - (line 3) ... ignored\n\
             test result: ok. 10 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.25s\n",
        );
        assert_eq!((report.passed, report.failed, report.ignored), (12, 0, 2));
        assert_eq!(report.ignored_names, ["b", "src/lib.rs - (line 3)"]);
    }

    #[test]
    fn failed_tests_are_named_from_the_last_list() {
        let report = TestReport::read(
            "test a ... noise FAILED\n\
             \n\
             failures:\n\
             \n\
             ---- a stdout ----\n\
             \u{20}   an indented line of its output\n\
             \n\
             failures:\n\
             \u{20}   a\n\
             \u{20}   nested::b\n\
             \n\
             test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        );
        assert_eq!(report.failed, 2);
        assert_eq!(report.failed_names, ["a", "nested::b"]);
    }

    #[test]
    fn colours_do_not_hide_a_result() {
        let report = TestReport::read(
            "test     padded    ... \u{1b}[33mignored\u{1b}[0m (no server)\n\
             test result: \u{1b}[32mok\u{1b}[0m. 1 passed; 0 failed; 1 ignored;",
        );
        assert_eq!((report.passed, report.ignored), (1, 1));
        assert_eq!(report.ignored_names, ["padded"]);
    }

    #[test]
    fn a_test_that_is_called_ignored_is_not_taken_for_one() {
        let report = TestReport::read("test an_answer_is_ignored ... ok\ntest ignored_x ... ok (ignored)\n");
        assert!(report.ignored_names.is_empty());
    }
}
