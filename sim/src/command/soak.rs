//! Goes on for ever, and goes on where it stopped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use tenure_sim::{Family, Faults};

use super::check;
use super::options::{Mode, Options};
use super::replay;

/// Faults in turn; most worlds lie inside the assumptions.
const TURNS: [&str; 6] = ["all", "deletions", "all", "records", "clocks", "beyond"];
/// How many worlds a turn has.
const TURN: u64 = 24_000;

/// Runs turn after turn. The file has a line for each word and choice of families: how many seeds are done in each of them, how many worlds that were,
/// and how many of them broke. A soak that ever saw one break ends with a failure, also when it was stopped in between.
pub(super) fn run(options: &Options) -> ExitCode {
    let Mode::Soak(path) = &options.mode else { unreachable!("asked for") };
    let mut done = match read(path) {
        Ok(done) => done,
        Err(wrong) => {
            eprintln!("tenure-sim: {}: {wrong}", path.display());
            return ExitCode::from(64);
        }
    };
    let begin = Instant::now();
    let families = choice(&options.families);
    for word in TURNS.iter().cycle() {
        if options.hours.is_some_and(|hours| begin.elapsed() >= hours) {
            break;
        }
        let place = done.entry(((*word).to_owned(), families.clone())).or_default();
        let faults = Faults::named(word).expect("a known word");
        let bar = check::progress_bar(TURN);
        let tally = check::worlds(&options.families, faults, place.seeds, TURN, options.threads, &|done| bar.inc(done));
        bar.finish_and_clear();
        for (family, seed, violation) in &tally.broken {
            println!("{} seed {seed}: {} broken: {}", family.name(), violation.invariant, violation.what);
            println!("  replay: {}", replay::line(*family, word, *seed));
        }
        place.seeds += TURN.div_ceil(options.families.len() as u64);
        place.worlds += tally.worlds();
        place.broken += tally.failed;
        println!("{word}: {} worlds until now, {} broken", place.worlds, place.broken);
        if let Err(error) = write(path, &done) {
            eprintln!("tenure-sim: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    if done.values().all(|place| place.broken == 0) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The families by their names; a soak of some of them says nothing of the others.
fn choice(families: &[Family]) -> String {
    families.iter().map(|family| family.name()).collect::<Vec<_>>().join(",")
}

/// Faults and families.
type Key = (String, String);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    seeds: u64,
    worlds: u64,
    broken: u64,
}

fn read(path: &Path) -> Result<BTreeMap<Key, Place>, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error.to_string()),
    };
    text.lines().map(parse).collect()
}

fn parse(line: &str) -> Result<(Key, Place), String> {
    let wrong = || format!("{line:?} is not a line of a soak: faults, families, seeds, worlds, broken");
    let words: Vec<&str> = line.split_whitespace().collect();
    let [word, families, numbers @ ..] = &words[..] else { return Err(wrong()) };
    let numbers: Vec<u64> = numbers.iter().map(|word| word.parse()).collect::<Result<_, _>>().map_err(|_| wrong())?;
    let &[seeds, worlds, broken] = &numbers[..] else { return Err(wrong()) };
    Faults::named(word).ok_or_else(wrong)?;
    Ok((((*word).to_owned(), (*families).to_owned()), Place { seeds, worlds, broken }))
}

/// Beside it first: a soak that is killed in the middle keeps its place.
fn write(path: &Path, done: &BTreeMap<Key, Place>) -> std::io::Result<()> {
    let lines = done
        .iter()
        .map(|((word, families), at)| format!("{word} {families} {} {} {}\n", at.seeds, at.worlds, at.broken));
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    std::fs::write(&beside, lines.collect::<String>())?;
    std::fs::rename(beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_soak_goes_on_where_it_stopped() {
        let path = std::env::temp_dir().join(format!("tenure-soak-{}", std::process::id()));
        let done = BTreeMap::from([(
            ("all".to_owned(), "redis,etcd".to_owned()),
            Place { seeds: 2_000, worlds: 22_000, broken: 1 },
        )]);
        write(&path, &done).unwrap();
        assert_eq!(read(&path).unwrap(), done);
        std::fs::write(&path, "all redis 1 two 3\n").unwrap();
        assert!(read(&path).unwrap_err().contains("not a line"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read(&path).unwrap(), BTreeMap::new());
    }
}
