//! How `tenure` ends: one status for each reason, and a name for the last JSON line.

use std::fmt;
use std::process::ExitCode;

use tenure::{Error, ErrorKind};

/// The table for `--help` and the man page. The README has the same.
pub(crate) const TABLE: &str = "\
Exit status of `run`:
  the command's own, or 128 + n if signal n ended it
  128 + n  signal n came while waiting for the office
  64   wrong usage, or a configuration that would not be safe
  69   the backend cannot be reached, or refuses
  70   an internal error; the command was ended
  73   another holds the office: waited too long, or --no-wait
  75   leadership was lost, and the command was ended
  126  the command cannot be executed
  127  the command was not found
  The last line of --json names the origin.";

/// Why the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command ended by itself, or by a signal.
    Command,
    /// A signal ended the waiting.
    Signal,
    /// Leadership ended while the command ran.
    LeadershipLost,
    /// `--max-wait` is over.
    WaitedTooLong,
    /// `--no-wait`, and another holds the office.
    Held,
    /// The backend does not answer.
    BackendUnreachable,
    /// The backend refuses: rights, a corrupt record, a token that went back.
    BackendRefused,
    /// The command line is wrong, or what it asks for is not safe.
    Usage,
    /// The command is there, but cannot be executed.
    CannotExecute,
    /// There is no such command.
    NotFound,
    /// What was to be said cannot be written.
    Output,
    /// A fault of tenure's own, or of whoever killed its guardian.
    Internal,
}

impl Origin {
    /// As the JSON has it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Origin::Command => "command",
            Origin::Signal => "signal",
            Origin::LeadershipLost => "leadership-lost",
            Origin::WaitedTooLong => "waited-too-long",
            Origin::Held => "held",
            Origin::BackendUnreachable => "backend-unreachable",
            Origin::BackendRefused => "backend-refused",
            Origin::Usage => "usage",
            Origin::CannotExecute => "cannot-execute",
            Origin::NotFound => "not-found",
            Origin::Output => "output",
            Origin::Internal => "internal",
        }
    }

    /// The status, where the origin alone decides it.
    fn status(self) -> u8 {
        match self {
            Origin::Command | Origin::Signal => 0,
            Origin::Usage => 64,
            Origin::BackendUnreachable | Origin::BackendRefused => 69,
            Origin::Internal => 70,
            Origin::WaitedTooLong | Origin::Held => 73,
            Origin::Output => 74,
            Origin::LeadershipLost => 75,
            Origin::CannotExecute => 126,
            Origin::NotFound => 127,
        }
    }
}

/// The end of the process, and what to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) origin: Origin,
    pub(crate) status: u8,
    /// For people; empty where the status says it all.
    pub(crate) sentence: String,
}

impl Exit {
    pub(crate) fn new(origin: Origin, sentence: impl Into<String>) -> Self {
        Exit { origin, status: origin.status(), sentence: sentence.into() }
    }

    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Exit::new(Origin::Usage, sentence)
    }

    /// The command ended with this wait status: its own code, or 128 and the signal, as shells have it.
    pub(crate) fn of_command(wait_status: i32) -> Self {
        let signal = wait_status & 0x7f;
        let status = if signal == 0 { (wait_status >> 8) as u8 } else { 128 + signal as u8 };
        Exit { origin: Origin::Command, status, sentence: String::new() }
    }

    /// A signal came while there was nothing to forward it to.
    pub(crate) fn of_signal(signal: i32) -> Self {
        Exit { origin: Origin::Signal, status: 128 + signal as u8, sentence: String::new() }
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.status)
    }
}

impl From<Error> for Exit {
    fn from(error: Error) -> Self {
        let origin = match error.kind() {
            ErrorKind::InvalidName
            | ErrorKind::InvalidToken
            | ErrorKind::UnsafeTiming
            | ErrorKind::InvalidConfig
            | ErrorKind::PromiseTooWeak
            | ErrorKind::Unsupported => Origin::Usage,
            ErrorKind::Unavailable => Origin::BackendUnreachable,
            ErrorKind::Denied | ErrorKind::Corrupt | ErrorKind::TokenWentBack => Origin::BackendRefused,
            ErrorKind::Held => Origin::Held,
            ErrorKind::TimedOut => Origin::WaitedTooLong,
            ErrorKind::LeadershipLost => Origin::LeadershipLost,
            _ => Origin::Internal,
        };
        Exit::new(origin, error.to_string())
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_end_is_told_as_shells_tell_it() {
        assert_eq!(Exit::of_command(0).status, 0);
        assert_eq!(Exit::of_command(3 << 8).status, 3);
        assert_eq!(Exit::of_command(9).status, 137);
        assert_eq!(Exit::of_command(11 | 0x80).status, 139, "with a core dump too");
    }
}
