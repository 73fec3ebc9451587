//! Tells the story of one seed.

use std::path::PathBuf;
use std::process::ExitCode;

use tenure_sim::{Family, picture, tell as simulate};

use super::options::Options;

/// Runs the seed in every family that was asked for.
pub(super) fn run(options: &Options, seed: u64) -> ExitCode {
    let mut broken = false;
    for family in &options.families {
        broken |= tell(*family, seed, options, None);
    }
    if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The line that replays a seed.
pub(super) fn line(family: Family, faults: &str, seed: u64) -> String {
    format!("cargo run --release -p tenure-sim -- --family {} --faults {faults} --replay {seed}", family.name())
}

/// Prints the story, or its last lines, and draws it; says whether something broke.
pub(super) fn tell(family: Family, seed: u64, options: &Options, last: Option<usize>) -> bool {
    let history = simulate(seed, family, options.faults.1);
    let tale = history.tale.as_ref().expect("it is told");
    let text = tale.text();
    let lines: Vec<&str> = text.lines().collect();
    let skipped = last.map_or(0, |last| lines.len().saturating_sub(last));
    println!("{} seed {seed}, faults {}:", family.name(), options.faults.0);
    if skipped > 0 {
        println!("  … {skipped} lines before");
    }
    for line in &lines[skipped..] {
        println!("  {line}");
    }
    let path: PathBuf = options.pictures.join(format!("{}-{seed}.svg", family.name()));
    let title = format!("{} seed {seed}, faults {}", family.name(), options.faults.0);
    let drawn = std::fs::create_dir_all(&options.pictures)
        .and_then(|()| std::fs::write(&path, picture::svg(&title, tale, history.violation())));
    match drawn {
        Ok(()) => println!("  picture: {}", path.display()),
        Err(error) => println!("  picture: could not be written to {}: {error}", path.display()),
    }
    history.is_violated()
}
