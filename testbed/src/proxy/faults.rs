//! What a proxy is told to do.

use std::time::Duration;

/// How a proxy treats what passes through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Open,
    /// Everything is reset, and nobody listens.
    Cut,
    /// Swallows both ways.
    HalfOpen,
    /// Swallows answers.
    Mute,
    /// Keeps everything for later.
    Stalled,
    /// The proxy is being dropped.
    Closed,
}

/// All of it, as every connection sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    pub(super) state: State,
    pub(super) delay: Duration,
    /// How often all connections were reset; one that saw fewer is to go.
    pub(super) resets: u64,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToServer,
    ToClient,
}

impl Faults {
    pub(super) fn swallows(&self, direction: Direction) -> bool {
        match self.state {
            State::HalfOpen => true,
            State::Mute => direction == Direction::ToClient,
            _ => false,
        }
    }
}
