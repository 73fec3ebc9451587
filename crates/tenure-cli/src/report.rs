//! What `run` tells: sentences for people, one JSON object a line for programs.
//!
//! All of it is written by a thread of its own, because nobody knows whether the other end of a pipe is read: a supervisor that waits for a
//! reader would miss its own deadline.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tracing::level_filters::LevelFilter;

use crate::exit::Exit;
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

/// How a sentence is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Warning,
    Failure,
}

/// The way to the thread that writes.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    lines: SyncSender<Line>,
    json: Json,
    colour: bool,
}

#[derive(Debug)]
enum Line {
    Sentence(String),
    Event(String),
    Flush(SyncSender<()>),
}

impl Report {
    /// Starts writing; an error only where the file cannot be opened.
    pub(crate) fn new(json: Json) -> Result<Report, Exit> {
        let file: Option<Box<dyn Write + Send>> = match &json {
            Json::Off => None,
            Json::Stderr => Some(Box::new(io::stderr())),
            Json::File(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                Some(Box::new(file.map_err(|error| Exit::usage(format!("--json={path} cannot be written: {error}")))?))
            }
        };
        let (lines, queue) = sync_channel(QUEUE);
        let writer = thread::Builder::new().name("tenure-report".into());
        writer
            .spawn(move || write_all(&queue, file))
            .map_err(|error| Exit::new(crate::exit::Origin::Internal, format!("no thread can be made: {error}")))?;
        Ok(Report { lines, json, colour: is_colourful() })
    }

    /// Tells one fact to whoever reads: people the sentence, unless it is empty, and programs the event.
    pub(crate) fn tell(&self, event: &str, fields: Value, tone: Tone, sentence: &str) {
        if self.json != Json::Off {
            let mut line = Map::new();
            line.insert("event".into(), event.into());
            line.insert("at".into(), wall::now().into());
            if let Value::Object(fields) = fields {
                line.extend(fields);
            }
            self.put(Line::Event(Value::Object(line).to_string()));
        }
        if self.json != Json::Stderr && !sentence.is_empty() {
            self.put(Line::Sentence(self.dressed(tone, sentence)));
        }
    }

    /// The last words: how the process ends, and where that comes from.
    pub(crate) fn close(self, exit: &Exit) {
        let mut fields = serde_json::json!({ "status": exit.status, "origin": exit.origin.as_str() });
        if !exit.sentence.is_empty() {
            fields["message"] = exit.sentence.as_str().into();
        }
        let tone = if exit.status == 0 { Tone::Plain } else { Tone::Failure };
        self.tell("exit", fields, tone, &exit.sentence);
        self.flush();
    }

    /// Waits until everything is written, but not for ever.
    pub(crate) fn flush(&self) {
        let (done, written) = sync_channel(1);
        let begin = Instant::now();
        let mut line = Line::Flush(done);
        while let Err(TrySendError::Full(again)) = self.lines.try_send(line) {
            if begin.elapsed() > PATIENCE {
                return;
            }
            line = again;
            thread::sleep(Duration::from_millis(1));
        }
        let _ = written.recv_timeout(PATIENCE);
    }

    /// Sends what tenure logs the same way.
    pub(crate) fn log(&self, level: LevelFilter) {
        if level == LevelFilter::OFF {
            return;
        }
        let lines = self.lines.clone();
        let subscriber = tracing_subscriber::fmt().with_max_level(level).with_ansi(self.colour);
        subscriber.with_writer(move || LogWriter(lines.clone())).init();
    }

    fn put(&self, line: Line) {
        // A reader that does not keep up loses lines; it must not hold up the supervisor.
        let _ = self.lines.try_send(line);
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

fn write_all(queue: &Receiver<Line>, mut json: Option<Box<dyn Write + Send>>) {
    let mut stderr = io::stderr();
    while let Ok(line) = queue.recv() {
        match line {
            Line::Sentence(sentence) => {
                let _ = stderr.write_all(format!("{sentence}\n").as_bytes());
            }
            Line::Event(event) => {
                // One write a line, so that lines of several processes do not mix.
                let written = json.as_mut().map(|json| json.write_all(format!("{event}\n").as_bytes()));
                if let Some(Err(error)) = written {
                    let _ = stderr.write_all(format!("tenure: the events cannot be written: {error}\n").as_bytes());
                    json = None;
                }
            }
            Line::Flush(done) => drop(done.try_send(())),
        }
    }
}

struct LogWriter(SyncSender<Line>);

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let _ = self.0.try_send(Line::Sentence(text.trim_end_matches('\n').into()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
