//! The heartbeat of one session that covers many elections (SAFETY 21).

use std::time::Duration;

use super::core::Key;
use crate::Moment;
use crate::backend::{Attempt, AttemptId, Beat};
use crate::mutant::{Mutant, planted};

/// A session as the driver keeps it alive: one heartbeat in flight, and the oldest unanswered send is what an answer credits.
///
/// Pure, as a machine is, so that a model checker can step it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Heart {
    pub(super) from: Moment,
    pub(super) ttl: Duration,
    pub(super) seats: Vec<Key>,
    call: Option<(AttemptId, Moment)>,
    /// The first send since the last good answer: which of several an answer belongs to cannot be known.
    unanswered: Option<Moment>,
    next: Moment,
}

/// What a heart wants done.
#[derive(Debug, PartialEq, Eq)]
pub enum Pulse {
    /// Nothing.
    Rest,
    /// A heartbeat is to be sent.
    Send(Attempt),
    /// The session was extended: see [`Heart::cover`].
    Moved,
    /// The session is gone.
    Lost,
}

impl Heart {
    /// The heart of a session that was extended by a request sent at `from`, for `ttl`.
    pub fn new(from: Moment, ttl: Duration) -> Self {
        let next = from.after(ttl / 3);
        Heart { from, ttl, seats: Vec::new(), call: None, unanswered: None, next }
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Moment) -> Pulse {
        if now >= self.from.after(self.ttl) {
            return Pulse::Lost;
        }
        if self.call.is_some_and(|(_, give_up_at)| now >= give_up_at) {
            self.call = None;
            self.next = now;
        }
        if self.call.is_some() || now < self.next {
            return Pulse::Rest;
        }
        // Numbered by its instant: a heart that is made anew for the same session must not take the late answer to its predecessor's heartbeat
        // for one to its own.
        let number = if planted(Mutant::BeatsNumberedAnew) { 1 } else { now.as_nanos() };
        let attempt = Attempt { id: AttemptId(number), sent: now };
        self.call = Some((attempt.id, now.after(self.ttl / 5)));
        if planted(Mutant::NewestSendCredited) {
            self.unanswered = Some(now);
        }
        self.unanswered.get_or_insert(now);
        Pulse::Send(attempt)
    }

    /// Hears the answer to a heartbeat; `None` when it failed or is unknown.
    pub fn answered(&mut self, attempt: AttemptId, beat: Option<Beat>, now: Moment) -> Pulse {
        let current = self.call.is_some_and(|(id, _)| id == attempt);
        match beat {
            Some(Beat::Lost) => Pulse::Lost,
            // A late answer, or the echo of one, says nothing of what is under way now.
            Some(Beat::Extended { .. }) if !current && !planted(Mutant::LateBeatCredited) => Pulse::Rest,
            Some(Beat::Extended { ttl }) => {
                let Some(sent) = self.unanswered.take() else { return Pulse::Rest };
                self.from = self.from.max(sent);
                self.ttl = ttl;
                self.call = None;
                self.next = self.from.after(self.ttl / 3);
                Pulse::Moved
            }
            None if current => {
                self.call = None;
                self.next = now.after(self.ttl / 15);
                Pulse::Rest
            }
            None => Pulse::Rest,
        }
    }

    /// From when and for how long the session is known to live.
    pub fn cover(&self) -> (Moment, Duration) {
        (self.from, self.ttl)
    }

    /// When it wants to be ticked.
    pub fn wake_at(&self) -> Moment {
        let due = self.call.map_or(self.next, |(_, give_up_at)| give_up_at);
        due.min(self.from.after(self.ttl))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(15);

    fn at(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    fn heart() -> Heart {
        Heart::new(at(100), TTL)
    }

    #[test]
    fn only_one_heartbeat_is_in_flight() {
        let mut heart = heart();
        assert_eq!(heart.tick(at(104)), Pulse::Rest);
        assert!(matches!(heart.tick(at(105)), Pulse::Send(_)));
        assert_eq!(heart.tick(at(106)), Pulse::Rest);
        assert_eq!(heart.wake_at(), at(108));
    }

    #[test]
    fn the_oldest_unanswered_send_is_credited() {
        // SAFETY 21
        let mut heart = heart();
        let Pulse::Send(_) = heart.tick(at(105)) else { panic!("due") };
        let Pulse::Send(second) = heart.tick(at(108)) else { panic!("the first was given up") };
        assert_eq!(heart.answered(second.id, Some(Beat::Extended { ttl: TTL }), at(109)), Pulse::Moved);
        assert_eq!(heart.from, at(105), "the answer may have been the first one's");
    }

    #[test]
    fn a_late_or_repeated_answer_moves_nothing() {
        // Found by simulation: a late answer was taken for that of the heartbeat under way, and credited when it came.
        let mut heart = heart();
        let Pulse::Send(first) = heart.tick(at(105)) else { panic!("due") };
        let Pulse::Send(second) = heart.tick(at(108)) else { panic!("the first was given up") };
        let extended = Some(Beat::Extended { ttl: TTL });
        assert_eq!(heart.answered(first.id, extended, at(109)), Pulse::Rest);
        assert_eq!(heart.from, at(100));
        assert_eq!(heart.answered(second.id, extended, at(110)), Pulse::Moved);
        assert_eq!(heart.answered(second.id, extended, at(111)), Pulse::Rest, "an echo");
        assert_eq!(heart.from, at(105));
    }

    #[test]
    fn a_heart_made_anew_takes_no_answer_to_its_predecessors_beat() {
        // Found by simulation: both numbered their first heartbeat 1, and an answer to the first was credited to the second, which was lost.
        let mut former = heart();
        let Pulse::Send(first) = former.tick(at(105)) else { panic!("due") };
        let mut heart = heart();
        let Pulse::Send(second) = heart.tick(at(106)) else { panic!("due") };
        assert_ne!(first.id, second.id);
        assert_eq!(heart.answered(first.id, Some(Beat::Extended { ttl: TTL }), at(107)), Pulse::Rest);
        assert_eq!(heart.from, at(100));
    }

    #[test]
    fn a_heartbeat_that_fails_is_tried_again_and_one_that_is_refused_ends_the_session() {
        let mut heart = heart();
        let Pulse::Send(first) = heart.tick(at(105)) else { panic!("due") };
        assert_eq!(heart.answered(first.id, None, at(105)), Pulse::Rest);
        assert_eq!(heart.wake_at(), at(106));
        let Pulse::Send(second) = heart.tick(at(106)) else { panic!("due again") };
        assert_eq!(heart.answered(second.id, Some(Beat::Lost), at(106)), Pulse::Lost);
    }

    #[test]
    fn a_session_that_nobody_extended_in_time_is_lost() {
        let mut heart = heart();
        let Pulse::Send(_) = heart.tick(at(105)) else { panic!("due") };
        assert_eq!(heart.tick(at(115)), Pulse::Lost);
    }
}
