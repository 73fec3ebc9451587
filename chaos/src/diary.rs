//! What a process writes down of itself while it lives, and what is read of it afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tenure::backend::TenureId;
use tenure::{BootClock, Clock, Ending, Leadership, Moment};

use crate::call::{Act, Call, Outcome, number};
use crate::record::{Belief, Life, Shown};

/// A file of lines. Each is written at once: it is whole, or it is the last.
#[derive(Clone, Debug)]
pub(crate) struct Diary(Arc<Mutex<File>>);

impl Diary {
    /// One in this file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Diary(Arc::new(Mutex::new(OpenOptions::new().create(true).append(true).open(path)?))))
    }

    pub(crate) fn write(&self, line: fmt::Arguments<'_>) {
        let line = format!("{line}\n");
        let mut file = self.0.lock().expect("nobody panics with it");
        file.write_all(line.as_bytes()).expect("the disk has room for a line");
    }

    pub(crate) fn begins(&self, tenure: &Leadership) {
        let token = number(tenure.token().map(|token| token.get()));
        self.write(format_args!("begins {} {} {token}", now(), tenure.id()));
    }

    /// Until when this tenure counts on its office, the grace included; and whether it counts on it too long.
    pub(crate) fn counts_on(&self, tenure: &Leadership) {
        let before = BootClock.now();
        // Given only while the tenure holds, so what is read after `before` is later than it.
        if let Some(deadline) = tenure.deadline().filter(|deadline| before >= *deadline) {
            self.write(format_args!("late {} {}", before.as_nanos(), deadline.as_nanos()));
        }
        if let Some(expiry) = tenure.expiry() {
            self.write(format_args!("counts-on {} {}", before.as_nanos(), expiry.as_nanos()));
        }
    }

    /// `stopped`: when its work had stopped.
    pub(crate) fn ends(&self, stopped: Moment, ending: Option<Ending>) {
        let voluntary = ending.is_some_and(Ending::is_voluntary);
        self.write(format_args!("ends {} {voluntary}", stopped.as_nanos()));
    }

    pub(crate) fn shows(&self, tenure: Option<TenureId>, token: Option<u64>) {
        let tenure = tenure.map_or_else(|| "-".to_owned(), |tenure| tenure.to_string());
        self.write(format_args!("shows {} {tenure} {}", now(), number(token)));
    }

    /// The wall clock was seen to jump by so many seconds.
    pub(crate) fn wall(&self, seconds: i64) {
        self.write(format_args!("wall {} {seconds}", now()));
    }
}

fn now() -> u64 {
    BootClock.now().as_nanos()
}

/// Reads one life from its diary.
pub(crate) fn read(who: usize, path: &Path) -> Result<Life, String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    // The last line may be cut off by a kill.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    parse(who, &String::from_utf8_lossy(&bytes[..whole]))
}

pub(crate) fn parse(who: usize, text: &str) -> Result<Life, String> {
    let mut life = Life { who, ..Life::default() };
    let mut calls: BTreeMap<u64, Call> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        understood(&mut life, &mut calls, &words)
            .ok_or_else(|| format!("a diary has a line that says nothing: {line}"))?;
    }
    life.calls = calls.into_values().collect();
    Ok(life)
}

fn understood(life: &mut Life, calls: &mut BTreeMap<u64, Call>, words: &[&str]) -> Option<()> {
    let moment = |word: &str| word.parse().ok().map(Moment::from_nanos);
    match words {
        ["begins", at, tenure, token] => {
            let from = moment(at)?;
            let (tenure, token) = (tenure.parse().ok()?, token.parse().ok());
            life.beliefs.push(Belief { who: life.who, tenure, token, from, until: from, given_up: None });
        }
        ["counts-on", _, expiry] => {
            let (belief, expiry) = (life.beliefs.last_mut()?, moment(expiry)?);
            belief.until = belief.until.max(expiry);
        }
        ["ends", at, "true"] => life.beliefs.last_mut()?.given_up = Some(moment(at)?),
        ["ends", _, "false"] => {}
        ["late", at, deadline] => life.late.push((moment(at)?, moment(deadline)?)),
        ["shows", at, tenure, token] => {
            life.shown.push(Shown { at: moment(at)?, tenure: tenure.parse().ok(), token: token.parse().ok() })
        }
        ["wall", _, seconds] => life.wall_jumps.push(seconds.parse().ok()?),
        ["call", number, start, act @ ..] => {
            let call = Call { start: moment(start)?, end: None, act: Act::parse(act)?, outcome: Outcome::Unknown };
            calls.insert(number.parse().ok()?, call);
        }
        ["answer", number, end, outcome @ ..] => {
            let call = calls.get_mut(&number.parse().ok()?)?;
            (call.end, call.outcome) = (Some(moment(end)?), Outcome::parse(outcome)?);
        }
        _ => return None,
    }
    Some(())
}
