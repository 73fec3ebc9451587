//! Stops a process at every system call, and kills it at one of them.

use std::collections::HashMap;

use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::world::Process;

/// A system call of a traced process as it entered the kernel: its number, and the file that its first argument is a descriptor of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) number: i64,
    pub(crate) file: String,
}

/// What became of a traced process.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) calls: Vec<Call>,
    /// It was killed, and did not end by itself.
    pub(crate) killed: bool,
}

/// Lets a process that waits for a line go on, and kills it at the `stop`-th time that it enters or leaves the kernel after that, if it comes so
/// far.
pub(crate) fn trace(process: &mut Process, stop: usize) -> Trace {
    let leader = Pid::from_raw(process.child.id() as i32);
    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    ptrace::seize(leader, options).expect("one's own child can be traced");
    ptrace::interrupt(leader).expect("it is traced");
    // Only what this thread started: other tests have children too.
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    let next = || waitpid(None, Some(flags));
    while next().expect("it stops").pid() != Some(leader) {}
    process.tell("go");
    let mut inside: HashMap<Pid, bool> = HashMap::new();
    let mut trace = Trace { calls: Vec::new(), killed: false };
    let mut stops = 0;
    // A process that is being killed may be gone before it is told to go on.
    let go_on = |thread, signal| {
        let _ = ptrace::syscall(thread, signal);
    };
    go_on(leader, None);
    loop {
        match next() {
            Ok(WaitStatus::PtraceSyscall(thread)) => {
                stops += 1;
                let inside = inside.entry(thread).or_default();
                *inside = !*inside;
                if *inside {
                    trace.calls.extend(call(thread));
                }
                if stops == stop {
                    trace.killed = true;
                    nix::sys::signal::kill(leader, nix::sys::signal::Signal::SIGKILL).expect("it is ours");
                }
                go_on(thread, None);
            }
            Ok(WaitStatus::PtraceEvent(thread, ..)) => go_on(thread, None),
            Ok(WaitStatus::Stopped(thread, signal)) => go_on(thread, Some(signal)),
            Ok(WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..)) if thread == leader => return trace,
            Ok(_) => {}
            Err(_) => return trace,
        }
    }
}

/// What the kernel says that a stopped thread is doing.
fn call(thread: Pid) -> Option<Call> {
    let words = std::fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
    let mut words = words.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let descriptor = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).unwrap_or(u64::MAX);
    let file = std::fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).unwrap_or_default();
    Some(Call { number, file: file.to_string_lossy().into_owned() })
}
