//! A test target that puts backends through chaos.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tenure_sim::Violation;
use testbed::{Failure, Trials, tools};

use crate::candidate;
use crate::fleet::Candidate;
use crate::record::Record;
use crate::run::{Run, Setting};
use crate::subject::Subject;
use crate::{invariants, picture};

/// How long a slice is that runs with all other tests, unless something else is said.
const SECONDS: u64 = 20;
/// What is wrong on purpose is found by any schedule sooner or later; these two find it soon.
const PLANTED_SECONDS: u64 = 15;
const PLANTED_SEED: u64 = 3;
const CANDIDATES: usize = 5;

/// What is put through chaos: `Chaos::new().subject(&Redis).main()`.
#[derive(Default)]
pub struct Chaos {
    subjects: Vec<(&'static dyn Subject, Expected)>,
}

/// How a run is to end.
#[derive(Clone, Copy)]
enum Expected {
    Whole,
    /// It was made wrong on purpose, and one of these has to find it.
    Caught(&'static [&'static str]),
}

impl Expected {
    /// What the test is called.
    fn title(self, subject: &str) -> String {
        match self {
            Expected::Whole => format!("{subject}_keeps_its_promises_in_chaos"),
            Expected::Caught(_) => format!("{subject}_is_caught"),
        }
    }
}

/// What the command line or the environment asks for.
#[derive(Clone, Copy)]
struct Wish {
    seed: Option<u64>,
    seconds: Option<u64>,
    candidates: usize,
}

impl Wish {
    fn setting(self, expected: Expected) -> Setting {
        let (seed, seconds) = match expected {
            Expected::Whole => (fastrand::u64(..1_000_000), SECONDS),
            Expected::Caught(_) => (PLANTED_SEED, PLANTED_SECONDS),
        };
        Setting {
            seed: self.seed.unwrap_or(seed),
            span: Duration::from_secs(self.seconds.unwrap_or(seconds)),
            candidates: self.candidates,
        }
    }
}

impl Chaos {
    /// Nothing yet.
    pub fn new() -> Self {
        Chaos::default()
    }

    /// A backend that has to keep its promises.
    pub fn subject(mut self, subject: &'static dyn Subject) -> Self {
        self.subjects.push((subject, Expected::Whole));
        self
    }

    /// One that was made wrong on purpose: one of these invariants has to find it.
    pub fn planted(mut self, subject: &'static dyn Subject, caught_by: &'static [&'static str]) -> Self {
        self.subjects.push((subject, Expected::Caught(caught_by)));
        self
    }

    /// Runs as a test, or as a candidate of one. Ends the process.
    ///
    /// `--seed N` repeats a run, `--minutes M` or `--seconds S` says how long; so do `TENURE_CHAOS_SEED` and `TENURE_CHAOS_SECONDS`.
    pub fn main(self) -> ! {
        if let Ok(name) = std::env::var(candidate::SUBJECT) {
            let subject = self.subjects.iter().find(|(subject, _)| subject.name() == name);
            let (subject, _) = subject.expect("a candidate is started by the target that knows its subject");
            let error = candidate::run(*subject).expect_err("a candidate runs until it is killed");
            eprintln!("{error}");
            std::process::exit(1);
        }
        let (wish, rest) = match wish(std::env::args().collect()) {
            Ok(read) => read,
            Err(what) => {
                eprintln!("{what}");
                std::process::exit(2);
            }
        };
        // Each is many processes, and mostly waits.
        let trials = Trials::new().at_once(2);
        let add = |trials: Trials, (subject, expected): (&'static dyn Subject, Expected)| {
            let setting = wish.setting(expected);
            let missing = subject.missing().or_else(|| tools::FAKETIME.missing());
            trials.needing(missing, &expected.title(subject.name()), move || {
                if let Err(what) = chaos(subject, expected, setting) {
                    panic!("{what}");
                }
            })
        };
        self.subjects.into_iter().fold(trials, add).main_of(rest)
    }
}

/// Reads what is ours, and leaves the rest for the harness.
fn wish(arguments: Vec<String>) -> Result<(Wish, Vec<String>), String> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let mut wish =
        Wish { seed: number("TENURE_CHAOS_SEED"), seconds: number("TENURE_CHAOS_SECONDS"), candidates: CANDIDATES };
    let mut rest = Vec::new();
    let mut words = arguments.into_iter();
    while let Some(word) = words.next() {
        let (name, given) = match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word.clone(), None),
        };
        if !["--seed", "--minutes", "--seconds", "--candidates"].contains(&name.as_str()) {
            rest.push(word);
            continue;
        }
        let value = given.or_else(|| words.next()).and_then(|value| value.parse::<u64>().ok());
        let value = value.ok_or_else(|| format!("{name} needs a whole number"))?;
        match name.as_str() {
            "--seed" => wish.seed = Some(value),
            "--minutes" => wish.seconds = Some(60 * value),
            "--seconds" => wish.seconds = Some(value),
            _ => wish.candidates = value.max(2) as usize,
        }
    }
    Ok((wish, rest))
}

