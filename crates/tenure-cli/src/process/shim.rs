//! What becomes the command: it prepares itself, looks at the clock once more, and executes.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::sys::signal::SigSet;
use rustix::process::{PidfdFlags, Signal, getpid, pidfd_open, setpgid};
use tenure::mutant::{Mutant, planted};
use tenure::{BootClock, Clock};

use super::cgroup::Cgroup;
use super::message::{Message, Office};
use super::wire::Channel;

/// What is left of our own variables in the command's environment.
pub(crate) const SHOWN: [&str; 3] = ["TENURE_ELECTION", "TENURE_ID", "TENURE_TOKEN"];

/// Ends in the command, or says why not; the guardian hears it and ends the matter.
pub(crate) fn main(command: &[OsString]) -> ExitCode {
    let Ok(guardian) = Channel::from_stdin() else { return super::stray("shim") };
    let failure = match become_command(&guardian, command) {
        Ok(too_late) => too_late,
        Err(error) => Message::Failed { errno: error.raw_os_error().unwrap_or_default(), because: error.to_string() },
    };
    let _ = guardian.send(&failure, &[]);
    ExitCode::FAILURE
}

/// Returns only what there is to tell about why there is no command.
fn become_command(guardian: &Channel, command: &[OsString]) -> io::Result<Message> {
    // The kernel kills the command with the thread that made this process: the only one of the guardian.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let Some((Message::Go { deadline, office, foreground, cgroup }, descriptors)) = guardian.wait()? else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    // It died before the line above took effect, and nobody is left to kill us.
    if guardian.is_broken() {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    if !cgroup.is_empty() {
        Cgroup::existing(&cgroup).join()?;
    }
    setpgid(None, None)?;
    let stdin = descriptors.into_iter().next();
    if foreground {
        take_terminal();
    }
    if let Some(stdin) = stdin {
        put_in_place(stdin)?;
    }
    let pidfd = pidfd_open(getpid(), PidfdFlags::empty())?;
    guardian.send(&Message::Here, &[pidfd.as_fd()])?;
    drop(pidfd);
    let mut command = prepared(command, &office);
    // The guardian's mask came along. What was sent meanwhile strikes here, before the command is there to be struck.
    SigSet::empty().thread_set_mask()?;
    // I5: the last look before the command runs. Whoever was frozen up to here starts nothing.
    if BootClock.now() >= deadline && !planted(Mutant::ShimWithoutClock) {
        return Ok(Message::TooLate);
    }
    let error = command.exec();
    Ok(Message::Failed { errno: error.raw_os_error().unwrap_or_default(), because: error.to_string() })
}

fn put_in_place(stdin: OwnedFd) -> io::Result<()> {
    Ok(rustix::stdio::dup2_stdin(&stdin)?)
}

/// Makes our process group the one that the terminal talks to, so that its keys reach the command, and nobody else.
fn take_terminal() {
    // Whoever is not in front is stopped for trying, unless that signal is blocked, as all are up to here.
    if let Ok(terminal) = std::fs::File::open("/dev/tty") {
        let _ = rustix::termios::tcsetpgrp(&terminal, rustix::process::getpgrp());
    }
}

/// The command, with an environment that has our three variables and nothing else of ours, above all no address of a store.
fn prepared(command: &[OsString], office: &Office) -> Command {
    let (program, arguments) = command.split_first().expect("the guardian was given a command");
    let mut prepared = Command::new(program);
    prepared.args(arguments);
    super::without_secrets(&mut prepared);
    prepared.env(SHOWN[0], &office.election).env(SHOWN[1], &office.id);
    if !office.token.is_empty() {
        prepared.env(SHOWN[2], &office.token);
    }
    prepared
}

#[cfg(test)]
mod tests {
    use tenure::Moment;

    use super::*;

    /// A variable that makes the next test a shim, in a process of its own.
    const MADE_A_SHIM: &str = "TENURE_TEST_SHIM";

    fn office() -> Office {
        Office {
            election: "nightly".into(),
            id: "pod-1".into(),
            token: "7".into(),
            tenure: "secret".into(),
            keep_until: Moment::ZERO,
            lease: std::time::Duration::from_secs(15),
        }
    }

    #[test]
    fn as_a_shim() {
        if let Some(file) = std::env::var_os(MADE_A_SHIM) {
            main(&["touch".into(), file]);
        }
    }

    /// What a shim says that is told to go, and whether its command ran.
    fn told_to_go(name: &str, deadline: Moment) -> (Option<Message>, bool) {
        let file = std::env::temp_dir().join(format!("tenure-shim-{}-{name}", std::process::id()));
        let (channel, far) = Channel::pair().unwrap();
        let mut shim = Command::new(std::env::current_exe().unwrap());
        shim.args(["--exact", "process::shim::tests::as_a_shim", "--nocapture"]).env(MADE_A_SHIM, &file);
        shim.stdin(std::process::Stdio::from(far)).stdout(std::process::Stdio::null());
        let mut process = shim.spawn().unwrap();
        // It keeps the far end, and with it the shim's end would never be heard of.
        drop(shim);
        let go = Message::Go { deadline, office: office(), foreground: false, cgroup: Vec::new() };
        channel.send(&go, &[]).unwrap();
        let here = channel.wait().unwrap();
        assert!(matches!(here, Some((Message::Here, _))), "{here:?}");
        let last = channel.wait().unwrap().map(|(message, _)| message);
        process.wait().unwrap();
        (last, std::fs::remove_file(file).is_ok())
    }

    #[test]
    fn a_shim_that_was_frozen_starts_nothing() {
        // I5: it wakes, and the deadline has passed.
        let now = BootClock.now();
        assert_eq!(told_to_go("late", now), (Some(Message::TooLate), false));
        let later = now.after(std::time::Duration::from_secs(60));
        assert_eq!(told_to_go("in-time", later), (None, true), "its end closes with the execution");
    }

    #[test]
    fn the_command_gets_three_variables_of_ours() {
        let command = prepared(&["env".into(), "-0".into()], &office());
        let set: Vec<_> = command.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
        assert_eq!(set.len(), 3, "{set:?}");
        assert!(set.contains(&("TENURE_TOKEN".as_ref(), "7".as_ref())));
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-0"]);
    }
}
