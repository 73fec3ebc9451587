//! `tenure backends`: where elections can be held, and what is promised there.

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::{backends, output};

/// List where elections can be held, and what is promised there
///
/// `fenced`: at most one leader at a time, and tokens that never go back. `lease-only`: the first of the two. `best-effort`: usually one
/// leader; a failure of the store can make two. `tenure status` shows what a store promises as it is set up.
#[derive(Args, Debug)]
pub(crate) struct BackendsArgs {
    /// Print one JSON object for each
    #[arg(long, env = "TENURE_JSON", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    json: bool,
}

pub(crate) fn execute(arguments: &BackendsArgs) -> Result<(), Exit> {
    let width = backends::shown().map(|scheme| scheme.form.chars().count()).max().unwrap_or_default();
    for scheme in backends::shown() {
        let line = match arguments.json {
            true => json!({ "backend": scheme.name, "url": scheme.form, "promise": scheme.promise }).to_string(),
            false => format!("{:width$}  {}", scheme.form, scheme.promise),
        };
        output::line(&line)?;
    }
    Ok(())
}
