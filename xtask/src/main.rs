//! The chores of this repository: `cargo xtask <command>`.
//!
//! Standard library only, so that a cold checkout reaches its first check in seconds.

mod cargo;
mod chaos;
mod failure;
mod mutants;
mod parallel;
mod servers;
mod simulate;
mod step;
mod test;
mod test_program;
mod test_report;
mod verify;

use std::process::ExitCode;

use failure::Failure;

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  test [-- <filter>]  run every test of the workspace, ignored ones and doc tests included;
                      anything skipped is a failure
  servers [<name>…]   install the real servers that tests need, those that are missing
  servers up <what>…  start servers, print their URLs, end them on Ctrl-C
  verify              format, lints, documentation, dependencies, leftovers, links, packages;
                      changes no tracked file
  mutants [<name>…]   break one rule at a time and demand that a test notices
  chaos <backend> …   a long run of a backend's chaos: [--minutes M] [--seed N] [<filter>]
  simulate            simulated worlds by the hundred thousand, the mutants they must kill, and small worlds exhaustively
  help                print this
";

/// Told apart from 1 so that a script can see that nothing was checked at all.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        return misused("a command is needed");
    };
    let outcome = match (command.as_str(), rest) {
        ("test", []) => test::run(&[]),
        ("test", [dashes, filter @ ..]) if dashes == "--" => test::run(filter),
        ("servers", [up, what @ ..]) if up == "up" => servers::up(what),
        ("servers", names) if names.iter().all(|name| !name.starts_with('-')) => servers::install(names),
        ("chaos", [backend, rest @ ..]) if !backend.starts_with('-') && chaos::understands(rest) => {
            chaos::run(backend, rest)
        }
        ("verify", []) => verify::run(),
        ("simulate", []) => simulate::run(),
        ("mutants", names) if names.iter().all(|name| !name.starts_with('-')) => mutants::run(names),
        ("help" | "--help" | "-h", _) => {
            print!("{USAGE}");
            Ok(())
        }
        ("test" | "servers" | "chaos" | "verify" | "mutants" | "simulate", _) => {
            return misused(&format!("`{command}` does not take `{}`", rest.join(" ")));
        }
        _ => return misused(&format!("there is no command `{command}`")),
    };
    report(command, outcome)
}

fn report(command: &str, outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask {command}: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn misused(why: &str) -> ExitCode {
    eprintln!("xtask: {why}\n\n{USAGE}");
    ExitCode::from(EXIT_USAGE)
}
