//! `tenure demo`.
use clap::Args;

use crate::exit::Exit;

/// Show three candidates, and what happens when the leader is killed or frozen
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {}

pub(crate) fn execute(_: &DemoArgs) -> Result<(), Exit> {
    Err(Exit::usage("not yet"))
}
