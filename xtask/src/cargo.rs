//! Calling cargo and its kin from the root of the workspace.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// A call of the cargo that started this program, so that one toolchain does all the work.
pub(crate) fn cargo<I, S>(arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments);
    at_root(command)
}

/// A call of any program, with nothing to read from and the workspace around it.
pub(crate) fn at_root(mut command: Command) -> Command {
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    // `cargo run` names the checkout it runs in; the path compiled in may be that of another one.
    let manifest_dir =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir.parent().map_or_else(|| manifest_dir.clone(), Path::to_path_buf)
}

/// Where build results go.
pub(crate) fn target_dir() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Runs a command with its output on the terminal; anything but success is a failure.
pub(crate) fn succeed(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{}` ended with {status}", describe(command)))) }
}

/// Runs a command and returns what it wrote to its standard output.
pub(crate) fn output_of(command: &mut Command) -> Result<String, Failure> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| not_started(command, &error))?;
    if !output.status.success() {
        return Err(Failure::new(format!("`{}` ended with {}", describe(command), output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!("could not start `{}`: {error}", describe(command)))
}

/// The command as a person would type it, variables first.
pub(crate) fn describe(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy();
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value)))
    });
    let program =
        Path::new(command.get_program()).file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| quoted(&argument.to_string_lossy()));
    variables.chain([program]).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(char::is_whitespace) { format!("'{word}'") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_described_as_it_would_be_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["doc", "--no-deps", ""]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(describe(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps ''");
    }
}
