//! The dependencies: what `deny.toml` bans, which licences, which sources.

use std::process::{Command, Stdio};

use crate::cargo::{at_root, cargo, describe, succeed, target_dir};
use crate::failure::Failure;

pub(crate) const WHAT: &str = "cargo deny check bans licenses sources";

/// What is installed when no cargo-deny of the same series is found.
const VERSION: &str = "0.20.2";
/// `deny.toml` is written in the format of this series.
const SERIES: &str = "cargo-deny 0.20.";

/// Advisories are left out: they need a fresh database from the network, and change without us.
pub(crate) fn check() -> Result<(), Failure> {
    let mut deny = match installed() {
        Some(command) => command,
        None => install()?,
    };
    succeed(deny.args(["check", "bans", "licenses", "sources"]))
}

/// Somebody's own cargo-deny first, then the one that an earlier run put under the target directory.
fn installed() -> Option<Command> {
    [cargo(["deny"]), private()]
        .into_iter()
        .find(|command| version_of(command).is_some_and(|version| version.starts_with(SERIES)))
}

fn private() -> Command {
    at_root(Command::new(tools().join("bin").join("cargo-deny")))
}

fn tools() -> std::path::PathBuf {
    target_dir().join("tools")
}

fn version_of(command: &Command) -> Option<String> {
    let output = at_root(Command::new(command.get_program()))
        .args(command.get_args())
        .arg("--version")
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn install() -> Result<Command, Failure> {
    let mut command = cargo(["install", "--quiet", "--locked"]);
    command
        .arg(format!("cargo-deny@{VERSION}"))
        .arg("--root")
        .arg(tools())
        // A build tree of its own, thrown away afterwards.
        .env_remove("CARGO_TARGET_DIR");
    println!("cargo-deny 0.20 is missing; installing it once, which takes some minutes: {}", describe(&command));
    succeed(&mut command).map_err(|failure| {
        Failure::new(format!(
            "cargo-deny is missing and could not be installed ({failure}); \
             install it by hand with `cargo install --locked cargo-deny@{VERSION}`"
        ))
    })?;
    Ok(private())
}
