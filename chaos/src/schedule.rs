//! Which faults come when: decided by the seed alone, before anything runs.

use std::ops::Range;
use std::time::Duration;

use fastrand::Rng;

use crate::subject::{Breaks, Fault, Request};

/// What goes wrong.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A candidate is killed, and started again.
    Killed,
    /// A candidate is frozen for longer than its lease.
    FrozenPastTheLease,
    /// A candidate is frozen for less than its lease.
    FrozenShortly,
    /// A candidate's connections are reset, and refused.
    Cut,
    /// A candidate's connections are reset once.
    Reset,
    /// What is sent either way is lost.
    HalfOpen,
    /// Answers are lost.
    Mute,
    /// Everything arrives late.
    Stalled,
    /// Everything takes longer.
    Delayed,
    /// The answer to the next such request is lost after it was done.
    AnswerDropped(Request, Vec<u8>),
    /// A candidate's wall clock is set by so many seconds.
    WallClock(i64),
    /// Something of the servers'.
    Servers(Fault),
}

impl Kind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Kind::Killed => "killed",
            Kind::FrozenPastTheLease => "frozen past the lease",
            Kind::FrozenShortly => "frozen shortly",
            Kind::Cut => "cut off",
            Kind::Reset => "connections reset",
            Kind::HalfOpen => "half-open connections",
            Kind::Mute => "answers lost",
            Kind::Stalled => "network stalled",
            Kind::Delayed => "network slow",
            Kind::AnswerDropped(Request::Stand, _) => "answer to stand dropped",
            Kind::AnswerDropped(Request::Renew, _) => "answer to renew dropped",
            Kind::AnswerDropped(Request::Withdraw, _) => "answer to withdraw dropped",
            Kind::WallClock(seconds) if *seconds > 0 => "wall clock set forward",
            Kind::WallClock(_) => "wall clock set back",
            Kind::Servers(fault) => fault.name,
        }
    }

    /// How long it lasts.
    fn lasts(&self, lease: Duration) -> Range<Duration> {
        match self {
            Kind::FrozenPastTheLease => lease.mul_f64(1.2)..lease.mul_f64(2.5),
            Kind::FrozenShortly => lease.mul_f64(0.1)..lease.mul_f64(0.9),
            Kind::Reset => Duration::ZERO..Duration::from_millis(1),
            Kind::Servers(fault) => fault.lasts.clone(),
            _ => lease.mul_f64(0.3)..lease.mul_f64(2.0),
        }
    }

    /// What it excuses.
    fn breaks(&self) -> Breaks {
        match self {
            Kind::Servers(fault) => fault.breaks,
            _ => Breaks::Nothing,
        }
    }

    /// What it strikes, so that two of one sort do not strike the same at once.
    pub(crate) fn part(&self) -> Part {
        match self {
            Kind::Killed | Kind::FrozenPastTheLease | Kind::FrozenShortly => Part::Process,
            Kind::WallClock(_) => Part::WallClock,
            Kind::Servers(_) => Part::Servers,
            _ => Part::Network,
        }
    }
}

/// A part of a run that one fault strikes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Process,
    Network,
    WallClock,
    Servers,
}

/// One fault of the schedule.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// How long after the one before it.
    pub(crate) after: Duration,
    pub(crate) kind: Kind,
    /// Whoever leads then, or else the candidate of this number.
    pub(crate) leader: bool,
    pub(crate) who: usize,
    pub(crate) lasts: Duration,
    /// For whatever is to be chosen inside a fault.
    pub(crate) random: u64,
}

/// All kinds that can come.
pub(crate) fn kinds(networked: bool, wall: bool, marks: Vec<(Request, Vec<u8>)>, faults: Vec<Fault>) -> Vec<Kind> {
    // Twice: what makes a resource without a fence lose updates.
    let mut kinds = vec![Kind::Killed, Kind::FrozenPastTheLease, Kind::FrozenPastTheLease, Kind::FrozenShortly];
    if networked {
        kinds.extend([Kind::Cut, Kind::Reset, Kind::HalfOpen, Kind::Mute, Kind::Stalled, Kind::Delayed]);
        kinds.extend(marks.into_iter().map(|(request, bytes)| Kind::AnswerDropped(request, bytes)));
    }
    if wall {
        kinds.extend([Kind::WallClock(3600), Kind::WallClock(-3600)]);
    }
    kinds.extend(faults.into_iter().map(Kind::Servers));
    kinds
}

/// Where servers take long to settle after a fault, so many of the others come for each that excuses: or most of a run would be excused.
const BETWEEN_FAILOVERS: usize = 4;

/// All kinds, each as often as it is to come.
fn deck_of(kinds: &[Kind]) -> Vec<Kind> {
    let settles_slowly = kinds.iter().any(|kind| kind.breaks() == Breaks::Past);
    let copies = |kind: &Kind| if settles_slowly && kind.breaks() == Breaks::Nothing { BETWEEN_FAILOVERS } else { 1 };
    kinds.iter().flat_map(|kind| std::iter::repeat_n(kind.clone(), copies(kind))).collect()
}

/// The schedule of a seed: kinds come as from a deck that is shuffled anew when it is through, so that none is missing.
pub(crate) fn schedule(seed: u64, kinds: &[Kind], candidates: usize, lease: Duration) -> impl Iterator<Item = Step> {
    let (mut random, kinds) = (Rng::with_seed(seed), deck_of(kinds));
    let mut deck: Vec<Kind> = Vec::new();
    std::iter::from_fn(move || {
        if deck.is_empty() {
            deck = kinds.clone();
            random.shuffle(&mut deck);
        }
        let kind = deck.pop()?;
        let lasts = kind.lasts(lease);
        let span = lasts.end.saturating_sub(lasts.start).as_micros() as u64;
        Some(Step {
            after: Duration::from_millis(random.u64(100..1200)),
            leader: random.u8(..4) > 0,
            who: random.usize(..candidates),
            lasts: lasts.start + Duration::from_micros(random.u64(..=span)),
            random: random.u64(..),
            kind,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_excuses_for_long_comes_seldom() {
        let failover = Fault { name: "failover", breaks: Breaks::Past, lasts: Duration::ZERO..Duration::ZERO };
        let deleted = Fault { name: "deleted", breaks: Breaks::Record, ..failover.clone() };
        let count = |deck: &[Kind], name| deck.iter().filter(|kind| kind.name() == name).count();
        let deck = deck_of(&kinds(false, false, Vec::new(), vec![failover, deleted.clone()]));
        assert_eq!(["killed", "failover", "deleted"].map(|name| count(&deck, name)), [4, 1, 1]);
        let deck = deck_of(&kinds(false, false, Vec::new(), vec![deleted]));
        assert_eq!(["killed", "deleted"].map(|name| count(&deck, name)), [1, 1]);
    }

    #[test]
    fn a_seed_gives_the_same_schedule_again_and_misses_no_kind() {
        let kinds = kinds(true, true, vec![(Request::Renew, b"renew".to_vec())], Vec::new());
        let deal = |seed| {
            let steps = schedule(seed, &kinds, 5, Duration::from_secs(1)).take(kinds.len());
            steps.map(|step| format!("{step:?}")).collect::<Vec<_>>()
        };
        assert_eq!(deal(7), deal(7));
        assert_ne!(deal(7), deal(8));
        for kind in &kinds {
            assert!(deal(7).iter().any(|step| step.contains(&format!("{kind:?}"))), "{kind:?}");
        }
    }
}
