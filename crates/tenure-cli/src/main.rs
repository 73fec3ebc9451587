//! The command line of tenure: `tenure run <election> -- <command…>` and its companions.
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "much of it serves supervising, which is for Linux"))]

mod backends;
mod cli;
mod commands;
mod duration;
mod exit;
mod incumbent;
mod output;
mod place;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod timing;
mod url;
mod wall;
#[cfg(target_os = "linux")]
mod withdraw;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use cli::{Cli, Verb};
use exit::{Exit, Origin};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    #[cfg(target_os = "linux")]
    if let Some(ended) = other_role(&arguments) {
        return ended;
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = supervisor::signals::hear_of_deaths() {
        eprintln_safely(&format!("tenure: the end of a child cannot be heard of: {error}"));
        return Exit::new(Origin::Internal, "").code();
    }
    let parsed = Cli::command().try_get_matches_from(&arguments).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches)?;
        Ok((cli, matches))
    });
    match parsed {
        Ok((cli, matches)) => dispatch(cli.command, &matches),
        Err(error) => misused(&error, &arguments),
    }
}

/// A process that tenure has started for itself.
#[cfg(target_os = "linux")]
fn other_role(arguments: &[OsString]) -> Option<ExitCode> {
    use process::{command_of, guardian, init, roles, shim, stray};

    let (role, rest) = arguments.get(1..)?.split_first()?;
    Some(match role.to_str()? {
        roles::GUARDIAN => guardian::main(rest),
        roles::INIT => command_of(rest).map_or_else(|| stray("init"), init::main),
        roles::SHIM => command_of(rest).map_or_else(|| stray("shim"), shim::main),
        roles::WITHDRAW => withdraw::main(rest),
        _ => return None,
    })
}

fn dispatch(verb: Verb, matches: &ArgMatches) -> ExitCode {
    let source = matches.subcommand().and_then(|(_, matches)| backend_source(matches));
    let ended = match verb {
        #[cfg(target_os = "linux")]
        Verb::Run(arguments) => return commands::run::execute(arguments, source),
        Verb::Status(arguments) => commands::status::execute(&arguments, source),
        Verb::Watch(arguments) => commands::watch::execute(&arguments, source),
        Verb::Resign(arguments) => commands::resign::execute(&arguments, source),
        #[cfg(target_os = "linux")]
        Verb::Demo(arguments) => commands::demo::execute(&arguments),
        Verb::Completions(arguments) => commands::completions::execute(&arguments),
        Verb::Man(arguments) => commands::man::execute(&arguments),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => {
            if !exit.sentence.is_empty() {
                eprintln_safely(&format!("tenure: {exit}"));
            }
            exit.code()
        }
    }
}

/// Where the address of the backend came from, for commands that have one.
fn backend_source(matches: &ArgMatches) -> Option<ValueSource> {
    matches.try_contains_id("backend").ok()?;
    matches.value_source("backend")
}

/// Help is no misuse; everything else is, and ends with the status that stands for it.
fn misused(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let exit = Exit::usage(error.kind().to_string());
    let is_run = arguments.get(1).is_some_and(|verb| verb == "run");
    if is_run && !arguments.iter().any(|argument| argument == "--") {
        eprintln_safely("The command comes after two dashes: tenure run nightly-report -- ./report.sh");
    }
    let mut ours = arguments.iter().take_while(|argument| *argument != "--");
    if ours.any(|argument| argument == "--json") {
        let line = serde_json::json!({
            "event": "exit", "at": wall::now(), "status": exit.status, "origin": Origin::Usage.as_str(), "message": exit.sentence,
        });
        eprintln_safely(&line.to_string());
    }
    exit.code()
}

/// A standard error stream that is closed or full is no reason to fail otherwise.
fn eprintln_safely(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}
