//! `tenure status`: who holds an office now.

use clap::Args;
use clap::parser::ValueSource;
use serde_json::json;

use crate::exit::Exit;
use crate::place::PlaceArgs;
use crate::{incumbent, output};

/// Say who holds an office now
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// The office
    election: String,

    #[command(flatten)]
    place: PlaceArgs,

    /// Print one JSON object
    #[arg(long, env = "TENURE_JSON", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    json: bool,
}

pub(crate) fn execute(arguments: &StatusArgs, source: Option<ValueSource>) -> Result<(), Exit> {
    let (election, _) = super::election(&arguments.place, source, &arguments.election)?;
    let (place, promise) = (election.place(), election.promise());
    let holder = super::block_on(async { Ok(election.incumbent().await?) })?;
    if arguments.json {
        let leader = incumbent::as_json(holder.as_ref());
        let status = json!({
            "election": election.name().as_str(), "backend": place, "promise": promise.to_string(), "leader": leader,
        });
        return output::line(&status.to_string());
    }
    output::line(&format!("{}: {} ({place}, {promise})", election.name(), incumbent::as_sentence(holder.as_ref())))
}
