//! The model that stateright explores: which steps there are from a state.

use std::sync::atomic::{AtomicU8, Ordering};

use stateright::{Model, Property};

use super::facts::Facts;
use super::invariants::Invariant;
use super::setting::{Durations, Setting};
use super::stepping::Stepping;
use super::world::World;

/// A small election.
#[derive(Debug)]
pub struct ElectionModel {
    /// What it is made of.
    pub setting: Setting,
    /// What happened anywhere in it.
    pub facts: Facts,
    alike: bool,
    /// What was found broken already: the first state that shows it has the shortest way to it.
    told: AtomicU8,
}

/// One thing that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Time goes on by a tick, and whoever runs does what is due.
    Tick(Option<Blow>),
    /// A request arrives at the store.
    Arrive {
        /// Which of those under way.
        message: usize,
        /// And will arrive once more.
        again: bool,
        /// What becomes of the answer.
        answer: Answer,
    },
    /// A late answer arrives; a process that was stopped goes on with it.
    Hear {
        /// Which of those under way.
        message: usize,
        /// And will arrive once more.
        again: bool,
    },
    /// A process that was stopped goes on with what is overdue.
    Run(usize),
    /// Guarded work stops before it must.
    WorkStops(usize),
}

/// What becomes of an answer. One that comes within its tick may as well come at once: whatever else happens to its candidate at that tick happens
/// before the request arrives, or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It comes at once, or waits for a process that is stopped.
    Prompt,
    /// It comes at any later tick, or never.
    Late,
    /// Both.
    Doubled,
}

/// What happens to a candidate between two ticks. It could happen at any instant between them: whatever else a candidate does there is another step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// Its process is stopped.
    Stop(usize),
    /// Its process dies, and another starts without memory.
    Crash(usize),
    /// It is told to resign.
    Resign(usize),
}

impl ElectionModel {
    /// The model of a setting.
    pub fn new(setting: Setting) -> Self {
        let key = |durations: &Durations| (durations.lease, durations.renew, durations.retry);
        let alike = setting.candidates.iter().all(|durations| key(durations) == key(&setting.candidates[0]));
        ElectionModel { setting, facts: Facts::default(), alike, told: AtomicU8::new(0) }
    }

    fn holds(&self, invariant: Invariant, world: &World) -> bool {
        let bit = 1 << invariant as u8;
        !world.broken.contains(invariant) || self.told.fetch_or(bit, Ordering::Relaxed) & bit != 0
    }

    fn ticks(&self, world: &World, steps: &mut Vec<Step>) {
        let (bounds, spent) = (self.setting.bounds, world.spent);
        if world.tick == bounds.ticks {
            return;
        }
        steps.push(Step::Tick(None));
        if spent.total() == bounds.disturbances {
            return;
        }
        for (candidate, node) in world.nodes.iter().enumerate() {
            let next = self.setting.clocks.at(world.tick + 1, world.is_fast(candidate));
            // One that has nothing to do at the next tick can as well be stopped later.
            if spent.pauses < bounds.pauses && !node.paused && node.due() <= next {
                steps.push(Step::Tick(Some(Blow::Stop(candidate))));
            }
            if spent.crashes < bounds.crashes {
                steps.push(Step::Tick(Some(Blow::Crash(candidate))));
            }
            if spent.resignations < bounds.resignations && !node.paused && node.leads() {
                steps.push(Step::Tick(Some(Blow::Resign(candidate))));
            }
        }
    }

    fn processes(&self, world: &World, steps: &mut Vec<Step>) {
        for (candidate, node) in world.nodes.iter().enumerate() {
            if node.due() <= world.now(&self.setting, candidate) {
                steps.push(Step::Run(candidate));
            }
            if node.stop_by.is_some() && !node.paused {
                steps.push(Step::WorkStops(candidate));
            }
        }
    }

    fn messages(&self, world: &World, steps: &mut Vec<Step>) {
        let (bounds, spent) = (self.setting.bounds, world.spent);
        let left = bounds.disturbances - spent.total();
        for (message, under_way) in world.network.iter().enumerate() {
            if message > 0 && world.network[message - 1] == *under_way {
                continue;
            }
            // Candidates that are alike are named in the order in which the store first hears of them.
            if self.alike && under_way.is_request() && under_way.node > world.heard_of {
                continue;
            }
            let mut one = |again: bool| {
                if !under_way.is_request() {
                    steps.push(Step::Hear { message, again });
                    return;
                }
                let left = left - u8::from(again);
                steps.push(Step::Arrive { message, again, answer: Answer::Prompt });
                if spent.late < bounds.late && left > 0 {
                    steps.push(Step::Arrive { message, again, answer: Answer::Late });
                }
                if spent.duplicates + u8::from(again) < bounds.duplicates && left > 0 {
                    steps.push(Step::Arrive { message, again, answer: Answer::Doubled });
                }
            };
            one(false);
            if spent.duplicates < bounds.duplicates && left > 0 {
                one(true);
            }
        }
    }
}

impl Model for ElectionModel {
    type State = World;
    type Action = Step;

    /// Every combination of slow and fast clocks.
    fn init_states(&self) -> Vec<World> {
        let combinations = 1u8 << self.setting.candidates.len();
        [false, true]
            .into_iter()
            .flat_map(|store| (0..combinations).map(move |fast| (fast, store)))
            // Only a store that expires records has a clock that counts.
            .filter(|(_, store)| !store || !self.setting.store.traits().contenders_judge)
            .map(|(fast, store)| World::new(&self.setting, fast, store))
            .collect()
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        self.ticks(world, steps);
        self.messages(world, steps);
        self.processes(world, steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut stepping = Stepping::new(&self.setting, world.clone());
        match step {
            Step::Tick(blow) => stepping.tick(blow),
            Step::Arrive { message, again, answer } => stepping.arrive(message, again, answer),
            Step::Hear { message, again } => stepping.hear(message, again),
            Step::Run(candidate) => stepping.run(candidate),
            Step::WorkStops(candidate) => stepping.stop_work(candidate),
        }
        let (world, facts) = stepping.done()?;
        if !self.within_boundary(&world) {
            return None;
        }
        self.facts.note_all(facts);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        Invariant::ALL.iter().map(|invariant| Property::always(invariant.name(), condition(*invariant))).collect()
    }

    fn within_boundary(&self, world: &World) -> bool {
        let bounds = self.setting.bounds;
        world.spent.late <= bounds.late
            && world.spent.total() <= bounds.disturbances
            && world.store.granted() <= bounds.tenures
    }
}

/// Stateright takes a plain function for each property.
fn condition(invariant: Invariant) -> fn(&ElectionModel, &World) -> bool {
    macro_rules! of {
        ($($name:ident),*) => {
            match invariant { $(Invariant::$name => |model, world| model.holds(Invariant::$name, world),)* }
        };
    }
    of!(OneBelieves, TokensRise, StoreAgrees, NothingAfterDeadline, LateWritesHarmless, OneTenureABid, NoFalseAlarm)
}
