//! The signals that a supervisor hears, and what their names are.

use std::fs;
use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

use crate::process::message::Reach;

/// What is passed on, and to whom: what a terminal sends goes to the whole process group, as from a terminal; what one sends to a program
/// goes to the command.
const FORWARDED: [(Signal, Reach); 9] = [
    (Signal::TERM, Reach::Group),
    (Signal::INT, Reach::Group),
    (Signal::QUIT, Reach::Group),
    (Signal::TSTP, Reach::Group),
    (Signal::CONT, Reach::Group),
    (Signal::HUP, Reach::Command),
    (Signal::USR1, Reach::Command),
    (Signal::USR2, Reach::Command),
    (Signal::WINCH, Reach::Command),
];

/// Names as `--signal` takes them.
const NAMES: [(&str, Signal); 12] = [
    ("HUP", Signal::HUP),
    ("INT", Signal::INT),
    ("QUIT", Signal::QUIT),
    ("ABRT", Signal::ABORT),
    ("KILL", Signal::KILL),
    ("ALRM", Signal::ALARM),
    ("TERM", Signal::TERM),
    ("USR1", Signal::USR1),
    ("USR2", Signal::USR2),
    ("CONT", Signal::CONT),
    ("TSTP", Signal::TSTP),
    ("WINCH", Signal::WINCH),
];

/// The signals that may come.
#[derive(Debug)]
pub(crate) struct Signals(Vec<(Signal, Reach, unix::Signal)>);

impl Signals {
    /// Listens from now on. What was ignored when this process began stays ignored, for the command too: that is what `nohup` means.
    pub(crate) fn listen() -> io::Result<Signals> {
        let ignored = ignored();
        let heard = FORWARDED.into_iter().filter(|(signal, _)| ignored & (1 << (signal.as_raw() - 1)) == 0);
        let heard =
            heard.map(|(signal, reach)| Ok((signal, reach, unix::signal(SignalKind::from_raw(signal.as_raw()))?)));
        Ok(Signals(heard.collect::<io::Result<_>>()?))
    }

    /// The next one, and whom it is meant for.
    pub(crate) async fn next(&mut self) -> (Signal, Reach) {
        std::future::poll_fn(|context| {
            for (signal, reach, stream) in &mut self.0 {
                if stream.poll_recv(context).is_ready() {
                    return Poll::Ready((*signal, *reach));
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Undoes an ignored SIGCHLD: a parent that ignores it hands that down, and then the kernel tells nobody how a child has ended. What is
/// executed from here on begins with the default, the guardian and the command too.
pub(crate) fn hear_of_deaths() -> io::Result<()> {
    if !is_ignored(Signal::CHILD) {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _within = runtime.enter();
    // The handler stays when nobody listens any more.
    unix::signal(SignalKind::child()).map(drop)
}

fn is_ignored(signal: Signal) -> bool {
    ignored() & (1 << (signal.as_raw() - 1)) != 0
}

/// The mask of signals that this process ignores; none where `/proc` does not tell.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Reads `TERM`, `SIGTERM` or `15`.
pub(crate) fn parse(text: &str) -> Result<Signal, String> {
    let upper = text.trim().to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known = NAMES.iter().find(|(known, signal)| *known == name || signal.as_raw().to_string() == name);
    known.map(|(_, signal)| *signal).ok_or_else(|| {
        let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
        format!("there is no signal `{text}`; there is {}", names.join(", "))
    })
}

/// `SIGTERM`, or the number of one that is rarely seen.
pub(crate) fn name(signal: i32) -> String {
    let known = NAMES.iter().find(|(_, known)| known.as_raw() == signal);
    known.map_or_else(|| format!("signal {signal}"), |(name, _)| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_as_people_name_them() {
        for text in ["TERM", "SIGTERM", "term", "15"] {
            assert_eq!(parse(text), Ok(Signal::TERM));
        }
        assert!(parse("SIGFOO").unwrap_err().contains("TERM"));
        assert_eq!(name(9), "SIGKILL");
        assert_eq!(name(11), "signal 11");
    }
}
