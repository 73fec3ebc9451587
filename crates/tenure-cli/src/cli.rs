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

/// What can be done.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Run a command while this host holds the office
    Run(commands::run::RunArgs),
    /// Say who holds an office now
    Status(commands::status::StatusArgs),
    /// Say who holds an office, from now on
    Watch(commands::watch::WatchArgs),
    /// Ask the holder of an office to give it up, and wait until it has
    Resign(commands::resign::ResignArgs),
    /// Show three candidates, and what happens when the leader is killed or frozen
    Demo(commands::demo::DemoArgs),
    /// Print completions for a shell
    Completions(commands::completions::CompletionsArgs),
    /// Print the manual page
    Man(commands::man::ManArgs),
}
