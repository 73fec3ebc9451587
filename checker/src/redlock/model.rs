//! Attempts, masters and everything that can happen between them.
//!
//! A request that was sent may arrive at any time, any number of times or never. Its answer is heard at once or never: an attempt that hears one later
//! can do nothing that it could not have done with the answer at hand, except win later, which asks less of it. A lock expires at any time, so that
//! every attempt can take it over; one that has expired and that nobody takes does no more than one whose messages are lost. A client
//! that dies is one whose attempt does nothing any more. So time, loss, delay, order and crashes need no state of their own.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU8, Ordering};

use stateright::{Model, Property};

use super::protocol::{Attempt, Heard, Master, Reply, Request, majority};
use super::variant::{Source, Variant};
use crate::examine::Narrated;

/// What must always hold of tokens.
pub const UNIQUE: &str = "tokens are unique";
/// What must always hold of their order.
pub const RISING: &str = "a token is above every win that was finished before its attempt began";
/// What ties the token to the lock.
pub const UNDER_LOCK: &str = "whoever wins raised a majority of counters under locks of its own";

/// A model of several attempts on several masters.
#[derive(Debug)]
pub struct RedlockModel {
    /// What is left out.
    pub variant: Variant,
    /// How many masters.
    pub masters: usize,
    /// How many attempts.
    pub attempts: usize,
    told: AtomicU8,
    wins: [AtomicU8; 4],
}

/// A state. Masters are alike, so they are kept in order, and only their names tell which is which.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cluster {
    masters: Vec<Kept>,
    names: Names,
    attempts: Vec<Course>,
    /// Tokens that won, in order.
    won: Vec<u64>,
    forgotten: bool,
    broken: u8,
}

/// What people call the masters; it makes no difference to anything else.
#[derive(Clone, Debug)]
struct Names(Vec<usize>);

