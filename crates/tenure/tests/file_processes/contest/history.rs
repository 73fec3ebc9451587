//! What the processes wrote down of themselves.

use std::path::{Path, PathBuf};

use tenure::Moment;

use super::{Believed, LEASE};

/// The histories of all lives of all processes.
#[derive(Debug, Default)]
pub(super) struct Histories {
    lives: Vec<Life>,
    pub(super) kills: usize,
    pub(super) stops: usize,
}

/// One process from its start to its end.
#[derive(Debug)]
struct Life {
    index: usize,
    path: PathBuf,
    foreign: bool,
    killed: Option<Moment>,
}

impl Histories {
    /// The file in which the next life of a process is to be written down.
    pub(super) fn of(&mut self, folder: &Path, index: usize, foreign: bool) -> PathBuf {
        let path = folder.join(format!("history-{index}-{}", self.lives.len()));
        self.lives.push(Life { index, path: path.clone(), foreign, killed: None });
        path
    }

    /// The present life of a process ended no earlier than this.
    pub(super) fn killed(&mut self, index: usize, at: Moment) {
        self.kills += 1;
        let life = self.lives.iter_mut().rfind(|life| life.index == index);
        life.expect("it lived").killed = Some(at);
    }

    /// All tenures, in the order in which they began.
    pub(super) fn tenures(&self) -> Vec<Believed> {
        let mut tenures: Vec<_> = self.lives.iter().flat_map(Life::tenures).collect();
        tenures.sort_by_key(|tenure| tenure.from);
        tenures
    }

    /// I5: no process saw itself lead after its deadline.
    pub(super) fn assert_nothing_else(&self) {
        for life in &self.lives {
            for line in life.lines() {
                assert!(!line.starts_with("violated"), "I5: {line} in {}", life.path.display());
            }
        }
    }
}

impl Life {
    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        // The last line may be cut off by the kill.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(str::to_owned).collect()
    }

    fn tenures(&self) -> Vec<Believed> {
        if self.foreign { self.tenures_of_a_foreign_peer() } else { self.tenures_of_a_candidate() }
    }

    /// `begins <now> <tenure> <token>`, then `counts-on <expiry>` with every renewal, then `ends <now> <voluntary>`.
    fn tenures_of_a_candidate(&self) -> Vec<Believed> {
        let mut tenures: Vec<Believed> = Vec::new();
        for line in self.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let number = |index: usize| words[index].parse::<u64>().expect("a number");
            match words[0] {
                "begins" => tenures.push(Believed {
                    who: format!("w{}", self.index),
                    id: Some(words[2].parse().expect("an id")),
                    token: Some(number(3)),
                    from: number(1),
                    until: number(1),
                }),
                "counts-on" => {
                    let tenure = tenures.last_mut().expect("it began");
                    tenure.until = tenure.until.max(number(1));
                }
                // One who gave up freely had stopped its work; anybody else has the grace.
                "ends" if words[2] == "true" => {
                    let tenure = tenures.last_mut().expect("it began");
                    tenure.until = tenure.until.min(number(1));
                }
                _ => {}
            }
        }
        self.cut_short(tenures)
    }

    /// `acquired` and `renewed <sent> <answered>`: until a lease after it was last sent.
    fn tenures_of_a_foreign_peer(&self) -> Vec<Believed> {
        let mut tenures: Vec<Believed> = Vec::new();
        for line in self.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let number = |index: usize| words[index].parse::<u64>().expect("a number");
            let lease = LEASE.as_nanos() as u64;
            match words[0] {
                "acquired" => {
                    let (from, until) = (number(2), number(1) + lease);
                    tenures.push(Believed { who: "go".into(), id: None, token: None, from, until });
                }
                "renewed" => tenures.last_mut().expect("it leads").until = number(1) + lease,
                _ => {}
            }
        }
        self.cut_short(tenures)
    }

    /// Nobody believes anything after its death.
    fn cut_short(&self, mut tenures: Vec<Believed>) -> Vec<Believed> {
        if let (Some(last), Some(killed)) = (tenures.last_mut(), self.killed) {
            last.until = last.until.min(killed.as_nanos().max(last.from));
        }
        tenures
    }
}
