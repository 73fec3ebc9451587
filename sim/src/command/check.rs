//! Runs seeds and says what was met and what broke.

use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tenure_sim::{CANDIDATES, END, Fact, Family, Faults, Violation, run as simulate};

use super::options::Options;
use super::replay;

/// What a number of worlds came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// For each family: worlds, and how often each fact was met.
    pub(super) families: Vec<(Family, u64, Vec<u64>)>,
    /// What broke first, as many as anybody reads.
    pub(super) broken: Vec<(Family, u64, Violation)>,
    /// How many worlds broke.
    pub(super) failed: u64,
}

impl Tally {
    /// How many broken worlds are told of.
    const MOST_TOLD: usize = 10;

    pub(super) fn new(families: &[Family]) -> Self {
        let families = families.iter().map(|family| (*family, 0, vec![0; Fact::ALL.len()])).collect();
        Tally { families, ..Tally::default() }
    }

    pub(super) fn worlds(&self) -> u64 {
        self.families.iter().map(|(_, worlds, _)| worlds).sum()
    }

    fn tell_of(&mut self, family: Family, seed: u64, violation: Violation) {
        if self.broken.len() < Self::MOST_TOLD {
            self.broken.push((family, seed, violation));
        }
    }

    fn add(&mut self, other: Tally) {
        for (mine, theirs) in self.families.iter_mut().zip(other.families) {
            mine.1 += theirs.1;
            mine.2.iter_mut().zip(theirs.2).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.failed += other.failed;
        self.broken.extend(other.broken);
        self.broken.sort_by_key(|(_, seed, _)| *seed);
        self.broken.truncate(Self::MOST_TOLD);
    }

    /// Facts that must have been met in so many worlds with these faults, and were not.
    pub(super) fn missing(&self, faults: &Faults) -> Vec<(Family, Fact)> {
        let enough = self.families.iter().filter(|(_, worlds, _)| *worlds >= Family::ENOUGH);
        enough
            .flat_map(|(family, _, met)| {
                let expected = family.expects(faults);
                expected.into_iter().filter(|fact| met[*fact as usize] == 0).map(|fact| (*family, fact))
            })
            .collect()
    }
}

/// Runs worlds on all threads, until `stop` says so: world `k` is of the family `k % n` and has the seed `from + k / n`.
pub(super) fn worlds(
    families: &[Family],
    faults: Faults,
    from: u64,
    seeds: u64,
    threads: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> Tally {
    const CHUNK: u64 = 64;
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let total = Mutex::new(Tally::new(families));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let first = next.fetch_add(CHUNK, Ordering::Relaxed);
                    if first >= seeds {
                        break;
                    }
                    let mut tally = Tally::new(families);
                    let last = (first + CHUNK).min(seeds);
                    for world in first..last {
                        one(&mut tally, families, faults, from, world);
                    }
                    progress(last - first);
                    let mut total = total.lock().expect("nobody panics with it");
                    total.add(tally);
                    // What is wrong once is wrong often; nobody reads more.
                    stop.fetch_or(total.failed >= 1_000, Ordering::Relaxed);
                }
            });
        }
    });
    total.into_inner().expect("nobody panics with it")
}

fn one(tally: &mut Tally, families: &[Family], faults: Faults, from: u64, world: u64) {
    let place = (world % families.len() as u64) as usize;
    let (family, seed) = (families[place], from + world / families.len() as u64);
    let history = match catch_unwind(AssertUnwindSafe(|| simulate(seed, family, faults))) {
        Ok(history) => history,
        Err(_) => {
            tally.families[place].1 += 1;
            tally.failed += 1;
            let what = "an assertion failed, see above".to_owned();
            let violation = Violation { invariant: "no panic", time: 0, what };
            return tally.tell_of(family, seed, violation);
        }
    };
    tally.families[place].1 += 1;
    for fact in Fact::ALL {
        tally.families[place].2[*fact as usize] += u64::from(history.count(*fact));
    }
    if let Some(violation) = history.violation() {
        tally.failed += 1;
        tally.tell_of(family, seed, violation.clone());
    }
}

/// Runs what was asked for.
pub(super) fn run(options: &Options) -> ExitCode {
    let begin = Instant::now();
    let bar = progress_bar(options.seeds);
    let tally = worlds(&options.families, options.faults.1, options.from, options.seeds, options.threads, &|done| {
        bar.inc(done);
    });
    bar.finish_and_clear();
    let elapsed = begin.elapsed();
    report(&tally);
    let rate = tally.worlds() as f64 / elapsed.as_secs_f64();
    println!(
        "{} worlds of {CANDIDATES} candidates and {} s, faults {}: {:.1} s, {rate:.0} a second, {:.0} a second and thread",
        tally.worlds(),
        END / 1_000_000_000,
        options.faults.0,
        elapsed.as_secs_f64(),
        rate / options.threads as f64,
    );
    let missing = tally.missing(&options.faults.1);
    for (family, fact) in &missing {
        println!("{}: {fact:?} was never met, and must be in some worlds: these prove too little", family.name());
    }
    for (family, seed, violation) in &tally.broken {
        println!("{} seed {seed}: {} broken: {}", family.name(), violation.invariant, violation.what);
        println!("  replay: {}", replay::line(*family, &options.faults.0, *seed));
    }
    // One that panics is told up to there by its replay, and by nothing else.
    if let Some((family, seed, _)) = tally.broken.iter().find(|(.., violation)| violation.invariant != "no panic") {
        replay::tell(*family, *seed, options, Some(60));
    }
    println!("{} passed, {} failed", tally.worlds() - tally.failed, tally.failed + missing.len() as u64);
    if tally.failed == 0 && missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What was met, a line a fact and a column a family.
pub(super) fn report(tally: &Tally) {
    println!("met, in all worlds of each family:");
    for (family, worlds, met) in &tally.families {
        let met = Fact::ALL.iter().filter(|fact| met[**fact as usize] > 0);
        let words: Vec<String> = met.map(|fact| format!("{fact:?} {}", met_of(tally, *family, *fact))).collect();
        println!("  {} ({worlds} worlds): {}", family.name(), words.join(", "));
    }
}

fn met_of(tally: &Tally, family: Family, fact: Fact) -> u64 {
    tally.families.iter().find(|(other, ..)| *other == family).map_or(0, |(_, _, met)| met[fact as usize])
}

/// A bar on a terminal, and nothing where nobody watches.
pub(super) fn progress_bar(worlds: u64) -> indicatif::ProgressBar {
    if !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(worlds);
    let style = "{bar:40} {human_pos}/{human_len} worlds, {per_sec}, {eta} left";
    bar.set_style(indicatif::ProgressStyle::with_template(style).expect("a good template"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