impl PartialEq for Names {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Names {}

impl Hash for Names {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Kept {
    master: Master,
    /// The attempt that took the lock; a nonce alone may be another's.
    taken_by: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Course {
    attempt: Attempt,
    /// The highest token that was won before it began.
    floor: u64,
    /// What became of it at each master.
    at: Vec<Cell>,
    token: Option<u64>,
    over: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Cell {
    /// Its requests have arrived; only where they arrive once.
    locked: bool,
    raised: bool,
    /// It is asked to raise its counter.
    asked: bool,
    /// It raised its counter while the lock was the attempt's own.
    under_lock: bool,
    /// It was heard to have raised its counter.
    counts: bool,
}

impl Course {
    fn count(&self, which: impl Fn(&Cell) -> bool) -> usize {
        self.at.iter().filter(|cell| which(cell)).count()
    }
}

impl Cluster {
    /// Puts the masters in order.
    fn sorted(self) -> Self {
        let key = |master: usize| {
            let cells = self.attempts.iter().map(move |course| (course.attempt.heard(master), course.at[master]));
            (&self.masters[master], cells.collect::<Vec<_>>())
        };
        let mut order: Vec<usize> = (0..self.masters.len()).collect();
        order.sort_by_key(|master| key(*master));
        if order.is_sorted() {
            return self;
        }
        let attempts = self.attempts.iter().map(|course| Course {
            attempt: course.attempt.reordered(&order),
            at: order.iter().map(|master| course.at[*master]).collect(),
            ..course.clone()
        });
        Cluster {
            masters: order.iter().map(|master| self.masters[*master]).collect(),
            names: Names(order.iter().map(|master| self.names.0[*master]).collect()),
            attempts: attempts.collect(),
            ..self
        }
    }
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next attempt begins.
    Begin,
    /// A request to lock arrives at a master.
    Lock {
        /// The attempt.
        attempt: usize,
        /// The master.
        master: usize,
        /// Whether the answer is heard.
        heard: bool,
    },
    /// An attempt closes its first round.
    Close(usize),
    /// A request to raise the counter arrives at a master.
    Raise {
        /// The attempt.
        attempt: usize,
        /// The master.
        master: usize,
        /// Whether the answer is heard.
        heard: bool,
    },
    /// A lock expires.
    Expire(usize),
    /// A master loses what it had acknowledged.
    Forget(usize),
}

impl RedlockModel {
    /// A model with these bounds.
    pub fn new(variant: Variant, masters: usize, attempts: usize) -> Self {
        RedlockModel { variant, masters, attempts, told: AtomicU8::new(0), wins: Default::default() }
    }

    /// In words.
    pub fn bounds(&self) -> String {
        let repeats = if self.variant.repeats { "repeated, " } else { "" };
        format!(
            "{} masters, {} attempts; requests {repeats}lost, late, in any order; locks expire at any time",
            self.masters, self.attempts
        )
    }

    fn nonce(&self, attempt: usize) -> u64 {
        if self.variant.fresh { attempt as u64 + 1 } else { (attempt % (self.attempts - 1)) as u64 + 1 }
    }

    fn lock(&self, state: &mut Cluster, attempt: usize, master: usize, heard: bool) {
        let course = &mut state.attempts[attempt];
        course.at[master].locked = !self.variant.repeats;
        let kept = &mut state.masters[master];
        // Whosever lock it was, it has just expired.
        kept.master.lock = kept.master.lock.filter(|holder| *holder == self.nonce(attempt));
        let free = kept.master.lock.is_none();
        let reply = kept.master.apply(Request::Lock { nonce: self.nonce(attempt) });
        let Reply::Locked { mut counter } = reply else { return };
        if free {
            kept.taken_by = Some(attempt);
            if self.variant.token == Source::OneMaster {
                kept.master.counter += 1;
                counter = kept.master.counter;
            }
        }
        if heard {
            course.attempt.hear(master, Reply::Locked { counter });
            if self.variant.token == Source::OneMaster {
                course.token.get_or_insert(counter);
            }
        }
    }

    fn close(&self, state: &mut Cluster, attempt: usize) {
        let course = &mut state.attempts[attempt];
        course.attempt.close();
        if self.variant.token == Source::OneMaster {
            let token = course.token.expect("a majority was heard");
            return self.win(state, attempt, token);
        }
        let token = (0..self.masters).find_map(|master| match course.attempt.request(master) {
            Some(Request::Raise { token, .. }) => Some(token),
            _ => None,
        });
        course.token = token;
        for master in 0..self.masters {
            course.at[master].asked = !self.variant.used || course.attempt.heard(master) == Heard::Used;
        }
        if let (Source::FirstRound, Some(token)) = (self.variant.token, token) {
            self.win(state, attempt, token);
        }
    }

    fn raise(&self, state: &mut Cluster, attempt: usize, master: usize, heard: bool) {
        let Variant { below, lock, used, .. } = self.variant;
        let nonce = self.nonce(attempt);
        let course = &mut state.attempts[attempt];
        let Some(token) = course.token else { return };
        course.at[master].raised = !self.variant.repeats;
        let kept = &mut state.masters[master];
        // The rules that are left out are those that the master would have kept.
        let mut seen = kept.master;
        if !lock {
            seen.lock = Some(nonce);
        }
        if !below {
            seen.counter = 0;
        }
        if seen.apply(Request::Raise { nonce, token }) != Reply::Raised {
            return;
        }
        kept.master.counter = token;
        if kept.master.lock == Some(nonce) && kept.taken_by == Some(attempt) {
            course.at[master].under_lock = true;
        }
        if !heard || course.over {
            return;
        }
        course.attempt.hear(master, Reply::Raised);
        course.at[master].counts = true;
        // Where only used masters are asked, that is what the attempt itself says.
        if course.count(|cell| cell.counts) >= majority(self.masters) {
            debug_assert!(!used || course.attempt.won() == Some(token));
            self.win(state, attempt, token);
        }
    }

    fn win(&self, state: &mut Cluster, attempt: usize, token: u64) {
        let course = &mut state.attempts[attempt];
        course.over = true;
        if state.won.contains(&token) {
            state.broken |= 1;
        }
        if token <= course.floor {
            state.broken |= 2;
        }
        if course.count(|cell| cell.under_lock) < majority(self.masters) {
            state.broken |= 4;
        }
        state.won.push(token);
        self.wins[state.won.len().min(self.wins.len()) - 1].store(1, Ordering::Relaxed);
    }

    fn holds(&self, state: &Cluster, bit: u8) -> bool {
        state.broken & bit == 0 || self.told.fetch_or(bit, Ordering::Relaxed) & bit != 0
    }
}

impl Model for RedlockModel {
    type State = Cluster;
    type Action = Step;

    fn init_states(&self) -> Vec<Cluster> {
        let masters = vec![Kept::default(); self.masters];
        let names = Names((1..=self.masters).collect());
        vec![Cluster { masters, names, attempts: Vec::new(), won: Vec::new(), forgotten: false, broken: 0 }]
    }

    fn actions(&self, state: &Cluster, steps: &mut Vec<Step>) {
        if state.attempts.len() < self.attempts {
            steps.push(Step::Begin);
        }
        for (attempt, course) in state.attempts.iter().enumerate() {
            if course.attempt.may_close() {
                steps.push(Step::Close(attempt));
            }
            for master in 0..self.masters {
                let cell = course.at[master];
                if !cell.locked {
                    steps.extend([true, false].map(|heard| Step::Lock { attempt, master, heard }));
                }
                if cell.asked && !cell.raised && self.variant.token == Source::TwoRounds {
                    steps.extend([true, false].map(|heard| Step::Raise { attempt, master, heard }));
                }
            }
        }
        for (master, kept) in state.masters.iter().enumerate() {
            // Only where a nonce is another's too does it matter that the lock was not only kept.
            if kept.master.lock.is_some() && !self.variant.fresh {
                steps.push(Step::Expire(master));
            }
            if !self.variant.durable && !state.forgotten && kept.master != Master::default() {
                steps.push(Step::Forget(master));
            }
        }
    }

    fn next_state(&self, state: &Cluster, step: Step) -> Option<Cluster> {
        let mut next = state.clone();
        match step {
            Step::Begin => {
                let attempt = Attempt::new(self.nonce(state.attempts.len()), self.masters);
                let floor = state.won.iter().copied().max().unwrap_or(0);
                let at = vec![Cell::default(); self.masters];
                let course = Course { attempt, floor, at, token: None, over: false };
                next.attempts.push(course);
            }
            Step::Lock { attempt, master, heard } => self.lock(&mut next, attempt, master, heard),
            Step::Close(attempt) => self.close(&mut next, attempt),
            Step::Raise { attempt, master, heard } => self.raise(&mut next, attempt, master, heard),
            Step::Expire(master) => {
                next.masters[master].master.lock = None;
                next.masters[master].taken_by = None;
            }
            Step::Forget(master) => {
                next.masters[master] = Kept::default();
                next.forgotten = true;
            }
        }
        (next != *state).then(|| next.sorted())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(UNIQUE, |model: &Self, state| model.holds(state, 1)),
            Property::always(RISING, |model: &Self, state| model.holds(state, 2)),
            Property::always(UNDER_LOCK, |model: &Self, state| model.holds(state, 4)),
        ]
    }
}

impl Narrated for RedlockModel {
    fn scene(&self, _: &Cluster) -> String {
        format!("{} masters, all free, all counters 0", self.masters)
    }

