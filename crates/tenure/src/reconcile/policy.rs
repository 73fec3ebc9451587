//! The numbers of the loop.

use std::{error::Error, fmt, num::NonZeroU32, time::Duration};

/// How long the loop waits and how often it tries.
///
/// | setting | unless set |
/// | --- | --- |
/// | [`end_attempts`](Self::end_attempts) | 12 |
/// | [`end_retry_interval`](Self::end_retry_interval) | 5 s |
/// | [`error_timeout`](Self::error_timeout) | 30 s |
/// | [`shutdown_timeout`](Self::shutdown_timeout) | 7 s |
/// | [`release_timeout`](Self::release_timeout) | 2 s |
///
/// The last two together are how long stopping may take: 9 s, so that a process told to stop has
/// gone within 10 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Policy {
    end_attempts: NonZeroU32,
    end_retry_interval: Duration,
    error_timeout: Duration,
    shutdown_timeout: Duration,
    release_timeout: Duration,
}

impl Policy {
    /// Sets how often `end` is tried after an error before the run ends with
    /// [`Failure::EndKeptFailing`](super::Failure::EndKeptFailing). At least once.
    pub fn with_end_attempts(mut self, attempts: u32) -> Result<Self, PolicyError> {
        self.end_attempts = NonZeroU32::new(attempts).ok_or(PolicyError::NoAttempts)?;
        Ok(self)
    }

    /// Sets the pause after an `end` that failed. More than zero.
    pub fn with_end_retry_interval(mut self, interval: Duration) -> Result<Self, PolicyError> {
        self.end_retry_interval = positive("end retry interval", interval)?;
        Ok(self)
    }

    /// Sets how long this process sits out after an error before it runs for the office again. More
    /// than zero.
    pub fn with_error_timeout(mut self, timeout: Duration) -> Result<Self, PolicyError> {
        self.error_timeout = positive("error timeout", timeout)?;
        Ok(self)
    }

    /// Sets how long handlers may go on once the run is to stop. More than zero.
    pub fn with_shutdown_timeout(mut self, timeout: Duration) -> Result<Self, PolicyError> {
        self.shutdown_timeout = positive("shutdown timeout", timeout)?;
        Ok(self)
    }

    /// Sets how long giving the office up may take. More than zero.
    pub fn with_release_timeout(mut self, timeout: Duration) -> Result<Self, PolicyError> {
        self.release_timeout = positive("release timeout", timeout)?;
        Ok(self)
    }

    /// How often `end` is tried after an error. The `end` of a plain
    /// [`State::NotLeader`](super::State::NotLeader), whose failure is such an error, is not
    /// counted.
    pub fn end_attempts(&self) -> u32 {
        self.end_attempts.get()
    }

    /// The pause after an `end` that failed.
    pub fn end_retry_interval(&self) -> Duration {
        self.end_retry_interval
    }

    /// How long this process sits out after an error. The `error` handler, which runs before that,
    /// may take as long again.
    pub fn error_timeout(&self) -> Duration {
        self.error_timeout
    }

    /// How long handlers may go on once the run is to stop.
    pub fn shutdown_timeout(&self) -> Duration {
        self.shutdown_timeout
    }

    /// How long giving the office up may take.
    pub fn release_timeout(&self) -> Duration {
        self.release_timeout
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            end_attempts: NonZeroU32::new(12).expect("12 is not zero"),
            end_retry_interval: Duration::from_secs(5),
            error_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_secs(7),
            release_timeout: Duration::from_secs(2),
        }
    }
}

/// A number was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// `end` would never be tried.
    NoAttempts,
    /// A time of zero: the loop would spin, or give up before it tried.
    Zero {
        /// The setting.
        setting: &'static str,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAttempts => f.write_str("the end handler would never be tried: allow at least one attempt"),
            Self::Zero { setting } => write!(f, "the {setting} is zero: set it to more than zero"),
        }
    }
}

impl Error for PolicyError {}

fn positive(setting: &'static str, time: Duration) -> Result<Duration, PolicyError> {
    if time.is_zero() { Err(PolicyError::Zero { setting }) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SEEDS 45, 47, 52
    #[test]
    fn the_numbers_unless_set_are_those_of_elector_and_let_a_process_stop_within_ten_seconds() {
        let policy = Policy::default();
        assert_eq!(policy.end_attempts(), 12);
        assert_eq!(policy.end_retry_interval(), Duration::from_secs(5));
        assert_eq!(policy.error_timeout(), Duration::from_secs(30));
        assert!(policy.shutdown_timeout() + policy.release_timeout() < Duration::from_secs(10));
    }

    #[test]
    fn zero_is_refused_everywhere_and_the_refusal_names_the_setting() {
        let policy = Policy::default();
        assert_eq!(policy.with_end_attempts(0), Err(PolicyError::NoAttempts));
        let refusals = [
            ("end retry interval", policy.with_end_retry_interval(Duration::ZERO)),
            ("error timeout", policy.with_error_timeout(Duration::ZERO)),
            ("shutdown timeout", policy.with_shutdown_timeout(Duration::ZERO)),
            ("release timeout", policy.with_release_timeout(Duration::ZERO)),
        ];
        for (setting, refused) in refusals {
            assert_eq!(refused, Err(PolicyError::Zero { setting }));
        }
    }

    #[test]
    fn what_is_set_is_what_is_told() -> Result<(), PolicyError> {
        let seconds = Duration::from_secs;
        let policy = Policy::default()
            .with_end_attempts(1)?
            .with_end_retry_interval(seconds(2))?
            .with_error_timeout(seconds(3))?
            .with_shutdown_timeout(seconds(4))?
            .with_release_timeout(seconds(5))?;
        assert_eq!(policy.end_attempts(), 1);
        let told =
            [policy.end_retry_interval(), policy.error_timeout(), policy.shutdown_timeout(), policy.release_timeout()];
        assert_eq!(told, [2, 3, 4, 5].map(seconds));
        Ok(())
    }
}