fn chaos(subject: &'static dyn Subject, expected: Expected, setting: Setting) -> Result<(), Failure> {
    let name = subject.name();
    let seconds = setting.span.as_secs();
    let again = format!("--seed {} --seconds {seconds} --candidates {}", setting.seed, setting.candidates);
    println!("chaos on {name}: {again}");
    let kept = std::env::temp_dir().join(format!("tenure-chaos-{name}-{}", setting.seed));
    let _ = std::fs::remove_dir_all(&kept);
    std::fs::create_dir_all(&kept)?;
    let (record, fleet) = whole_run(subject, setting, &kept)?;
    println!("{}", told(&record));
    let violations = invariants::judge(&record);
    match (expected, violations.as_slice()) {
        (Expected::Whole, []) => {
            let _ = std::fs::remove_dir_all(&kept);
            bit(&record).map_err(Failure::new)
        }
        (Expected::Whole, violations) => {
            keep(&kept, name, setting, &record, &fleet, violations);
            let what = sentences(violations);
            Err(Failure::new(format!("{what}\nsee {}; repeat it with {again}", kept.display())))
        }
        (Expected::Caught(by), violations) => {
            let _ = std::fs::remove_dir_all(&kept);
            let found =
                violations.iter().any(|one| by.iter().any(|name| one.invariant.split(' ').next() == Some(*name)));
            println!("found: {}", sentences(violations));
            let missed = || Failure::new(format!("{by:?} found nothing wrong; repeat it with {again}"));
            found.then_some(()).ok_or_else(missed)
        }
    }
}

fn whole_run(
    subject: &'static dyn Subject,
    setting: Setting,
    kept: &Path,
) -> Result<(Record, Vec<Candidate>), Failure> {
    let mut run = Run::start(subject, setting)?;
    run.trouble(setting)?;
    run.peace(kept)
}

/// What happened, in a few lines.
fn told(record: &Record) -> String {
    let mut strikes: BTreeMap<&str, usize> = BTreeMap::new();
    for strike in &record.strikes {
        *strikes.entry(strike.name).or_default() += 1;
    }
    let strikes: Vec<_> = strikes.into_iter().map(|(name, times)| format!("{name} {times}×")).collect();
    let calls: usize = record.lives.iter().map(|life| life.calls.len()).sum();
    format!(
        "{}\n{} tenures, {calls} calls, {} looks; {} leaders were overtaken while frozen; excused {} % of the time\nfenced: {}\nunfenced: {}",
        strikes.join(", "),
        record.beliefs().len(),
        record.looks.len(),
        record.overtaken_freezes(),
        record.excused_share(),
        record.fenced,
        record.unfenced
    )
}

/// A run in which nothing happened proves nothing.
fn bit(record: &Record) -> Result<(), String> {
    if record.beliefs().len() < 2 {
        return Err("hardly anybody led: the run proves nothing".to_owned());
    }
    let steps = record.strikes.iter().filter(|strike| strike.name.starts_with("wall clock")).count();
    let jumps: usize = record.lives.iter().map(|life| life.wall_jumps.len()).sum();
    if steps > 1 && jumps == 0 {
        return Err(format!("{steps} wall clocks were set, and no candidate saw it"));
    }
    Ok(())
}

fn keep(folder: &Path, name: &str, setting: Setting, record: &Record, fleet: &[Candidate], violations: &[Violation]) {
    let title = format!("{name}, seed {}", setting.seed);
    let _ = std::fs::write(folder.join("timeline.svg"), picture::svg(&title, record, violations.first()));
    let _ = std::fs::write(folder.join("violations"), sentences(violations));
    let mut strikes: Vec<_> = record.strikes.iter().collect();
    strikes.sort_by_key(|strike| strike.from);
    let lines = strikes.iter().map(|strike| format!("{strike:?}\n"));
    let _ = std::fs::write(folder.join("strikes"), lines.collect::<String>());
    let looks = record.looks.iter().map(|call| format!("{call:?}\n"));
    let _ = std::fs::write(folder.join("looks"), looks.collect::<String>());
    fleet.iter().for_each(|candidate| candidate.keep(folder));
}

fn sentences(violations: &[Violation]) -> String {
    let one = |violation: &Violation| {
        format!("{} broke after {:.3} s: {}", violation.invariant, violation.time as f64 / 1e9, violation.what)
    };
    violations.iter().map(one).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Wish, Vec<String>), String> {
        wish(line.split(' ').map(str::to_owned).collect())
    }

    #[test]
    fn what_is_not_ours_is_left_for_the_harness() {
        let (wish, rest) = read("chaos --seed 7 --nocapture --minutes=2 --candidates 9 redis_keeps").unwrap();
        assert_eq!(rest, ["chaos", "--nocapture", "redis_keeps"]);
        let setting = wish.setting(Expected::Whole);
        assert_eq!((setting.seed, setting.span, setting.candidates), (7, Duration::from_secs(120), 9));
        assert!(read("chaos --seed").is_err());
        assert!(read("chaos --minutes soon").is_err());
    }

    #[test]
    fn what_is_wrong_on_purpose_has_a_schedule_of_its_own() {
        let (wish, _) = read("chaos").unwrap();
        let setting = wish.setting(Expected::Caught(&["I1"]));
        assert_eq!((setting.seed, setting.span), (PLANTED_SEED, Duration::from_secs(PLANTED_SECONDS)));
    }
}
