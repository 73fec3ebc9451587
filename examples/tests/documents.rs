//! What the documentation names exists: tests, mutants, files and the programs it tells people to run.

use std::fs;
use std::path::{Path, PathBuf};

const PAGES: [&str; 11] = [
    "README.md",
    "CHANGELOG.md",
    "docs/architecture.md",
    "docs/backends/file.md",
    "docs/backends/redis.md",
    "docs/behaviours.md",
    "docs/fencing.md",
    "docs/guarantees.md",
    "docs/supervising.md",
    "docs/timing.md",
    "docs/writing-a-backend.md",
];

#[test]
fn every_test_that_a_page_names_exists() {
    let mut missing = Vec::new();
    let mut named = 0;
    for page in PAGES {
        for span in spans(&read(page)) {
            let Some((file, test)) = span.split_once(".rs::") else { continue };
            named += 1;
            let file = format!("{file}.rs");
            let exists = places(&file).any(|path| {
                let text = fs::read_to_string(path).unwrap_or_default();
                text.contains(&format!("fn {test}("))
            });
            if !exists {
                missing.push(format!("{page}: {file}::{test}"));
            }
        }
    }
    assert!(named > 100, "only {named} tests are named");
    assert!(missing.is_empty(), "these were renamed or removed:\n{}", missing.join("\n"));
}

#[test]
fn every_file_that_a_page_names_exists() {
    let mut missing = Vec::new();
    for page in PAGES {
        for span in spans(&read(page)) {
            let is_a_file = span.ends_with(".rs") && span.contains('/') && !span.contains(char::is_whitespace);
            // Files that a reader is told to write are not ours.
            if is_a_file && span != "tests/conformance.rs" && !places(&span).any(|path| path.exists()) {
                missing.push(format!("{page}: {span}"));
            }
        }
    }
    assert!(missing.is_empty(), "these were moved or removed:\n{}", missing.join("\n"));
}

#[test]
fn every_mutant_of_a_safety_rule_stands_with_its_rule() {
    let guarantees = read("docs/guarantees.md");
    let named: Vec<String> = guarantees
        .lines()
        .filter_map(|line| line.strip_prefix("- *Mutants:*"))
        .flat_map(|line| spans(line).into_iter().collect::<Vec<_>>())
        .collect();
    let list = read("crates/tenure/src/mutant.rs");
    // A line of the list: `Variant, "name", "rule", "tests";`
    let planted: Vec<(&str, &str)> = list
        .lines()
        .filter(|line| line.trim_end().ends_with("\";"))
        .filter_map(|line| {
            let mut quoted = line.split('"').skip(1).step_by(2);
            Some((quoted.next()?, quoted.next()?))
        })
        .collect();
    assert!(planted.len() > 50, "only {} mutants were found", planted.len());
    let unknown: Vec<_> = named.iter().filter(|name| !planted.iter().any(|(known, _)| known == name)).collect();
    assert!(unknown.is_empty(), "no such mutants: {unknown:?}");
    let of_rules = planted.iter().filter(|(_, rule)| rule.starts_with("SAFETY"));
    let missing: Vec<_> = of_rules.filter(|(name, _)| !named.iter().any(|known| known == name)).collect();
    assert!(missing.is_empty(), "docs/guarantees.md does not name {missing:?}");
}

#[test]
fn every_number_that_the_code_cites_is_explained() {
    let (guarantees, behaviours) = (read("docs/guarantees.md"), read("docs/behaviours.md"));
    for rule in 1..=21 {
        assert!(guarantees.contains(&format!("\n### {rule}. ")), "rule {rule} is missing");
    }
    for number in (1..=49).chain([55, 56, 61]) {
        assert!(behaviours.contains(&format!("\n| {number} | ")), "behaviour {number} is missing");
    }
    for invariant in 1..=10 {
        assert!(guarantees.contains(&format!("\n| I{invariant} | ")), "invariant {invariant} is missing");
    }
}

#[test]
fn every_example_that_a_page_names_exists() {
    let manifest = read("examples/Cargo.toml");
    for page in PAGES {
        let text = read(page);
        for name in text.split("--example ").skip(1).filter_map(|rest| rest.split_whitespace().next()) {
            let name = name.trim_end_matches('`');
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{page} runs an example `{name}`");
        }
    }
}

/// Where a path in a page may lead: the pages say from where theirs count.
fn places(path: &str) -> impl Iterator<Item = PathBuf> {
    ["crates/tenure/src", "crates/tenure", ""].into_iter().map(move |from| root().join(from).join(path))
}

/// The code spans of a text, those in fenced blocks left out.
fn spans(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

fn read(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
