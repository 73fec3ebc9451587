//! Who holds an office, as an observer sees it.

use std::sync::Arc;
use std::time::SystemTime;

use crate::FencingToken;
use crate::backend::{Held, Sight, TenureId};
use crate::machine::Plan;
use crate::mutant::{Mutant, planted};

/// The holder of an office.
///
/// All of it comes from the store and is untrusted text; it may be out of date by the time it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incumbent {
    pub(crate) name: Arc<str>,
    pub(crate) tenure: Option<TenureId>,
    pub(crate) token: Option<FencingToken>,
    pub(crate) since: Option<SystemTime>,
    pub(crate) advertise: Arc<[u8]>,
    pub(crate) asked_to_resign: bool,
}

impl Incumbent {
    pub(crate) fn seen(held: &Held, token_base: u64) -> Self {
        Incumbent {
            name: held.holder.clone(),
            tenure: held.tenure,
            token: held.token.and_then(|native| FencingToken::based(token_base, native)),
            since: held.since,
            advertise: held.advertise.clone(),
            asked_to_resign: held.asked_to_resign,
        }
    }

    pub(crate) fn own(plan: &Plan, tenure: TenureId, token: Option<FencingToken>) -> Self {
        let (name, advertise) = (plan.name().shared(), plan.advertise().clone());
        Incumbent { name, tenure: Some(tenure), token, since: None, advertise, asked_to_resign: false }
    }

    /// The holder's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The holder's tenure; `None` for a foreign program.
    pub fn tenure(&self) -> Option<TenureId> {
        self.tenure
    }

    /// The fencing token of its tenure, where the store shows one.
    pub fn token(&self) -> Option<FencingToken> {
        self.token
    }

    /// Since when, by the holder's own wall clock.
    pub fn since(&self) -> Option<SystemTime> {
        self.since
    }

    /// Whether somebody has asked it to resign; it does so at its next renewal at the latest.
    pub fn is_asked_to_resign(&self) -> bool {
        self.asked_to_resign
    }

    /// What the holder advertises, such as its address.
    pub fn advertised(&self) -> &[u8] {
        &self.advertise
    }

    /// The advertised address, where it is text and not empty.
    pub fn address(&self) -> Option<&str> {
        std::str::from_utf8(&self.advertise).ok().filter(|text| !text.is_empty())
    }
}

/// Turns what is seen of an office into what is shown of it. Answers overtake each other and stores are restored, but an observer never sees a
/// token go back (I10): a holder whose token does is shown without one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Onlooker {
    highest: Option<FencingToken>,
}

impl Onlooker {
    /// What to show of this sight.
    pub fn see(&mut self, sight: &Sight, token_base: u64) -> Option<Incumbent> {
        let mut incumbent = Incumbent::seen(sight.held()?, token_base);
        if incumbent.token < self.highest && !planted(Mutant::OldTokenShown) {
            incumbent.token = None;
        }
        self.highest = self.highest.max(incumbent.token);
        Some(incumbent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Expiry, Version};

    fn sight(token: Option<u64>) -> Sight {
        Sight::Held(Held {
            version: Version::number(1),
            tenure: None,
            holder: "pod-1".into(),
            token,
            since: None,
            advertise: Arc::default(),
            asked_to_resign: false,
            expiry: Expiry::Store { remaining: None },
        })
    }

    #[test]
    fn an_observer_never_sees_a_token_go_back() {
        let mut onlooker = Onlooker::default();
        let mut shown = |token| onlooker.see(&sight(token), 100).unwrap().token().map(FencingToken::get);
        assert_eq!(shown(Some(7)), Some(107));
        assert_eq!(shown(Some(7)), Some(107), "the same holder again");
        assert_eq!(shown(Some(5)), None, "an answer that was overtaken, or a store that was restored");
        assert_eq!(shown(None), None);
        assert_eq!(shown(Some(8)), Some(108));
        assert_eq!(onlooker.see(&Sight::Vacant(crate::backend::Vacancy::Free), 100), None);
    }
}
