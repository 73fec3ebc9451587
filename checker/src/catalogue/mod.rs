//! Every model, by name.

mod elections;
mod redlock;

use crate::election::{ElectionModel, Invariant, Setting};
use crate::examine::{Findings, Until, examine};
use crate::redlock::{RISING, RedlockModel, UNDER_LOCK, UNIQUE, Variant};

/// How wide the bounds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Seconds without optimisation: for every test run.
    Test,
    /// A minute or two with it.
    Usual,
    /// Many minutes.
    Deep,
}

/// One model and what is expected of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// What must break; everything else must hold.
    pub breaks: Vec<&'static str>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Election(Setting),
    Redlock { variant: Variant, masters: usize, attempts: usize },
}

/// All models.
pub fn all(depth: Depth) -> Vec<Entry> {
    let elections = elections::all(depth).into_iter().map(Entry::election);
    elections.chain(redlock::all(depth)).collect()
}

impl Entry {
    fn election(setting: Setting) -> Self {
        Entry {
            name: setting.name,
            about: setting.about,
            breaks: setting.breaks.iter().map(|invariant| invariant.name()).collect(),
            kind: Kind::Election(setting),
        }
    }

    /// Its bounds in words.
    pub fn bounds(&self) -> String {
        match &self.kind {
            Kind::Election(setting) => format!("{} candidates, {}", setting.candidates.len(), setting.bounds),
            Kind::Redlock { variant, masters, attempts } => RedlockModel::new(*variant, *masters, *attempts).bounds(),
        }
    }

    /// Everything that must always hold, or break where it is expected to.
    pub fn properties(&self) -> Vec<&'static str> {
        match &self.kind {
            Kind::Election(_) => Invariant::ALL.iter().map(|invariant| invariant.name()).collect(),
            Kind::Redlock { .. } => vec![UNIQUE, RISING, UNDER_LOCK],
        }
    }

    /// Explores it.
    pub fn examine(&self, until: Until, threads: usize) -> Findings {
        match &self.kind {
            Kind::Election(setting) => examine(ElectionModel::new(setting.clone()), until, threads),
            Kind::Redlock { variant, masters, attempts } => {
                examine(RedlockModel::new(*variant, *masters, *attempts), until, threads)
            }
        }
    }

    /// What is not as expected.
    pub fn objections(&self, findings: &Findings) -> Vec<String> {
        let broken = findings.broken();
        let mut objections: Vec<String> =
            broken.iter().filter(|name| !self.breaks.contains(name)).map(|name| format!("broken: {name}")).collect();
        let holds = self.breaks.iter().filter(|name| !broken.contains(name));
        objections.extend(holds.map(|name| format!("not broken, and expected to be: {name}")));
        objections.extend(findings.missed().into_iter().map(|name| format!("never met: {name}")));
        // Where all must break there is nothing left to look for.
        if !findings.exhaustive && self.breaks.len() < findings.always.len() {
            objections.push("not every state within the bounds was seen".into());
        }
        objections
    }
}
