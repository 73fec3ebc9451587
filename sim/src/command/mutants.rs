//! Breaks one rule at a time, and demands that a world notices.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tenure::mutant::{Mutant, plant};
use tenure_sim::{Family, Faults, killers, run as simulate};

use super::options::Options;
use super::replay;

/// How a mutant was noticed.
struct Kill {
    /// How many worlds it took.
    worlds: u64,
    family: Family,
    faults: String,
    seed: u64,
    invariant: String,
}

/// Tries the mutants that were named, or all that simulation must kill. With `--seeds`, so many worlds are tried for each.
pub(super) fn run(options: &Options) -> ExitCode {
    // What a mutant breaks may be an assertion; that is a kill, and no news.
    std::panic::set_hook(Box::new(|_| {}));
    let begin = Instant::now();
    let (mut killed, mut survived) = (0, Vec::new());
    let chosen: Vec<_> = Mutant::ALL.iter().filter(|(_, name, ..)| is_asked_for(name, options)).collect();
    if let Some(unknown) = options.names.iter().find(|name| !chosen.iter().any(|(_, known, ..)| known == name)) {
        eprintln!("tenure-sim: there is no mutant {unknown:?}");
        return ExitCode::from(64);
    }
    // A mutant without a test of its own is one that only worlds can kill.
    for (_, name, _, tests) in Mutant::ALL {
        assert!(!tests.is_empty() || killers::of(name).is_some(), "{name} is killed by no test and by no world");
    }
    for (mutant, name, rule, _) in chosen {
        plant(Some(*mutant));
        match tried(name, options) {
            Some(Kill { worlds, family, faults, seed, invariant }) => {
                killed += 1;
                println!("{name}: killed by {invariant} in {worlds} worlds ({rule})");
                println!(
                    "  RUSTFLAGS='--cfg tenure_mutants' TENURE_MUTANT={name} {}",
                    replay::line(family, &faults, seed)
                );
            }
            None => {
                println!("{name}: SURVIVED {} worlds ({rule})", options.seeds);
                survived.push(*name);
            }
        }
    }
    plant(None);
    let fine = (0..1_000).filter(|world| {
        broken(Family::ALL[(*world % Family::ALL.len() as u64) as usize], Faults::ALL, *world).is_none()
    });
    let fine = fine.count() == 1_000;
    if !fine {
        println!("worlds break without any mutant: nothing is proved");
    }
    println!("{killed} mutants killed in {:.0} s", begin.elapsed().as_secs_f64());
    println!("{killed} passed, {} failed", survived.len() + usize::from(!fine));
    if survived.is_empty() && fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_asked_for(name: &str, options: &Options) -> bool {
    if options.names.is_empty() { killers::of(name).is_some() } else { options.names.iter().any(|other| other == name) }
}

/// Runs worlds where this mutant is known to show, or where it is asked to be looked for.
fn tried(name: &str, options: &Options) -> Option<Kill> {
    let places: Vec<(Family, &str)> = match killers::of(name) {
        Some((family, faults)) => vec![(family, faults)],
        None => options.families.iter().map(|family| (*family, options.faults.0.as_str())).collect(),
    };
    let next = AtomicU64::new(0);
    let first: Mutex<Option<Kill>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                loop {
                    let world = next.fetch_add(1, Ordering::Relaxed);
                    // The first in order is told, whichever thread is quicker.
                    let done = first.lock().expect("not poisoned").as_ref().is_some_and(|kill| kill.worlds <= world);
                    if world >= options.seeds || done {
                        break;
                    }
                    let (family, word) = places[(world % places.len() as u64) as usize];
                    let seed = options.from + world / places.len() as u64;
                    let faults = Faults::named(word).expect("a known word");
                    if let Some(invariant) = broken(family, faults, seed) {
                        let kill = Kill { worlds: world + 1, family, faults: word.to_owned(), seed, invariant };
                        let mut first = first.lock().expect("not poisoned");
                        if first.as_ref().is_none_or(|other| kill.worlds < other.worlds) {
                            *first = Some(kill);
                        }
                    }
                }
            });
        }
    });
    first.into_inner().expect("not poisoned")
}

fn broken(family: Family, faults: Faults, seed: u64) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| simulate(seed, family, faults))) {
        Ok(history) => history.violation().map(|violation| violation.invariant.to_owned()),
        Err(_) => Some("an assertion".to_owned()),
    }
}
