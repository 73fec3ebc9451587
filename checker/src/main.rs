//! `cargo run --release -p tenure-checker -- [--list] [--model NAME] [--deep | --quick] [--threads N] [--expect-violation | --until NAME]`
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Instant;

use tenure_checker::catalogue::{self, Depth, Entry};
use tenure_checker::examine::{Findings, Until};

const USAGE: &str =
    "usage: tenure-checker [--list] [--model NAME] [--deep | --quick] [--threads N] [--expect-violation | --until NAME] [--mutants]
  --list              names the models and says what each is about
  --model NAME        explores this one only
  --deep, --quick     wider bounds, which take many minutes; or the narrow ones of the tests
  --threads N         as many as there are cores unless set
  --expect-violation  stops at the first counterexample, and fails where there is none
  --until NAME        the same for the property whose name begins so, such as I1
  --mutants           plants one fault after the other in the machine, and fails where no model notices
                      (in a build with RUSTFLAGS='--cfg tenure_mutants')";

struct Options {
    depth: Depth,
    model: Option<String>,
    threads: usize,
    list: bool,
    expect_violation: bool,
    until: Option<String>,
    mutants: bool,
}

fn main() -> ExitCode {
    match options().and_then(run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            ExitCode::from(64)
        }
    }
}

fn options() -> Result<Options, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options {
        depth: Depth::Usual,
        model: None,
        threads: cores,
        list: false,
        expect_violation: false,
        until: None,
        mutants: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(option) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--list" => options.list = true,
            "--deep" => options.depth = Depth::Deep,
            "--quick" => options.depth = Depth::Test,
            "--expect-violation" => options.expect_violation = true,
            "--mutants" => options.mutants = true,
            "--model" => options.model = Some(value()?),
            "--until" => options.until = Some(value()?),
            "--threads" => {
                let count = value()?.parse().ok().filter(|count| *count > 0);
                options.threads = count.ok_or("--threads needs a number above 0")?;
            }
            _ => return Err(format!("there is no option {option:?}")),
        }
    }
    Ok(options)
}

fn run(options: Options) -> Result<bool, String> {
    if options.mutants {
        return mutants();
    }
    let mut entries = catalogue::all(options.depth);
    if let Some(name) = &options.model {
        entries.retain(|entry| entry.name == name);
        if entries.is_empty() {
            return Err(format!("there is no model {name:?}; --list names them"));
        }
    }
    if options.list {
        for entry in &entries {
            println!("{:28} {}", entry.name, entry.about);
        }
        return Ok(true);
    }
    let started = Instant::now();
    let (mut wrong, mut unique) = (0, 0);
    for entry in &entries {
        let until = until(&options, entry)?;
        let findings = entry.examine(until, options.threads);
        unique += findings.unique;
        let objections = match until {
            Until::Exhausted => entry.objections(&findings),
            _ if findings.exhaustive => vec!["it did not break, and was expected to".into()],
            _ => Vec::new(),
        };
        tell(entry, &findings, &objections);
        wrong += usize::from(!objections.is_empty());
    }
    let passed = entries.len() - wrong;
    println!("{passed} passed, {wrong} failed; {unique} unique states in {:.1} s", started.elapsed().as_secs_f64());
    Ok(wrong == 0)
}

fn until(options: &Options, entry: &Entry) -> Result<Until, String> {
    let Some(name) = &options.until else {
        return Ok(if options.expect_violation { Until::FirstBreak } else { Until::Exhausted });
    };
    let found = entry.properties().into_iter().find(|property| property.starts_with(name.as_str()));
    found
        .map(Until::Breaks)
        .ok_or_else(|| format!("{} has no property {name:?}: it has {:?}", entry.name, entry.properties()))
}

fn tell(entry: &Entry, findings: &Findings, objections: &[String]) {
    println!("{}: {}", entry.name, entry.about);
    println!("  bounds     {}", entry.bounds());
    println!(
        "  states     {} ({} unique), depth {}, {:.1} s, {}",
        findings.states,
        findings.unique,
        findings.depth,
        findings.time.as_secs_f64(),
        if findings.exhaustive { "all within the bounds" } else { "stopped when nothing was left to find" },
    );
    for (name, path) in &findings.always {
        match path {
            None => println!("  always     {name}: holds"),
            Some(path) => {
                let expected = if entry.breaks.contains(name) { ", as expected" } else { "" };
                println!("  always     {name}: BROKEN{expected}");
                path.lines().for_each(|line| println!("    {line}"));
            }
        }
    }
    for (name, count) in &findings.sometimes {
        println!("  sometimes  {name}: {}", if *count == 0 { "NEVER".into() } else { format!("found ({count})") });
    }
    for objection in objections {
        println!("  FAILED     {objection}");
    }
    println!();
}

#[cfg(tenure_mutants)]
fn mutants() -> Result<bool, String> {
    tenure_checker::mutants::run_all()
}

#[cfg(not(tenure_mutants))]
fn mutants() -> Result<bool, String> {
    Err("this build has no mutants: build with RUSTFLAGS='--cfg tenure_mutants'".into())
}
