//! `tenure demo`: three candidates, and what happens when the leader is killed or frozen. No server is needed.

mod player;
mod screen;
mod stage;

use std::io::IsTerminal;

use clap::Args;

use crate::exit::Exit;

/// Show three candidates, and what happens when the leader is killed or frozen
///
/// At a terminal it is a live view with keys to kill, freeze and thaw the leader; without one it plays a short script and prints it.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Play the script also at a terminal
    #[arg(long, env = "TENURE_SCRIPT", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    script: bool,
}

pub(crate) fn execute(arguments: &DemoArgs) -> Result<(), Exit> {
    let live = std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !arguments.script;
    let stage = stage::Stage::new()?;
    if live { screen::show(stage) } else { player::play(stage) }
}
