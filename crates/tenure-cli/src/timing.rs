//! The durations of `run`: what the flags say, what follows from the lease, and what would not be safe (SAFETY 2).

use std::time::Duration;

use tenure::RateBound;

use crate::duration::shown;
use crate::exit::Exit;

/// The durations as they were asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) ttl: Option<Duration>,
    pub(crate) renew: Option<Duration>,
    pub(crate) retry: Option<Duration>,
    pub(crate) grace: Option<Duration>,
    pub(crate) kill_margin: Option<Duration>,
}

/// The durations as they fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Durations {
    pub(crate) ttl: Duration,
    pub(crate) renew: Duration,
    pub(crate) retry: Duration,
    pub(crate) call_timeout: Duration,
    /// From asking the command to stop to killing it.
    pub(crate) grace: Duration,
    /// κ: from killing it to expiry (SAFETY 2c).
    pub(crate) kill_margin: Duration,
}

impl Durations {
    pub(crate) const DEFAULT_TTL: Duration = Duration::from_secs(15);
    /// From SIGKILL to a tree that is gone took up to 956 ms on two busy cores.
    pub(crate) const DEFAULT_KILL_MARGIN: Duration = Duration::from_secs(1);

    /// What is between the deadline and expiry: all of it belongs to stopping.
    pub(crate) fn whole_grace(&self) -> Duration {
        self.grace + self.kill_margin
    }
}

impl Asked {
    /// The durations, or what would fit instead.
    pub(crate) fn settle(self) -> Result<Durations, Exit> {
        let ttl = self.ttl.unwrap_or(Durations::DEFAULT_TTL);
        if ttl < Duration::from_millis(10) || ttl > Duration::from_secs(24 * 3600) {
            return Err(Exit::usage(format!(
                "--ttl {} is outside 10ms to 24h; seconds are usual, such as 15s",
                shown(ttl)
            )));
        }
        for (flag, span) in [("--renew", self.renew), ("--retry", self.retry)] {
            if span.is_some_and(|span| span.is_zero()) {
                return Err(Exit::usage(format!("{flag} is 0; leave it out to have it follow the lease")));
            }
        }
        let kill_margin = self.kill_margin.unwrap_or(Durations::DEFAULT_KILL_MARGIN);
        let (renew, call_timeout) = (self.renew.unwrap_or(ttl / 3), ttl / 5);
        // What clocks that differ leave of the lease, and what two tries to renew leave of that.
        let counted_on = RateBound::DEFAULT.shrink(ttl);
        let Some(room) = counted_on.checked_sub(renew + call_timeout).filter(|room| !room.is_zero()) else {
            return Err(self.no_second_try(ttl, renew, counted_on, call_timeout));
        };
        let grace = match (self.grace, room.checked_sub(kill_margin).filter(|left| !left.is_zero())) {
            (Some(grace), Some(left)) if grace < left => grace,
            (None, Some(left)) => (ttl * 2 / 15).min(left * 9 / 10),
            (asked, _) => return Err(self.does_not_fit(ttl, asked, kill_margin, room)),
        };
        let retry = self.retry.unwrap_or(ttl * 2 / 15);
        Ok(Durations { ttl, renew, retry, call_timeout, grace, kill_margin })
    }

    fn no_second_try(&self, ttl: Duration, renew: Duration, counted_on: Duration, call_timeout: Duration) -> Exit {
        let stopping = self.stopping();
        let most = counted_on.checked_sub(call_timeout + stopping).map(|most| most * 9 / 10);
        let shorter = match most.filter(|most| !most.is_zero()) {
            Some(most) => format!("renew at least every {}, or ", shown(round_down(most))),
            None => String::new(),
        };
        Exit::usage(format!(
            "--renew {} leaves no second try: of a lease of {}, {} can be counted on when clocks differ by 10 %, and a call may take {}; {shorter}use \
             --ttl {} or more",
            shown(renew),
            shown(ttl),
            shown(counted_on),
            shown(call_timeout),
            shown(self.shortest_ttl(stopping)),
        ))
    }

    fn does_not_fit(&self, ttl: Duration, grace: Option<Duration>, kill_margin: Duration, room: Duration) -> Exit {
        let longer = shown(self.shortest_ttl(grace.unwrap_or_default() + kill_margin));
        let (lease, margin) = (shown(ttl), shown(kill_margin));
        let left = room.checked_sub(kill_margin).map(|left| left * 9 / 10).filter(|left| !left.is_zero());
        let what = match grace {
            Some(grace) => format!("--grace {} does not fit into a lease of {lease}", shown(grace)),
            None => format!("a lease of {lease} leaves no time to stop the command in"),
        };
        let remedy = match left {
            Some(left) => format!("use --grace {} or less, or --ttl {longer} or more", shown(round_down(left))),
            None => format!("use --ttl {longer} or more, or --kill-margin {} or less", shown(round_down(room / 2))),
        };
        Exit::usage(format!(
            "{what}: renewing in time takes all of it but {}, of which {margin} (--kill-margin) are kept for killing; {remedy}",
            shown(room),
        ))
    }

