//! The command line as it is typed.

use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::{Parser, Subcommand};

use crate::commands;
use crate::exit;

const STYLES: Styles = Styles::styled()
    .header(Style::new().bold())
    .usage(Style::new().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(Style::new());

/// Runs a command on exactly one machine at a time
///
/// Several hosts run the same `tenure run`; one of them is elected and starts the command. When it dies, freezes or loses its store, its
/// command is ended, whole tree, before another may start it.
#[derive(Parser, Debug)]
#[command(name = "tenure", version, styles = STYLES, max_term_width = 100, after_help = exit::TABLE, propagate_version = true)]
#[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Verb,
}

/// What can be done; each is described where it is done. Supervising takes what only Linux has.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    #[cfg(target_os = "linux")]
    Run(Box<commands::run::RunArgs>),
    Status(commands::status::StatusArgs),
    Watch(commands::watch::WatchArgs),
    Resign(commands::resign::ResignArgs),
    #[cfg(target_os = "linux")]
    Demo(commands::demo::DemoArgs),
    Backends(commands::backends::BackendsArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_flag_can_be_set_by_the_environment() {
        let whole = Cli::command();
        for verb in whole.get_subcommands() {
            for flag in verb.get_arguments().filter(|argument| argument.get_long().is_some()) {
                let name = flag.get_long().expect("it is a flag");
                let expected = format!("TENURE_{}", name.to_uppercase().replace('-', "_"));
                let variable = flag.get_env().and_then(|variable| variable.to_str());
                assert_eq!(variable, Some(expected.as_str()), "--{name} of {}", verb.get_name());
            }
        }
    }

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
    }
}
