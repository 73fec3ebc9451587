//! Goes on for ever, and goes on where it stopped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use tenure_sim::Faults;

use super::check;
use super::options::{Mode, Options};
use super::replay;

/// Faults in turn; most worlds lie inside the assumptions.
const TURNS: [&str; 6] = ["all", "deletions", "all", "records", "clocks", "beyond"];
/// How many worlds a turn has.
const TURN: u64 = 24_000;

/// Runs turn after turn. The file has a line for each word: how many seeds of it are done in each family, how many worlds that were, and how many of
/// them broke.
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
    let mut failed = 0;
    for word in TURNS.iter().cycle() {
        if options.hours.is_some_and(|hours| begin.elapsed() >= hours) {
            break;
        }
        let place = done.entry((*word).to_owned()).or_default();
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
        failed += tally.failed;
        println!("{word}: {} worlds until now, {} broken", place.worlds, place.broken);
        if let Err(error) = write(path, &done) {
            eprintln!("tenure-sim: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    seeds: u64,
    worlds: u64,
    broken: u64,
}

fn read(path: &Path) -> Result<BTreeMap<String, Place>, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error.to_string()),
    };
    text.lines().map(parse).collect()
}

fn parse(line: &str) -> Result<(String, Place), String> {
    let wrong = || format!("{line:?} is not a line of a soak: faults, seeds, worlds, broken");
    let words: Vec<&str> = line.split_whitespace().collect();
    let [word, numbers @ ..] = &words[..] else { return Err(wrong()) };
    let numbers: Vec<u64> = numbers.iter().map(|word| word.parse()).collect::<Result<_, _>>().map_err(|_| wrong())?;
    let &[seeds, worlds, broken] = &numbers[..] else { return Err(wrong()) };
    Faults::named(word).ok_or_else(wrong)?;
    Ok(((*word).to_owned(), Place { seeds, worlds, broken }))
}

/// Beside it first: a soak that is killed in the middle keeps its place.
fn write(path: &Path, done: &BTreeMap<String, Place>) -> std::io::Result<()> {
    let lines =
        done.iter().map(|(word, Place { seeds, worlds, broken })| format!("{word} {seeds} {worlds} {broken}\n"));
    let beside = path.with_extension("new");
    std::fs::write(&beside, lines.collect::<String>())?;
    std::fs::rename(beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_soak_goes_on_where_it_stopped() {
        let path = std::env::temp_dir().join(format!("tenure-soak-{}", std::process::id()));
        let done = BTreeMap::from([("all".to_owned(), Place { seeds: 2_000, worlds: 22_000, broken: 1 })]);
        write(&path, &done).unwrap();
        assert_eq!(read(&path).unwrap(), done);
        std::fs::write(&path, "all 1 two 3\n").unwrap();
        assert!(read(&path).unwrap_err().contains("not a line"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read(&path).unwrap(), BTreeMap::new());
    }
}