    fn step(&self, state: &Cluster, step: &Step) -> String {
        let name = |master: &usize| state.names.0[*master];
        let unheard = |heard: &bool| if *heard { "" } else { ", and the answer is not heard" };
        match step {
            Step::Begin => format!("attempt {} begins", state.attempts.len() + 1),
            Step::Lock { attempt, master, heard } => {
                let before = state.masters[*master].taken_by.filter(|holder| holder != attempt);
                let expired =
                    before.map_or(String::new(), |before| format!(", where {}'s lock has expired", before + 1));
                let expired = if self.variant.fresh { expired } else { String::new() };
                format!("attempt {} locks at master {}{expired}{}", attempt + 1, name(master), unheard(heard))
            }
            Step::Close(attempt) => format!("attempt {} closes its first round", attempt + 1),
            Step::Raise { attempt, master, heard } => {
                format!("attempt {} raises the counter of master {}{}", attempt + 1, name(master), unheard(heard))
            }
            Step::Expire(master) => format!("the lock at master {} expires", name(master)),
            Step::Forget(master) => format!("master {} loses what it had", name(master)),
        }
    }

    fn outcome(&self, state: &Cluster) -> String {
        let mut masters: Vec<_> = state.names.0.iter().zip(&state.masters).collect();
        masters.sort_unstable_by_key(|(name, _)| **name);
        let masters: Vec<String> = masters
            .into_iter()
            .map(|(_, kept)| match kept.taken_by {
                Some(attempt) => format!("{} (locked by {})", kept.master.counter, attempt + 1),
                None => kept.master.counter.to_string(),
            })
            .collect();
        let tokens: Vec<String> = state
            .attempts
            .iter()
            .enumerate()
            .filter_map(|(number, course)| {
                let what = if course.over { "has won" } else { "would have" };
                Some(format!("; {} {what} token {}", number + 1, course.token?))
            })
            .collect();
        format!("counters {}{}", masters.join(", "), tokens.concat())
    }

    fn sometimes(&self) -> Vec<(&'static str, u64)> {
        let won = |count: usize| u64::from(self.wins[count - 1].load(Ordering::Relaxed));
        let mut met = vec![("an attempt wins", won(1)), ("two attempts win", won(2))];
        if self.attempts > 2 {
            met.push(("three attempts win", won(3)));
        }
        met
    }
}
