//! The processes that hold a command: supervisor, guardian, shim. Linux only.
//!
//! ```text
//!   supervisor ──── guardian ──── command ──── whatever it starts          with a control group, as a subreaper, by process group
//!   supervisor ──── guardian ──── init ──── command ──── …                 with a pid namespace
//! ```
//!
//! At a terminal the guardian may have a second child, an [`ear`] for its keys.
//!
//! All are this binary again, started by its own path and told by the first argument what they are, so that none is made by a bare fork of
//! a process with threads.

pub(crate) mod cgroup;
pub(crate) mod containment;
pub(crate) mod ear;
pub(crate) mod family;
pub(crate) mod guardian;
pub(crate) mod init;
pub(crate) mod message;
mod nest;
pub(crate) mod shim;
mod timer;
pub(crate) mod tree;
mod vigil;
pub(crate) mod wire;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use containment::Wanted;
use tenure::mutant::{Mutant, planted};

/// The first arguments that make this binary something else than the command line.
pub(crate) mod roles {
    pub(crate) const GUARDIAN: &str = "__guardian";
    pub(crate) const INIT: &str = "__init";
    pub(crate) const SHIM: &str = "__shim";
    pub(crate) const EAR: &str = "__ear";
    pub(crate) const WITHDRAW: &str = "__withdraw";
}

/// What a guardian is told once, on its command line. Nothing in it is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Brief {
    /// κ: how long before expiry the tree is killed.
    pub(crate) margin: Duration,
    /// How long the tree has between being asked to stop and being killed.
    pub(crate) grace: Duration,
    /// The signal by which it is asked.
    pub(crate) signal: i32,
    pub(crate) wanted: Wanted,
    /// Whether a person sits at the other end.
    pub(crate) at_terminal: bool,
}

impl Brief {
    pub(crate) fn arguments(&self) -> [String; 5] {
        let terminal = if self.at_terminal { "terminal" } else { "detached" };
        [
            self.margin.as_nanos().to_string(),
            self.grace.as_nanos().to_string(),
            self.signal.to_string(),
            self.wanted.to_string(),
            terminal.into(),
        ]
    }

    /// The brief, and the command that follows it.
    fn parse(arguments: &[OsString]) -> Option<(Brief, &[OsString])> {
        let (brief, command) = arguments.split_at_checked(5)?;
        let text: Vec<&str> = brief.iter().filter_map(|word| word.to_str()).collect();
        let [margin, grace, signal, wanted, terminal] = text[..] else { return None };
        let brief = Brief {
            margin: Duration::from_nanos(margin.parse().ok()?),
            grace: Duration::from_nanos(grace.parse().ok()?),
            signal: signal.parse().ok()?,
            wanted: wanted.parse().ok()?,
            at_terminal: terminal == "terminal",
        };
        command_of(command).map(|command| (brief, command))
    }
}

/// What follows the two dashes.
pub(crate) fn command_of(arguments: &[OsString]) -> Option<&[OsString]> {
    match arguments {
        [dashes, command @ ..] if dashes == "--" && !command.is_empty() => Some(command),
        _ => None,
    }
}

/// This very binary in another role, also where it was replaced on the disk meanwhile.
pub(crate) fn myself(role: &str) -> Command {
    let link = PathBuf::from("/proc/self/exe");
    let program = if link.exists() { link } else { std::env::current_exe().unwrap_or_else(|_| "tenure".into()) };
    let mut command = Command::new(program);
    command.arg0("tenure").arg(role);
    command
}

/// Takes our own variables from what is started for a command or beside it: the address of a store may have a password in it, and whoever
/// runs in a namespace can read the environment of its first process.
pub(crate) fn without_secrets(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"TENURE_") && !planted(Mutant::EnvironmentLeaks) {
            command.env_remove(name);
        }
    }
    command
}

/// What lists of processes call this one; the link it was started by says nothing.
pub(crate) fn call(name: &std::ffi::CStr) {
    let _ = rustix::thread::set_name(name);
}

/// Somebody typed what only tenure itself says.
pub(crate) fn stray(role: &str) -> ExitCode {
    eprintln!("tenure: `__{role}` is for tenure itself; see `tenure --help`");
    ExitCode::from(64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use containment::Level;

    #[test]
    fn a_brief_survives_the_command_line() {
        let brief = Brief {
            margin: Duration::from_secs(1),
            grace: Duration::from_millis(2_500),
            signal: 15,
            wanted: Wanted::Exactly(Level::Subreaper),
            at_terminal: true,
        };
        let mut arguments: Vec<OsString> = brief.arguments().into_iter().map(Into::into).collect();
        assert_eq!(Brief::parse(&arguments), None, "a command is missing");
        arguments.extend(["--".into(), "sleep".into(), "--".into()]);
        let (parsed, command) = Brief::parse(&arguments).expect("it is whole");
        assert_eq!(parsed, brief);
        assert_eq!(command, ["sleep", "--"]);
    }
}
