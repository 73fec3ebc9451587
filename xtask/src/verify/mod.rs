//! `cargo xtask verify`: everything that can be judged without running a test.

mod dependencies;
mod files;
mod leftovers;
mod links;
mod packages;

use std::process::Command;

use crate::cargo::{cargo, describe, succeed};
use crate::failure::Failure;
use crate::step::step;

/// Runs every check, also after one has failed: a person wants the whole list at once.
pub(crate) fn run() -> Result<(), Failure> {
    let checks = [
        called("format", cargo(["fmt", "--all", "--check"])),
        called("lints", clippy()),
        called("documentation", rustdoc()),
        step("dependencies", dependencies::WHAT, dependencies::check),
        step("leftovers", leftovers::WHAT, leftovers::check),
        step("links", links::WHAT, links::check),
        step("packages", packages::WHAT, packages::check),
    ];
    let total = checks.len();
    let failures: Vec<Failure> = checks.into_iter().filter_map(Result::err).collect();
    println!("{} passed, {} failed", total - failures.len(), failures.len());
    if failures.is_empty() {
        return Ok(());
    }
    let sentences: Vec<String> = failures.iter().map(Failure::to_string).collect();
    Err(Failure::new(sentences.join("\n  ")))
}

fn called(name: &str, mut command: Command) -> Result<(), Failure> {
    let what = describe(&command);
    step(name, &what, || succeed(&mut command))
}

fn clippy() -> Command {
    cargo(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])
}

fn rustdoc() -> Command {
    let mut command = cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}