    fn stopping(&self) -> Duration {
        self.grace.unwrap_or_default() + self.kill_margin.unwrap_or(Durations::DEFAULT_KILL_MARGIN)
    }

    /// The shortest lease in which stopping takes no more than `stopping`, with something to spare.
    fn shortest_ttl(&self, stopping: Duration) -> Duration {
        // 9/11 of the lease can be counted on; a fifth is for a call, a third for renewing unless that was set.
        let (part, fixed) = match self.renew {
            Some(renew) => (9.0 / 11.0 - 0.2, renew),
            None => (9.0 / 11.0 - 0.2 - 1.0 / 3.0, Duration::ZERO),
        };
        let needed = (stopping + fixed).as_secs_f64() / part * 1.05;
        Duration::from_secs_f64(if needed > 5.0 { needed.ceil() } else { (needed * 10.0).ceil() / 10.0 })
    }
}

/// To a number that can be typed, and still fits.
fn round_down(span: Duration) -> Duration {
    let millis = span.as_millis() as u64;
    let step = match millis {
        0..100 => 1,
        100..1000 => 10,
        _ => 100,
    };
    Duration::from_millis(millis / step * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn settled(change: impl FnOnce(&mut Asked)) -> Result<Durations, Exit> {
        let mut asked = Asked::default();
        change(&mut asked);
        asked.settle()
    }

    /// The core has the last word; what is settled here must please it.
    fn pleases_the_core(durations: &Durations) {
        let timing = tenure::TimingBuilder {
            lease: Some(durations.ttl),
            renew: Some(tenure::Interval::Every(durations.renew)),
            grace: Some(durations.whole_grace()),
            call_timeout: Some(durations.call_timeout),
            ..Default::default()
        };
        timing.build().unwrap_or_else(|error| panic!("{durations:?}: {error}"));
    }

    #[test]
    fn the_defaults_follow_the_lease() {
        let durations = Asked::default().settle().unwrap();
        assert_eq!((durations.ttl, durations.renew, durations.retry), (SECOND * 15, SECOND * 5, SECOND * 2));
        assert_eq!((durations.grace, durations.kill_margin), (SECOND * 2, SECOND));
        for ttl in [4, 5, 7, 10, 15, 60, 3600] {
            pleases_the_core(&settled(|asked| asked.ttl = Some(SECOND * ttl)).unwrap());
        }
    }

    /// The duration after this flag in a message.
    fn advised(message: &str, flag: &str) -> Duration {
        let (_, rest) = message.rsplit_once(flag).unwrap_or_else(|| panic!("{message} advises no {flag}"));
        let text = rest.trim_start().split([' ', ',']).next().unwrap();
        crate::duration::parse(text).unwrap()
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        let mut asked = Asked { grace: Some(SECOND * 20), ..Asked::default() };
        let message = asked.settle().unwrap_err().sentence;
        asked.grace = Some(advised(&message, "--grace"));
        pleases_the_core(&asked.settle().unwrap());
        asked = Asked { grace: Some(SECOND * 20), ttl: Some(advised(&message, "--ttl")), ..asked };
        pleases_the_core(&asked.settle().unwrap());

        let mut asked = Asked { renew: Some(SECOND * 14), ..Asked::default() };
        let message = asked.settle().unwrap_err().sentence;
        assert!(message.contains("no second try"), "{message}");
        asked.renew = Some(advised(&message, "renew at least every"));
        pleases_the_core(&asked.settle().unwrap());
        asked = Asked { renew: Some(SECOND * 14), ttl: Some(advised(&message, "--ttl")), ..asked };
        pleases_the_core(&asked.settle().unwrap());

        let mut asked = Asked { ttl: Some(SECOND * 2), ..Asked::default() };
        let message = asked.settle().unwrap_err().sentence;
        assert!(message.contains("leaves no time"), "{message}");
        asked.kill_margin = Some(advised(&message, "--kill-margin"));
        pleases_the_core(&asked.settle().unwrap());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(settled(|asked| asked.ttl = Some(Duration::ZERO)).is_err());
        assert!(settled(|asked| asked.ttl = Some(SECOND * 100_000)).is_err());
        assert!(settled(|asked| asked.renew = Some(Duration::ZERO)).is_err());
        assert!(settled(|asked| asked.retry = Some(Duration::ZERO)).is_err());
    }
}
