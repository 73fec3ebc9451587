//! `tenure completions`: what a shell needs to complete our command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::output;

/// Print completions for a shell
///
/// For bash: tenure completions bash > ~/.local/share/bash-completion/completions/tenure
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

pub(crate) fn execute(arguments: &CompletionsArgs) -> Result<(), Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "tenure", &mut script);
    output::bytes(&script)
}
