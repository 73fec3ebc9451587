//! Who ends a server when its user is gone, however that went.
//!
//! A destructor does not run when a process is killed, and the kernel's parent-death signal comes when the *thread* ends that started the
//! child. So each server is started by a small shell that holds one end of a pipe: when the other end closes, by whatever end of the
//! user, the shell kills the server's whole session and removes its folder.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::Failure;
use crate::failure::While;

/// `$1` is the folder, the rest is the server. The shell does not reap the server before it waits for it, so that the number it kills is
/// nobody else's. The number is told before anything can go wrong; the session may not be there yet, then the process alone is killed. What
/// the server started dies a moment after it, and is waited for too, but not for ever: nobody may reap it.
const SCRIPT: &str = r#"
folder=$1
shift
setsid "$@" </dev/null >>"$folder/log" 2>&1 &
echo $!
read -r word
kill -s KILL -- -$! $! 2>/dev/null
wait $!
tries=30
while [ $tries -gt 0 ] && kill -s 0 -- -$! 2>/dev/null; do
    tries=$((tries - 1))
    sleep 0.01
done
[ "$word" = end ] || rm -rf -- "$folder"
"#;

/// A server's process and the shell that guards it.
#[derive(Debug)]
pub(crate) struct Warden {
    shell: Child,
    /// Held open for as long as the server is wanted.
    word: Option<ChildStdin>,
    server: Pid,
}

impl Warden {
    /// Starts a server that writes to `log` in `folder`.
    pub(crate) fn start(server: &Command, folder: &Path) -> Result<Self, Failure> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "warden"]).arg(folder).arg(server.get_program()).args(server.get_args());
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(server.get_current_dir().unwrap_or(folder));
        // Ctrl-C at a terminal goes to the user's group only; the pipe tells of it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = command.spawn().when("sh could not be started")?;
        let (word, output) = (shell.stdin.take(), shell.stdout.take().expect("piped"));
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).when("the warden did not speak")?;
        let number = line.trim().parse().ok().and_then(Pid::from_raw);
        let server = number.ok_or_else(|| Failure::new("the warden told no process number"))?;
        Ok(Warden { shell, word, server })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.server
    }

    /// Whether the server is there: neither gone nor dead and not yet reaped.
    pub(crate) fn is_running(&self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", self.server.as_raw_nonzero()));
        // The name before it may hold anything, brackets too.
        let state = status.ok().and_then(|line| line.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()));
        state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
    }

    /// A signal to the server alone.
    pub(crate) fn tell(&self, signal: Signal) -> Result<(), Failure> {
        kill_process(self.server, signal).when("the server could not be told")
    }

    /// A signal to the server and all that it started.
    pub(crate) fn tell_all(&self, signal: Signal) -> Result<(), Failure> {
        kill_process_group(self.server, signal).when("the server could not be told")
    }
}

impl Drop for Warden {
    /// Kills the server, and returns when it is gone.
    fn drop(&mut self) {
        if let Some(mut word) = self.word.take() {
            let _ = word.write_all(b"end\n");
        }
        let _ = self.shell.wait();
    }
}
