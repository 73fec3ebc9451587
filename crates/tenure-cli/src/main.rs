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

use clap::builder::Resettable;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};

use cli::{Cli, Verb};
use exit::{Exit, Origin};
use place::Sources;
use report::Json;

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
    let parsed = grammar().try_get_matches_from(&arguments).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches)?;
        Ok((cli, matches))
    });
    match parsed {
        Ok((cli, matches)) => dispatch(cli.command, &matches),
        Err(error) => misused(&error, &arguments),
    }
}

/// What can be typed. An environment variable that is empty is the same as none.
fn grammar() -> Command {
    let unset_if_empty = |argument: Arg| {
        let value = argument.get_env().and_then(std::env::var_os);
        if value.is_some_and(|value| value.is_empty()) { argument.env(Resettable::Reset) } else { argument }
    };
    Cli::command().mut_subcommands(|verb| verb.mut_args(unset_if_empty))
}

/// A process that tenure has started for itself.
#[cfg(target_os = "linux")]
fn other_role(arguments: &[OsString]) -> Option<ExitCode> {
    use process::{command_of, ear, guardian, init, roles, shim, stray};

    let (role, rest) = arguments.get(1..)?.split_first()?;
    Some(match role.to_str()? {
        roles::GUARDIAN => guardian::main(rest),
        roles::INIT => command_of(rest).map_or_else(|| stray("init"), init::main),
        roles::SHIM => command_of(rest).map_or_else(|| stray("shim"), shim::main),
        roles::EAR => ear::main(),
        roles::WITHDRAW => withdraw::main(rest),
        _ => return None,
    })
}

fn dispatch(verb: Verb, matches: &ArgMatches) -> ExitCode {
    let sources = matches.subcommand().map(|(_, matches)| Sources::of(matches)).unwrap_or_default();
    let ended = match verb {
        #[cfg(target_os = "linux")]
        Verb::Run(arguments) => return commands::run::execute(*arguments, sources),
        Verb::Status(arguments) => commands::status::execute(&arguments, sources),
        Verb::Watch(arguments) => commands::watch::execute(&arguments, sources),
        Verb::Resign(arguments) => commands::resign::execute(&arguments, sources),
        #[cfg(target_os = "linux")]
        Verb::Demo(arguments) => commands::demo::execute(&arguments),
        Verb::Backends(arguments) => commands::backends::execute(&arguments),
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

/// Help is no misuse; everything else is, and ends with the status that stands for it.
fn misused(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let exit = Exit::usage(sentence(&error.render().to_string()));
    let is_run = arguments.get(1).is_some_and(|verb| verb == "run");
    if is_run && !arguments.iter().any(|argument| argument == "--") {
        eprintln_safely("The command comes after two dashes: tenure run nightly-report -- ./report.sh");
    }
    let line = serde_json::json!({
        "event": "exit", "at": wall::now(), "status": exit.status, "origin": Origin::Usage.as_str(), "message": exit.sentence,
    });
    match json_wanted(arguments) {
        Json::Off => {}
        Json::File(path) if is_run => Json::append(&path, &line.to_string()),
        _ => eprintln_safely(&line.to_string()),
    }
    exit.code()
}

/// What was wrong, without the hints that follow it.
fn sentence(rendered: &str) -> String {
    let lines: Vec<&str> = rendered.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let sentence = lines.join(" ");
    sentence.strip_prefix("error: ").unwrap_or(&sentence).to_owned()
}

/// Where JSON was asked for, as far as that can be told of a command line that is wrong.
fn json_wanted(arguments: &[OsString]) -> Json {
    let ours = arguments.iter().take_while(|argument| *argument != "--").filter_map(|argument| argument.to_str());
    let flag = ours.filter_map(|argument| match argument.strip_prefix("--json")? {
        "" => Some("-".to_owned()),
        value => value.strip_prefix('=').map(str::to_owned),
    });
    Json::named(flag.last().or_else(|| std::env::var("TENURE_JSON").ok()).as_deref())
}

/// A standard error stream that is closed or full is no reason to fail otherwise.
fn eprintln_safely(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}
