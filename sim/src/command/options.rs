//! What was asked for.

use std::path::PathBuf;
use std::time::Duration;

use tenure_sim::faults::KINDS;
use tenure_sim::{Family, Faults};

/// How it is used.
pub(super) const USAGE: &str = "\
Usage: tenure-sim [options]

Runs elections in simulated worlds and checks the invariants in each. A seed, a family and the faults decide a world bit by bit.

  --seeds N        how many worlds, dealt to the families in turn [100000]
  --from SEED      the first seed [0]
  --family NAMES   some of: redis, redis-shared, nats, ttl-store, etcd, zookeeper, kubernetes, kubernetes-shared, dynamodb,
                   object-store, file, redlock, with commas between them [all]
  --faults WORD    none; all: whatever the rules assume can happen; clocks, deletions, records: beyond that, in clocks or in records; beyond: both;
                   or some of: loss, duplication, delay, pauses, partitions, crashes, deeds, restarts, drift, clocks, removals, wipes, restores [all]
  --threads N      [one a core]
  --pictures DIR   where pictures of broken worlds go [target/sim]

  --replay SEED    run one world again and tell what happens in it; with --family; the picture goes to --pictures too
  --soak FILE      go on for ever, through all families and faults; FILE keeps the place, so that it can be stopped and started
  --hours H        with --soak: stop after so long
  --mutants        break one rule at a time and demand that a world notices (a build with --cfg tenure_mutants)

Exit status: 0 nothing broke; 1 an invariant broke, or something that must happen in some worlds did not; 64 bad usage.";

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Run seeds.
    Check,
    /// Tell one seed's story.
    Replay(u64),
    /// Go on for ever.
    Soak(PathBuf),
    /// Try the mutants.
    Mutants,
    /// Print the usage.
    Help,
}

/// Everything that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) mode: Mode,
    pub(super) seeds: u64,
    pub(super) from: u64,
    pub(super) families: Vec<Family>,
    /// The faults, and the word for them.
    pub(super) faults: (String, Faults),
    pub(super) threads: usize,
    pub(super) pictures: PathBuf,
    pub(super) hours: Option<Duration>,
    /// Mutants by name; all if there are none.
    pub(super) names: Vec<String>,
}

impl Options {
    const SEEDS: u64 = 100_000;

    pub(super) fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Options {
            mode: Mode::Check,
            seeds: Self::SEEDS,
            from: 0,
            families: Family::ALL.to_vec(),
            faults: ("all".into(), Faults::ALL),
            threads: std::thread::available_parallelism().map_or(1, Into::into),
            pictures: PathBuf::from("target/sim"),
            hours: None,
            names: Vec::new(),
        };
        let mut words = words.peekable();
        while let Some(option) = words.next() {
            match option.as_str() {
                "--help" | "-h" => options.mode = Mode::Help,
                "--mutants" => options.mode = Mode::Mutants,
                name if !name.starts_with('-') => options.names.push(option),
                _ => {
                    let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
                    options.set(&option, value)?;
                }
            }
        }
        if options.seeds == 0 {
            return Err("no worlds prove nothing: --seeds needs at least 1".into());
        }
        let fixed = options.faults.0 != "all" || options.from != 0 || options.seeds != Self::SEEDS;
        if fixed && matches!(options.mode, Mode::Soak(_)) {
            return Err(
                "--soak goes through all faults and seeds by itself: leave --faults, --seeds and --from out".into()
            );
        }
        if options.hours.is_some() && !matches!(options.mode, Mode::Soak(_)) {
            return Err("--hours is for --soak".into());
        }
        if !options.names.is_empty() && options.mode != Mode::Mutants {
            return Err(format!("{:?} is no option", options.names[0]));
        }
        Ok(options)
    }

    fn set(&mut self, option: &str, value: String) -> Result<(), String> {
        let number = || value.parse().map_err(|_| format!("{option} needs a number, and {value:?} is none"));
        match option {
            "--seeds" => self.seeds = number()?,
            "--from" => self.from = number()?,
            "--replay" => self.mode = Mode::Replay(number()?),
            "--soak" => self.mode = Mode::Soak(value.into()),
            "--hours" => self.hours = Some(Duration::from_secs(number()?.saturating_mul(3_600))),
            "--threads" => self.threads = (number()? as usize).max(1),
            "--pictures" => self.pictures = value.into(),
            "--family" => self.families = value.split(',').map(family).collect::<Result<_, _>>()?,
            "--faults" => {
                let faults = Faults::named(&value);
                let known = || format!("none, all, clocks, deletions, records, beyond, {}", KINDS.join(", "));
                self.faults =
                    (value.clone(), faults.ok_or_else(|| format!("there are no faults {value:?}, but {}", known()))?);
            }
            _ => return Err(format!("there is no option {option:?}")),
        }
        Ok(())
    }
}

fn family(name: &str) -> Result<Family, String> {
    let known = || Family::ALL.map(Family::name).join(", ");
    Family::named(name).ok_or_else(|| format!("there is no family {name:?}, but {}", known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        Options::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read_and_mistakes_are_told() {
        let options = read("--seeds 7 --family etcd,file --faults loss,drift --replay 9").unwrap();
        assert_eq!((options.seeds, options.mode), (7, Mode::Replay(9)));
        assert_eq!(options.families, [Family::Etcd, Family::File]);
        assert_eq!((options.faults.1.loss, options.faults.1.between_crashes), (Faults::ALL.loss, 0));
        for (line, told) in [
            ("--seeds many", "number"),
            ("--family oracle", "redlock"),
            ("--faults meteors", "restores"),
            ("--seeds", "needs a value"),
            ("--sees 1", "no option"),
            ("etcd", "no option"),
            ("--seeds 0", "prove nothing"),
            ("--hours 3", "--soak"),
            ("--soak x --faults none", "leave --faults"),
        ] {
            assert!(read(line).unwrap_err().contains(told), "{line}");
        }
    }
}
