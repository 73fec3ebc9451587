//! What `run` tells: sentences for people, one JSON object a line for programs.
//!
//! All of it is written by a thread of its own, because nobody knows whether the other end of a pipe is read: a supervisor that waits for a
//! reader would miss its own deadline.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tenure::Alarm;
use tracing::level_filters::LevelFilter;

use crate::exit::{Exit, Origin};
use crate::wall;

/// How much may wait to be written; what comes beyond is dropped.
const QUEUE: usize = 1024;
/// How long the last words are waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the JSON lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// Nowhere: people read.
    Off,
    /// To the standard error stream, in place of sentences; the standard output is the command's.
    Stderr,
    /// To the end of this file.
    File(String),
}

impl Json {
    /// As the flag or the variable names it.
    pub(crate) fn named(text: Option<&str>) -> Json {
        match text {
            None | Some("" | "0" | "false" | "no" | "off") => Json::Off,
            Some("-" | "1" | "true" | "yes" | "on") => Json::Stderr,
            Some(path) => Json::File(path.into()),
        }
    }

    /// Adds one line to a file, for whoever writes no other.
    pub(crate) fn append(path: &str, line: &str) {
        if let Err(error) = Json::open(path).and_then(|mut file| writeln!(file, "{line}")) {
            crate::eprintln_safely(&format!("tenure: --json={path} cannot be written: {error}"));
        }
    }

    fn open(path: &str) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).open(path)
    }
}

/// How a sentence is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Warning,
    Failure,
}

/// The ways to the threads that write.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    people: Sink,
    /// Nothing where nobody asked for it.
    programs: Option<Sink>,
    json: Json,
    colour: bool,
}

impl Report {
    /// Starts writing; an error only where the file cannot be opened.
    pub(crate) fn new(json: Json) -> Result<Report, Exit> {
        let people = Sink::new("tenure-report", io::stderr())?;
        let programs = match &json {
            Json::Off => None,
            Json::Stderr => Some(people.clone()),
            Json::File(path) => {
                let file = Json::open(path)
                    .map_err(|error| Exit::usage(format!("--json={path} cannot be written: {error}")))?;
                // A thread of its own: a terminal that does not read must not hold up a file.
                Some(Sink::new("tenure-events", file)?)
            }
        };
        Ok(Report { people, programs, json, colour: is_colourful() })
    }

    /// Tells one fact to whoever reads: people the sentence, unless it is empty, and programs the event.
    pub(crate) fn tell(&self, event: &str, fields: Value, tone: Tone, sentence: &str) {
        if let Some(programs) = &self.programs {
            let mut line = Map::new();
            line.insert("event".into(), event.into());
            line.insert("at".into(), wall::now().into());
            if let Value::Object(fields) = fields {
                line.extend(fields);
            }
            programs.put(Value::Object(line).to_string());
        }
        if self.json != Json::Stderr && !sentence.is_empty() {
            self.people.put(self.dressed(tone, sentence));
        }
    }

    /// Tells what a person should look at, and which flag is meant.
    pub(crate) fn alarm(&self, alarm: &Alarm) {
        let flag = match alarm {
            Alarm::TokenWentBack { .. } | Alarm::StoreReplaced { seen: Some(_) } => "; --token-base sets it",
            _ => "",
        };
        let sentence = format!("{alarm}{flag}");
        self.tell("alarm", json!({ "message": sentence }), Tone::Failure, &sentence);
    }

    /// The last words: how the process ends, and where that comes from.
    pub(crate) fn close(self, exit: &Exit) {
        let mut fields = json!({ "status": exit.status, "origin": exit.origin.as_str() });
        if !exit.sentence.is_empty() {
            fields["message"] = exit.sentence.as_str().into();
        }
        let tone = if exit.status == 0 { Tone::Plain } else { Tone::Failure };
        let until = Instant::now() + PATIENCE;
        // Room for it first: the last line is the one that must not be dropped.
        self.flush(until);
        self.tell("exit", fields, tone, &exit.sentence);
        self.flush(until);
    }

    fn flush(&self, until: Instant) {
        for sink in self.programs.iter().chain([&self.people]) {
            sink.flush(until);
        }
    }

    /// Sends what tenure logs the same way.
    pub(crate) fn log(&self, level: LevelFilter) {
        if level == LevelFilter::OFF {
            return;
        }
        let people = self.people.clone();
        let subscriber = tracing_subscriber::fmt().with_max_level(level).with_ansi(self.colour);
        subscriber.with_writer(move || LogWriter(people.clone())).init();
    }

    fn dressed(&self, tone: Tone, sentence: &str) -> String {
        let colour = match tone {
            Tone::Plain => "\u{1b}[2m",
            Tone::Warning => "\u{1b}[33m",
            Tone::Failure => "\u{1b}[31m",
        };
        if self.colour { format!("{colour}tenure:\u{1b}[0m {sentence}") } else { format!("tenure: {sentence}") }
    }
}

/// Colour is for people who look at a terminal and have not asked for none.
pub(crate) fn is_colourful() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stderr().is_terminal() && !unwanted && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A queue to a thread that writes lines somewhere.
#[derive(Clone, Debug)]
struct Sink(SyncSender<Line>);

#[derive(Debug)]
enum Line {
    Text(String),
    Flush(SyncSender<()>),
}

impl Sink {
    fn new(name: &str, mut to: impl Write + Send + 'static) -> Result<Sink, Exit> {
        let (lines, queue) = sync_channel(QUEUE);
        let writer = thread::Builder::new().name(name.into()).spawn(move || write_all(&queue, &mut to));
        writer.map_err(|error| Exit::new(Origin::Internal, format!("no thread can be made: {error}")))?;
        Ok(Sink(lines))
    }

    fn put(&self, line: String) {
        // A reader that does not keep up loses lines; it must not hold up the supervisor.
        let _ = self.0.try_send(Line::Text(line));
    }

    /// Waits until everything is written, but no longer than this.
    fn flush(&self, until: Instant) {
        let (done, written) = sync_channel(1);
        let mut line = Line::Flush(done);
        while let Err(TrySendError::Full(again)) = self.0.try_send(line) {
            if Instant::now() > until {
                return;
            }
            line = again;
            thread::sleep(Duration::from_millis(1));
        }
        let _ = written.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

fn write_all(queue: &Receiver<Line>, to: &mut impl Write) {
    let mut complained = false;
    while let Ok(line) = queue.recv() {
        match line {
            // One write a line, so that lines of several processes do not mix.
            Line::Text(text) => {
                if let Err(error) = to.write_all(format!("{text}\n").as_bytes())
                    && !std::mem::replace(&mut complained, true)
                {
                    crate::eprintln_safely(&format!("tenure: what happens cannot be written down: {error}"));
                }
            }
            Line::Flush(done) => drop(done.try_send(())),
        }
    }
}

struct LogWriter(Sink);

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.put(String::from_utf8_lossy(line).trim_end_matches('\n').into());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other end of a pipe that nobody reads.
    struct Stuck;

    impl Write for Stuck {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            loop {
                thread::park();
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_does_not_read_is_waited_for_once() {
        let people = Sink::new("stuck", Stuck).unwrap();
        let report = Report { programs: Some(people.clone()), people, json: Json::Stderr, colour: false };
        for _ in 0..2 * QUEUE {
            report.tell("renewed", Value::Null, Tone::Plain, "");
        }
        let begin = Instant::now();
        report.close(&Exit::usage("over"));
        assert!(begin.elapsed() < PATIENCE * 3, "{:?}", begin.elapsed());
    }
}
