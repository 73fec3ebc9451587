//! How an attempt on several independent masters comes to a fencing token, in two rounds. Pure: no clock, no I/O.
//!
//! 1. It asks every master for its lock, under a nonce that no other attempt has, and hears their counters. From a majority of locks on it may close
//!    the round: the token is one more than the highest counter that it heard.
//! 2. It asks those masters whose answer it used to raise their counter to the token, each only where the lock is still its own and the counter is
//!    below the token. A majority of raised counters wins; less fails.
//!
//! Tokens are then unique, and above that of every win that was finished before the attempt began, while masters keep what they acknowledged. Both follow
//! from two majorities having a master in common: a counter there is raised to one number once, and never goes back.
//!
//! How long the office is held is another matter, and that of leases: this is about the number alone.

/// What an attempt asks of one master; the master does it atomically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// Take the lock if it is free or has this nonce already, and tell the counter.
    Lock {
        /// Of the attempt.
        nonce: u64,
    },
    /// Raise the counter to the token if the lock has this nonce and the counter is lower.
    Raise {
        /// Of the attempt.
        nonce: u64,
        /// The token.
        token: u64,
    },
}

/// What a master answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// The lock is ours.
    Locked {
        /// The counter.
        counter: u64,
    },
    /// The counter was raised.
    Raised,
    /// Nothing was done.
    Refused,
}

/// What a master keeps for an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Master {
    /// Whose lock it is; a lock expires, a counter never does.
    pub lock: Option<u64>,
    /// The highest token that it knows.
    pub counter: u64,
}

impl Master {
    /// Does what is asked. In a real master this is one script.
    pub fn apply(&mut self, request: Request) -> Reply {
        match request {
            Request::Lock { nonce } if self.lock.is_none_or(|holder| holder == nonce) => {
                self.lock = Some(nonce);
                Reply::Locked { counter: self.counter }
            }
            Request::Raise { nonce, token } if self.lock == Some(nonce) && self.counter < token => {
                self.counter = token;
                Reply::Raised
            }
            _ => Reply::Refused,
        }
    }
}

/// What an attempt knows of one master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Heard {
    /// Nothing yet.
    Nothing,
    /// Its lock is ours, and its counter was this.
    Locked(u64),
    /// So it was, and it counts for the token.
    Used,
    /// Its counter was raised.
    Raised,
    /// It did not do what it was asked.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Locking,
    Raising(u64),
    Won(u64),
    Failed,
}

/// One attempt to win; its nonce is never used again, whatever becomes of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    nonce: u64,
    heard: Vec<Heard>,
    stage: Stage,
}

impl Attempt {
    /// An attempt on so many masters.
    pub fn new(nonce: u64, masters: usize) -> Self {
        Attempt { nonce, heard: vec![Heard::Nothing; masters], stage: Stage::Locking }
    }

    /// Closes the first round, if a majority of locks is ours; what comes later is not used. The sooner, the more of the lease is left; the later, the
    /// more masters may fail in the second round.
    pub fn close(&mut self) {
        if self.stage != Stage::Locking || !self.may_close() {
            return;
        }
        let mut highest = 0;
        for heard in &mut self.heard {
            if let Heard::Locked(counter) = *heard {
                highest = highest.max(counter);
                *heard = Heard::Used;
            }
        }
        self.stage = Stage::Raising(highest + 1);
    }

    /// Hears a master.
    pub fn hear(&mut self, master: usize, reply: Reply) {
        let heard = &mut self.heard[master];
        match (self.stage, *heard, reply) {
            (Stage::Locking, Heard::Nothing, Reply::Locked { counter }) => *heard = Heard::Locked(counter),
            (Stage::Raising(_), Heard::Used, Reply::Raised) => *heard = Heard::Raised,
            (Stage::Locking, Heard::Nothing, Reply::Refused) | (Stage::Raising(_), Heard::Used, Reply::Refused) => {
                *heard = Heard::Refused;
            }
            // An answer that comes twice, or after its round.
            _ => return,
        }
        let majority = majority(self.heard.len());
        if let Stage::Raising(token) = self.stage
            && self.count(|heard| heard == Heard::Raised) >= majority
        {
            self.stage = Stage::Won(token);
        } else if self.count(|heard| !matches!(heard, Heard::Refused)) < majority {
            self.stage = Stage::Failed;
        }
    }

    /// What to ask a master now, and again while it does not answer.
    pub fn request(&self, master: usize) -> Option<Request> {
        let nonce = self.nonce;
        match (self.stage, self.heard[master]) {
            (Stage::Locking, Heard::Nothing) => Some(Request::Lock { nonce }),
            (Stage::Raising(token), Heard::Used) => Some(Request::Raise { nonce, token }),
            _ => None,
        }
    }

    /// Whether the first round can be closed.
    pub fn may_close(&self) -> bool {
        self.stage == Stage::Locking
            && self.count(|heard| matches!(heard, Heard::Locked(_))) >= majority(self.heard.len())
    }

    /// The token, once the attempt has won.
    pub fn won(&self) -> Option<u64> {
        match self.stage {
            Stage::Won(token) => Some(token),
            _ => None,
        }
    }

    /// What it knows of a master.
    pub fn heard(&self, master: usize) -> Heard {
        self.heard[master]
    }

    /// The same attempt with its masters in another order.
    #[must_use]
    pub fn reordered(&self, order: &[usize]) -> Self {
        let heard = order.iter().map(|master| self.heard[*master]).collect();
        Attempt { nonce: self.nonce, heard, stage: self.stage }
    }

    /// Whether it cannot win any more; its locks are to be released.
    pub fn has_failed(&self) -> bool {
        self.stage == Stage::Failed
    }

    fn count(&self, which: impl Fn(Heard) -> bool) -> usize {
        self.heard.iter().filter(|heard| which(**heard)).count()
    }
}

/// More than half.
pub fn majority(masters: usize) -> usize {
    masters / 2 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(attempt: &mut Attempt, masters: &mut [Master], which: impl IntoIterator<Item = usize>) {
        for master in which {
            if let Some(request) = attempt.request(master) {
                let reply = masters[master].apply(request);
                attempt.hear(master, reply);
            }
        }
    }

    #[test]
    fn two_rounds_on_a_majority_win_and_tokens_rise() {
        let mut masters = [Master::default(); 3];
        for token in 1..4 {
            let mut attempt = Attempt::new(token, 3);
            ask(&mut attempt, &mut masters, [0, 2]);
            attempt.close();
            ask(&mut attempt, &mut masters, [0, 1, 2]);
            assert_eq!(attempt.won(), Some(token));
            masters.iter_mut().for_each(|master| master.lock = None);
        }
        assert_eq!(masters[1].counter, 0, "its answer was not used");
    }

    #[test]
    fn less_than_a_majority_wins_nothing() {
        let mut masters = [Master { lock: Some(9), counter: 0 }, Master::default(), Master::default()];
        let mut attempt = Attempt::new(1, 3);
        ask(&mut attempt, &mut masters, [0, 1]);
        attempt.close();
        assert!(!attempt.may_close() && attempt.won().is_none());
        ask(&mut attempt, &mut masters, [2]);
        attempt.close();
        masters[1].lock = None;
        ask(&mut attempt, &mut masters, [1, 2]);
        assert!(attempt.has_failed() && attempt.won().is_none(), "its lock was gone on one of two");
    }
}
