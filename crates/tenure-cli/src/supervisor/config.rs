//! What a supervisor is told.

use std::ffi::OsString;
use std::time::Duration;

use clap::ValueEnum;
use rustix::process::Signal;
use tenure::Promise;

use crate::process::Brief;
use crate::process::containment::{Level, Wanted};
use crate::timing::Durations;
use crate::url::BackendUrl;

/// What happens when the command ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnExit {
    /// Give the office up, and exit with the command's status
    Resign,
    /// Keep the office, and start the command again
    Restart,
    /// Give the office up, and run for it again
    Campaign,
}

/// What happens when leadership is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AfterLoss {
    /// Exit with status 75
    Exit,
    /// Run for the office again
    Campaign,
}

/// How long to wait for the office.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// For ever.
    Endless,
    /// So long.
    For(Duration),
    /// Not at all.
    None,
}

/// Everything that `run` was asked for, checked.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) election: String,
    /// Nothing for the office itself.
    pub(crate) slots: Option<u32>,
    pub(crate) id: String,
    pub(crate) place: BackendUrl,
    /// What is added to the store's numbers to make tokens.
    pub(crate) token_base: u64,
    pub(crate) command: Vec<OsString>,
    pub(crate) durations: Durations,
    pub(crate) at_least: Duration,
    /// From winning to starting the command; `None` for what the backend's peers demand.
    pub(crate) settle: Option<Duration>,
    pub(crate) patience: Patience,
    pub(crate) signal: Signal,
    pub(crate) on_exit: OnExit,
    pub(crate) after_loss: AfterLoss,
    pub(crate) containment: Wanted,
    pub(crate) required_containment: Option<Level>,
    pub(crate) required_promise: Option<Promise>,
}

impl Config {
    /// The offices: one, or the first free of several.
    pub(crate) fn seats(&self) -> Vec<String> {
        match self.slots {
            None => vec![self.election.clone()],
            Some(slots) => (1..=slots).map(|slot| format!("{}/{slot}", self.election)).collect(),
        }
    }

    pub(crate) fn brief(&self, at_terminal: bool) -> Brief {
        Brief {
            margin: self.durations.kill_margin,
            grace: self.durations.grace,
            signal: self.signal.as_raw(),
            wanted: self.containment,
            at_terminal,
        }
    }
}
