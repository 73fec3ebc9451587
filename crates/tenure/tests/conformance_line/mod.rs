//! The line between a client and a store in this process, which can be cut and frozen.

use tenure::Error;
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Severed,
    Frozen,
    /// Requests go through, answers do not.
    Mute,
}

/// One client's line.
#[derive(Debug)]
pub(crate) struct Line(watch::Sender<State>);

impl Default for Line {
    fn default() -> Self {
        Line(watch::Sender::new(State::Open))
    }
}

impl Line {
    pub(crate) fn sever(&self) {
        self.0.send_replace(State::Severed);
    }

    pub(crate) fn freeze(&self) {
        self.0.send_replace(State::Frozen);
    }

    pub(crate) fn mute(&self) {
        self.0.send_replace(State::Mute);
    }

    pub(crate) fn heal(&self) {
        self.0.send_replace(State::Open);
    }

    /// A call over this line: it hangs while the line is frozen, and fails when it is cut before or after the store has done its part.
    pub(crate) async fn carry<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        // Others get their turn between any two calls, as they do on a network.
        tokio::task::yield_now().await;
        if self.thawed().await == State::Severed {
            return Err(Error::unavailable("the line is cut"));
        }
        let answer = call.await;
        if self.thawed().await != State::Open {
            return Err(Error::unknown_outcome("the line was cut before the answer came"));
        }
        answer
    }

    /// Waits until it is cut.
    #[allow(dead_code, reason = "only stores that push need it")]
    pub(crate) async fn cut(&self) {
        let mut state = self.0.subscribe();
        let _ = state.wait_for(|state| *state == State::Severed).await;
    }

    async fn thawed(&self) -> State {
        let mut state = self.0.subscribe();
        let thawed = state.wait_for(|state| *state != State::Frozen).await;
        thawed.map_or(State::Severed, |state| *state)
    }
}
