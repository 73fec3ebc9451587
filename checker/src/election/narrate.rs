//! A counterexample, told so that a person can follow it: what happened, who believed what, and what the store had.

use std::fmt::Write;

use super::message::short;
use super::model::{Answer, Blow, ElectionModel, Step};
use super::setting::name_of;
use super::world::World;
use crate::examine::Narrated;

impl Narrated for ElectionModel {
    fn scene(&self, world: &World) -> String {
        let mut scene = String::new();
        for candidate in 0..world.nodes.len() {
            let pace = if world.is_fast(candidate) { "fast" } else { "slow" };
            let _ = write!(scene, "{}'s clock is {pace}, ", name_of(candidate));
        }
        let _ = write!(scene, "the store's is {}", if world.store_fast { "fast" } else { "slow" });
        scene
    }

    fn step(&self, world: &World, step: &Step) -> String {
        match step {
            Step::Tick(blow) => {
                let blow = match blow {
                    None => String::new(),
                    Some(Blow::Stop(candidate)) => format!(", and {} is stopped", name_of(*candidate)),
                    Some(Blow::Crash(candidate)) => format!(", and {} has died and starts again", name_of(*candidate)),
                    Some(Blow::Resign(candidate)) => format!(", and {} resigns", name_of(*candidate)),
                };
                let late: Vec<String> = world
                    .network
                    .iter()
                    .filter(|message| !message.late)
                    .map(|message| format!("; not arrived: {message}"))
                    .collect();
                format!("it is tick {}{blow}{}", world.tick + 1, late.concat())
            }
            Step::Arrive { message, again, answer } => {
                let again = if *again { " (and will come again)" } else { "" };
                let answer = match answer {
                    Answer::Prompt => "",
                    Answer::Late => "; the answer is late",
                    Answer::Doubled => "; the answer will come again",
                };
                format!("the store gets {}{again}{answer}", world.network[*message])
            }
            Step::Hear { message, again } => {
                let message = &world.network[*message];
                let again = if *again { " (and will again)" } else { "" };
                format!("{} gets {message}{again}", name_of(usize::from(message.node)))
            }
            Step::Run(candidate) => format!("{} does what was due", name_of(*candidate)),
            Step::WorkStops(candidate) => format!("{}'s work has stopped", name_of(*candidate)),
        }
    }

    fn outcome(&self, world: &World) -> String {
        let believers: Vec<String> = world
            .believers(&self.setting)
            .map(|candidate| {
                let node = &world.nodes[candidate];
                let now = world.now(&self.setting, candidate);
                let until = node.term.map(|term| term.expiry).or(node.stop_by).unwrap_or(now);
                format!("{} (for {:?} more of its own time)", name_of(candidate), until.since(now))
            })
            .collect();
        let believed = if believers.is_empty() {
            "nobody believes".into()
        } else {
            format!("believing: {}", believers.join(", "))
        };
        match world.store.truth() {
            None => format!("{believed}; the office is vacant"),
            Some(truth) => {
                format!("{believed}; the store has {}, token {}, v{}", short(truth.tenure), truth.token, truth.version)
            }
        }
    }

    fn sometimes(&self) -> Vec<(&'static str, u64)> {
        self.setting.meets.iter().map(|fact| (fact.text(), self.facts.count(*fact))).collect()
    }
}
