//! The demo at a terminal: a picture that is drawn ten times a second, and keys.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::stage::{Candidate, OFFICE, Part, Stage, TTL};
use crate::exit::{Exit, Origin};

const FRAME: Duration = Duration::from_millis(100);
const BAR: usize = 24;

/// Shows it until somebody leaves.
pub(crate) fn show(mut stage: Stage) -> Result<(), Exit> {
    let raw = RawTerminal::enter()?;
    let keys = keys();
    let mut said =
        String::from("The leader's command is a sleep. Kill or freeze the leader, and watch the office move.");
    loop {
        stage.reap();
        let mut stdout = io::stdout().lock();
        let picture = framed(picture(&stage, &said), tcgetwinsize(io::stdout()).map_or(0, |size| size.ws_row));
        let drawn = stdout.write_all(picture.as_bytes()).and_then(|()| stdout.flush());
        drawn.map_err(|error| Exit::new(Origin::Output, error.to_string()))?;
        drop(stdout);
        match keys.recv_timeout(FRAME) {
            // What Ctrl-C and Ctrl-D send in this mode.
            Ok(b'q' | 3 | 4) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(key) => {
                if let Some(word) = pressed(&mut stage, key)? {
                    said = word;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    drop(raw);
    drop(stage);
    crate::output::line("All are stopped, and nothing is left running.")
}

fn pressed(stage: &mut Stage, key: u8) -> Result<Option<String>, Exit> {
    let leader = stage.leader();
    Ok(match (key, leader) {
        (b'k', Some(number)) => {
            stage.candidates[number].kill();
            Some(format!(
                "{} was killed. Its guardian ends its command and gives the office up.",
                stage.candidates[number].name
            ))
        }
        (b'f', Some(number)) => {
            stage.candidates[number].freeze();
            let name = stage.candidates[number].name;
            Some(format!("{name} is frozen. At its deadline the guardian ends its command; then another may lead."))
        }
        (b't', _) => {
            stage.candidates.iter_mut().filter(|candidate| candidate.frozen).for_each(Candidate::thaw);
            Some("All are thawed. Whoever was frozen for too long finds that it does not lead any more.".into())
        }
        (b's', _) => {
            for number in 0..stage.candidates.len() {
                stage.start(number)?;
            }
            Some("All that were killed are started again.".into())
        }
        (b'k' | b'f', None) => Some("Nobody leads at this moment.".into()),
        _ => None,
    })
}

fn picture(stage: &Stage, said: &str) -> Vec<String> {
    let mut lines = vec![
        format!("\u{1b}[1mtenure demo\u{1b}[0m   office {OFFICE}, lease {}", crate::duration::shown(TTL)),
        String::new(),
        "\u{1b}[2mcandidate   state       token              since   until the deadline\u{1b}[0m".into(),
    ];
    let leader = stage.leader();
    lines.extend(stage.candidates.iter().enumerate().map(|(number, one)| row(one, leader == Some(number))));
    lines.extend([String::new(), said.into(), String::new()]);
    lines.push("[k]ill the leader   [f]reeze it   [t]haw   [s]tart the killed   [q]uit".into());
    lines
}

/// The picture from the upper left corner on, over the last one. On a screen with too few rows (0 is unknown) the blank lines go first, then
/// the heading; what is too wide the terminal cuts.
fn framed(mut lines: Vec<String>, rows: u16) -> String {
    let rows = if rows == 0 { usize::MAX } else { usize::from(rows) };
    if lines.len() > rows {
        lines.retain(|line| !line.is_empty());
    }
    lines.drain(..lines.len().saturating_sub(rows));
    format!("\u{1b}[H{}\u{1b}[K\u{1b}[J", lines.join("\u{1b}[K\r\n"))
}

fn row(candidate: &Candidate, is_leader: bool) -> String {
    let heard = candidate.heard();
    let state = match (candidate.is_alive(), candidate.frozen, heard.part) {
        (false, ..) => "dead",
        (_, true, _) => "frozen",
        (.., Part::Starting) => "starting",
        (.., Part::Waiting) => "waiting",
        (.., Part::Leading) => "leading",
        (.., Part::Stopping) => "stopping",
        (.., Part::Gone) => "dead",
    };
    let colour = match state {
        "leading" => "\u{1b}[32m",
        "dead" => "\u{1b}[31m",
        "frozen" => "\u{1b}[36m",
        _ => "",
    };
    let mut row = format!("{colour}{:<11} {state:<11}", candidate.name);
    if is_leader && heard.part == Part::Leading {
        let token = heard.token.map(|token| token.to_string()).unwrap_or_default();
        let since = heard.since.map(|since| since.elapsed().as_secs()).unwrap_or_default();
        let left =
            heard.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())).unwrap_or_default();
        let filled = ((left.as_secs_f64() / TTL.as_secs_f64()) * BAR as f64).ceil() as usize;
        let bar = format!("{}{}", "█".repeat(filled.min(BAR)), "░".repeat(BAR.saturating_sub(filled)));
        let _ = write!(row, " {token:<18} {since:>3}s    {bar} {:.1}s", left.as_secs_f64());
    }
    row + "\u{1b}[0m"
}

/// Keys one by one, read by a thread of their own.
fn keys() -> Receiver<u8> {
    let (sender, keys) = channel();
    thread::spawn(move || {
        let mut key = [0];
        while io::stdin().read_exact(&mut key).is_ok() && sender.send(key[0]).is_ok() {}
    });
    keys
}

/// A terminal that gives keys at once, on a screen of its own; as it was before when this is dropped.
struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    fn enter() -> Result<Self, Exit> {
        let failed =
            |error: rustix::io::Errno| Exit::new(Origin::Internal, format!("the terminal does not obey: {error}"));
        let before = tcgetattr(io::stdin()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw).map_err(failed)?;
        // Lines that are too wide are cut, and not wrapped.
        print!("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[2J");
        Ok(RawTerminal { before })
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        let mut stdout = io::stdout();
        let _ = stdout.write_all(b"\x1b[?7h\x1b[?25h\x1b[?1049l");
        let _ = stdout.flush();
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_never_has_more_lines_than_the_screen() {
        let lines = ["title", "", "a", "b", "", "keys"].map(str::to_owned).to_vec();
        for (rows, expected) in [(0, 6), (24, 6), (6, 6), (5, 4), (3, 3), (1, 1)] {
            let framed = framed(lines.clone(), rows);
            assert_eq!(framed.matches("\r\n").count() + 1, expected, "{rows} rows: {framed:?}");
            assert!(framed.contains("keys"), "{framed:?}");
        }
    }
}
