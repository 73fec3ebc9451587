//! Explores a model to the end, and says what came of it.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

/// A model whose counterexamples can be told.
pub trait Narrated: Model {
    /// What an initial state is like.
    fn scene(&self, state: &Self::State) -> String;
    /// What a step is.
    fn step(&self, state: &Self::State, step: &Self::Action) -> String;
    /// What a state is like.
    fn outcome(&self, state: &Self::State) -> String;
    /// What must happen somewhere, and in how many steps it did.
    fn sometimes(&self) -> Vec<(&'static str, u64)>;
}

/// When to stop exploring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When every state within the bounds was seen.
    Exhausted,
    /// When something broke.
    FirstBreak,
    /// When this broke.
    Breaks(&'static str),
}

/// What an exploration found.
#[derive(Debug)]
pub struct Findings {
    /// Steps taken.
    pub states: usize,
    /// States that are not the same.
    pub unique: usize,
    /// The longest of the ways to a state.
    pub depth: usize,
    /// How long it took.
    pub time: Duration,
    /// Whether every state within the bounds was seen.
    pub exhaustive: bool,
    /// What must always hold, and how it broke where it did.
    pub always: Vec<(&'static str, Option<String>)>,
    /// What must happen, and in how many steps it did.
    pub sometimes: Vec<(&'static str, u64)>,
}

impl Findings {
    /// The names of what broke.
    pub fn broken(&self) -> Vec<&'static str> {
        self.always.iter().filter(|(_, path)| path.is_some()).map(|(name, _)| *name).collect()
    }

    /// The names of what never happened.
    pub fn missed(&self) -> Vec<&'static str> {
        self.sometimes.iter().filter(|(_, count)| *count == 0).map(|(name, _)| *name).collect()
    }
}

/// Explores a model with so many threads.
pub fn examine<M>(model: M, until: Until, threads: usize) -> Findings
where
    M: Narrated + Send + Sync + 'static,
    M::State: Clone + Debug + PartialEq + Hash + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let started = Instant::now();
    let finish = match until {
        Until::Exhausted => HasDiscoveries::All,
        Until::FirstBreak => HasDiscoveries::AnyFailures,
        Until::Breaks(name) => HasDiscoveries::AnyOf(BTreeSet::from([name])),
    };
    let checker = model.checker().threads(threads).finish_when(finish).spawn_bfs().join();
    let model = checker.model();
    let sometimes = model.sometimes();
    let discoveries = checker.discoveries();
    let names: Vec<_> = model.properties().iter().map(|property| property.name).collect();
    // A checker that waits for every property to break stops early only if all of them did.
    let exhaustive = match until {
        Until::Exhausted => discoveries.len() < names.len(),
        Until::FirstBreak => discoveries.is_empty(),
        Until::Breaks(name) => !discoveries.contains_key(name),
    };
    let always = names
        .into_iter()
        .map(|name| (name, discoveries.get(name).map(|path| narrate(model, path.clone().into_vec()))))
        .collect();
    Findings {
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        depth: checker.max_depth(),
        time: started.elapsed(),
        exhaustive,
        always,
        sometimes,
    }
}

fn narrate<M: Narrated>(model: &M, path: Vec<(M::State, Option<M::Action>)>) -> String {
    let mut lines = Vec::new();
    for (number, (state, step)) in path.iter().enumerate() {
        if number == 0 {
            lines.push(format!("     {}", model.scene(state)));
        } else {
            lines.push(format!("         {}", model.outcome(state)));
        }
        if let Some(step) = step {
            lines.push(format!("{:4} {}", number + 1, model.step(state, step)));
        }
    }
    lines.join("\n")
}
