//! `cargo xtask chaos`: a long run of one backend's chaos.

use crate::cargo::{cargo, describe, succeed};
use crate::failure::Failure;
use crate::servers;
use crate::step::step;

/// What a run takes beside the name of its backend; each with a number.
const OPTIONS: [&str; 4] = ["--seed", "--minutes", "--seconds", "--candidates"];

/// `rest`: options of the run, and filters of its tests.
pub(crate) fn run(backend: &str, rest: &[String]) -> Result<(), Failure> {
    servers::install(&[])?;
    let package = format!("tenure-{backend}");
    let mut command = cargo(["test", "--package", &package, "--all-features", "--test", "chaos", "--", "--nocapture"]);
    command.args(rest).env("TENURE_STRICT", "1");
    let what = describe(&command);
    step("chaos", &what, || succeed(&mut command))
}

/// Whether these are words that a run understands.
pub(crate) fn understands(rest: &[String]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let known = OPTIONS.contains(&word.as_str());
        let numbered = !known || words.next().is_some_and(|number| number.parse::<u64>().is_ok());
        if !numbered || (!known && word.starts_with('-')) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::understands;

    #[test]
    fn options_need_their_numbers() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert!(understands(&words("")));
        assert!(understands(&words("--minutes 20 --seed 7 redis_keeps")));
        assert!(!understands(&words("--minutes")));
        assert!(!understands(&words("--minutes many")));
        assert!(!understands(&words("--hours 3")));
    }
}
