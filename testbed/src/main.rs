//! Servers for people: `cargo xtask servers`.

mod up;

use std::process::ExitCode;

use testbed::Failure;
use testbed::tools::{self, Installed, Tool};

const USAGE: &str = "\
Usage: testbed <command>

Commands:
  list              which servers there are, which version, from where, and whether it is installed
  install [<name>…] installs what is missing of these, or of all
  up <what>…        starts servers, prints their URLs, and ends them on Ctrl-C
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["list"] => {
            list();
            Ok(())
        }
        ["install", names @ ..] => named(names).and_then(|tools| install(&tools)),
        ["up", what @ ..] if !what.is_empty() => up::up(what),
        _ => {
            eprint!("{USAGE}\nWhat can be started:\n{}", up::catalogue());
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("testbed: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn named(names: &[&str]) -> Result<Vec<&'static Tool>, Failure> {
    if names.is_empty() {
        return Ok(tools::ALL.iter().collect());
    }
    let known = || tools::ALL.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
    let one = |name: &&str| {
        Tool::named(name).ok_or_else(|| Failure::new(format!("there is no server {name}; there are {}", known())))
    };
    names.iter().map(one).collect()
}

fn list() {
    for tool in tools::ALL {
        let state = if tool.missing().is_none() { "installed" } else { "missing" };
        println!("{:<12} {:<12} {state:<10} {}", tool.name, tool.version, tool.source);
    }
}

/// Tries all of them before it fails, so that one look shows what there is.
fn install(tools: &[&Tool]) -> Result<(), Failure> {
    let mut lacking = Vec::new();
    for tool in tools {
        let word = match tools::install(tool) {
            Ok(Installed::Before) => "installed".to_owned(),
            Ok(Installed::Now) => "installed now".to_owned(),
            Err(failure) => {
                lacking.push(tool.name);
                format!("NOT to be had: {failure}")
            }
        };
        println!("{:<12} {:<12} {} ({})", tool.name, tool.version, word, tool.source);
    }
    match lacking.as_slice() {
        [] => Ok(()),
        names => Err(Failure::new(format!("could not get {}; what needs it does not run", names.join(", ")))),
    }
}
