//! `tenure man`: the manual pages.

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::exit::{Exit, Origin};
use crate::output;

/// Print the manual page
///
/// To read it: tenure man | man -l -
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Of this command; of tenure as a whole unless named
    command: Option<String>,
}

pub(crate) fn execute(arguments: &ManArgs) -> Result<(), Exit> {
    let mut whole = Cli::command();
    whole.build();
    let page = match &arguments.command {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| {
            let known: Vec<_> = whole.get_subcommands().map(|command| command.get_name().to_owned()).collect();
            Exit::usage(format!("there is no command `{name}`; there is {}", known.join(", ")))
        })?,
    };
    let mut text = Vec::new();
    Man::new(page)
        .render(&mut text)
        .map_err(|error| Exit::new(Origin::Internal, format!("the page cannot be made: {error}")))?;
    // What follows the flags in the help is the table of exit statuses, and that has a name in manual pages.
    let text = String::from_utf8_lossy(&text).replace(".SH EXTRA", ".SH \"EXIT STATUS\"");
    output::bytes(text.as_bytes())
}
