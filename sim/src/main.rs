//! `cargo run --release -p tenure-sim -- [--seeds N] [--from SEED] [--family NAME] [--faults all|none|beyond] [--replay SEED]`

use std::process::ExitCode;
use std::time::Instant;

use tenure_sim::{Fact, Family, Faults, run};

const USAGE: &str = "usage: tenure-sim [--seeds N] [--from SEED] [--family ttl|bucket|session|register|pushed-register] [--faults all|none|beyond] [--replay SEED]";

struct Options {
    seeds: u64,
    from: u64,
    families: Vec<Family>,
    faults: (&'static str, Faults),
    replay: bool,
}

fn main() -> ExitCode {
    match options() {
        Ok(options) if options.replay => replay(&options),
        Ok(options) => check(&options),
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            ExitCode::from(64)
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { seeds: 10_000, from: 0, families: Family::ALL.to_vec(), faults: ("all", Faults::ALL), replay: false };
    let mut words = std::env::args().skip(1);
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{option} needs a number, and {value:?} is none"));
        match option.as_str() {
            "--seeds" => options.seeds = number()?,
            "--from" => options.from = number()?,
            "--replay" => (options.from, options.seeds, options.replay) = (number()?, 1, true),
            "--family" => {
                let known = Family::ALL.into_iter().find(|family| family.name() == value);
                options.families = vec![known.ok_or_else(|| format!("there is no family {value:?}"))?];
            }
            "--faults" => {
                options.faults = (value.clone().leak(), Faults::named(&value).ok_or("faults")?);
            }
            _ => return Err(format!("there is no option {option:?}")),
        }
    }
    Ok(options)
}

/// Runs every seed in every family; says how fast, what was met, and what broke.
fn check(options: &Options) -> ExitCode {
    let (mut passed, mut failed) = (0u64, 0u64);
    for family in &options.families {
        let begin = Instant::now();
        let mut met = [0u64; Fact::ALL.len()];
        for seed in options.from..options.from + options.seeds {
            let history = run(seed, *family, options.faults.1);
            for fact in Fact::ALL.iter().copied() {
                met[fact as usize] += u64::from(history.count(fact));
            }
            match history.violation() {
                None => passed += 1,
                Some(violation) => {
                    failed += 1;
                    let (name, faults) = (family.name(), options.faults.0);
                    println!("{name} seed {seed}: {} broken: {}", violation.invariant, violation.what);
                    println!(
                        "  replay: cargo run --release -p tenure-sim -- --family {name} --faults {faults} --replay {seed}"
                    );
                }
            }
        }
        let each = options.seeds as f64 / begin.elapsed().as_secs_f64();
        println!("{}: {} worlds, {each:.0} a second", family.name(), options.seeds);
        for fact in Fact::ALL.iter().copied().filter(|fact| met[*fact as usize] > 0) {
            println!("  {fact:?}: {}", met[fact as usize]);
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tells the story of one seed.
fn replay(options: &Options) -> ExitCode {
    let mut broken = false;
    for family in &options.families {
        let history = tenure_sim::tell(options.from, *family, options.faults.1);
        println!("{}", history.tale.as_ref().unwrap().text());
        broken |= history.is_violated();
    }
    if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
