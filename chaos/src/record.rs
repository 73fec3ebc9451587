//! Everything that is known of a run when it is over.

use std::time::Duration;

use tenure::Moment;
use tenure::backend::TenureId;

use crate::call::Call;
use crate::registers::Register;
use crate::subject::Breaks;

/// A tenure as its holder believed in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Belief {
    /// The number of the candidate.
    pub(crate) who: usize,
    /// The tenure.
    pub(crate) tenure: TenureId,
    /// Its fencing token.
    pub(crate) token: Option<u64>,
    /// When it began.
    pub(crate) from: Moment,
    /// The last instant that it counted on, the grace included.
    pub(crate) until: Moment,
    /// When its work had stopped, if it was given up freely.
    pub(crate) given_up: Option<Moment>,
}

/// What an observer was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// When.
    pub(crate) at: Moment,
    /// Whose record.
    pub(crate) tenure: Option<TenureId>,
    /// Its number.
    pub(crate) token: Option<u64>,
}

/// One process from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Life {
    /// The number of the candidate.
    pub(crate) who: usize,
    /// Its tenures, in their order.
    pub(crate) beliefs: Vec<Belief>,
    /// Its calls.
    pub(crate) calls: Vec<Call>,
    /// What its observation showed.
    pub(crate) shown: Vec<Shown>,
    /// Instants at which it still led after a deadline, and that deadline.
    pub(crate) late: Vec<(Moment, Moment)>,
    /// Jumps of its wall clock, in seconds.
    pub(crate) wall_jumps: Vec<i64>,
    /// Before it was killed.
    pub(crate) killed: Option<Moment>,
}

/// A fault that happened.
#[derive(Clone, Debug)]
pub(crate) struct Strike {
    /// What.
    pub(crate) name: &'static str,
    /// Which candidate; none for a server's.
    pub(crate) who: Option<usize>,
    /// Before it struck.
    pub(crate) from: Moment,
    /// After it was healed.
    pub(crate) to: Moment,
    /// What it may break.
    pub(crate) breaks: Breaks,
}

/// A whole run.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The lease of every candidate.
    pub(crate) lease: Duration,
    /// How much longer than a lease the store may take to have a leader again.
    pub(crate) stretch: Duration,
    /// Contenders judge expiry, and not the store.
    pub(crate) contenders_judge: bool,
    /// The store has numbers for tokens.
    pub(crate) has_tokens: bool,
    /// When it began.
    pub(crate) start: Moment,
    /// When the last fault was healed.
    pub(crate) peace: Moment,
    /// When it ended.
    pub(crate) end: Moment,
    /// All lives of all candidates.
    pub(crate) lives: Vec<Life>,
    /// The calls of one who looks on; one at a time.
    pub(crate) looks: Vec<Call>,
    /// The faults.
    pub(crate) strikes: Vec<Strike>,
    /// The register that refuses former leaders.
    pub(crate) fenced: Register,
    /// Its twin that does not.
    pub(crate) unfenced: Register,
}

impl Record {
    /// All beliefs, by their beginning, each cut where its process died or gave up freely.
    pub(crate) fn beliefs(&self) -> Vec<Belief> {
        let mut beliefs: Vec<_> = self.lives.iter().flat_map(Life::held).collect();
        beliefs.sort_by_key(|belief| belief.from);
        beliefs
    }

    /// Whether a belief may overlap another at this instant, because a record was changed behind the store's back no longer ago than a belief
    /// can last (SAFETY 14).
    pub(crate) fn is_excused(&self, at: Moment) -> bool {
        self.is_struck(at, |breaks| breaks != Breaks::Nothing)
    }

    /// Whether who reads the store at this instant may see its past.
    pub(crate) fn may_be_past(&self, at: Moment) -> bool {
        self.is_struck(at, |breaks| breaks == Breaks::Past)
    }

    fn is_struck(&self, at: Moment, by: impl Fn(Breaks) -> bool) -> bool {
        let mut strikes = self.strikes.iter().filter(|strike| by(strike.breaks));
        strikes.any(|strike| strike.from <= at && at <= strike.to.after(self.lease))
    }

    /// For how long candidates were frozen while they believed, and another came to lead: what makes a resource without a fence lose updates.
    pub(crate) fn overtaken_freezes(&self) -> usize {
        let beliefs = self.beliefs();
        let frozen = self.strikes.iter().filter(|strike| strike.name.contains("frozen"));
        let overtaken = frozen.filter(|strike| {
            let held = beliefs
                .iter()
                .any(|one| Some(one.who) == strike.who && one.from < strike.from && strike.from < one.until);
            let another = |one: &Belief| Some(one.who) != strike.who && strike.from < one.from && one.from < strike.to;
            held && beliefs.iter().any(another)
        });
        overtaken.count()
    }

    /// In how many of a hundred instants two may believe at once: there a run proves less.
    pub(crate) fn excused_share(&self) -> usize {
        const SAMPLES: u32 = 1_000;
        let step = self.peace.since(self.start) / SAMPLES;
        (0..SAMPLES).filter(|sample| self.is_excused(self.start.after(step * *sample))).count() * 100 / SAMPLES as usize
    }
}

impl Life {
    fn held(&self) -> impl Iterator<Item = Belief> {
        self.beliefs.iter().map(|belief| {
            // Nobody believes anything after its death, and one who gave up freely had stopped its work.
            let ends = [belief.given_up, self.killed].into_iter().flatten();
            let until = ends.fold(belief.until, Moment::min).max(belief.from);
            Belief { until, ..belief.clone() }
        })
    }
}
