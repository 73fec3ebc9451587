//! `cargo xtask servers`: the real servers that tests run against, installed or started. The testbed does it.

use crate::cargo::{cargo, describe, succeed};
use crate::failure::Failure;
use crate::step::step;

/// Installs what is missing of these servers, or of all.
pub(crate) fn install(names: &[String]) -> Result<(), Failure> {
    testbed("install", names)
}

/// Starts servers for a person.
pub(crate) fn up(what: &[String]) -> Result<(), Failure> {
    testbed("up", what)
}

fn testbed(command: &str, words: &[String]) -> Result<(), Failure> {
    let mut run = cargo(["run", "--quiet", "--package", "tenure-testbed", "--", command]);
    run.args(words);
    let what = describe(&run);
    step("servers", &what, || succeed(&mut run))
}
