//! The story of one world, kept only when somebody wants to read it.

use std::fmt::Write as _;

/// Something on a node's lane of the picture, from one true time to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// It may act as leader.
    Believes,
    /// It is over for it, and its work winds down within its grace.
    WindsDown,
    /// It is frozen.
    Frozen,
    /// It is dead.
    Down,
}

/// What happened, line by line and lane by lane.
#[derive(Clone, Debug, Default)]
pub struct Tale {
    /// The names of the lanes, nodes first and servers last.
    pub lanes: Vec<String>,
    /// Lines of text: true time in nanoseconds, lane, what.
    pub lines: Vec<(u64, usize, String)>,
    /// Bars: lane, what, from, to.
    pub spans: Vec<(usize, Span, u64, u64)>,
    /// Messages that were lost: when, from which lane, to which, what.
    pub lost: Vec<(u64, usize, usize, String)>,
    open: Vec<(usize, Span, u64)>,
}

impl Tale {
    /// A tale with these lanes.
    pub fn new(lanes: Vec<String>) -> Self {
        Tale { lanes, ..Tale::default() }
    }

    /// Adds a line.
    pub fn say(&mut self, time: u64, lane: usize, line: impl Into<String>) {
        self.lines.push((time, lane, line.into()));
    }

    /// Begins a bar, unless it runs already.
    pub fn begin(&mut self, time: u64, lane: usize, span: Span) {
        if !self.open.iter().any(|(other, kind, _)| (*other, *kind) == (lane, span)) {
            self.open.push((lane, span, time));
        }
    }

    /// Ends a bar, if it runs.
    pub fn end(&mut self, time: u64, lane: usize, span: Span) {
        if let Some(at) = self.open.iter().position(|(other, kind, _)| (*other, *kind) == (lane, span)) {
            let (_, _, from) = self.open.swap_remove(at);
            self.spans.push((lane, span, from, time));
        }
    }

    /// Ends all bars.
    pub fn close(&mut self, time: u64) {
        for (lane, span, from) in std::mem::take(&mut self.open) {
            self.spans.push((lane, span, from, time));
        }
    }

    /// As text for a terminal.
    pub fn text(&self) -> String {
        let wide = self.lanes.iter().map(String::len).max().unwrap_or(0);
        let mut text = String::new();
        for (time, lane, line) in &self.lines {
            let _ = writeln!(text, "{:>12.6} s  {:wide$}  {line}", *time as f64 / 1e9, self.lanes[*lane]);
        }
        text
    }
}
