//! `tenure status`: who holds an office now.

use clap::Args;
use serde_json::json;

use super::Found;
use crate::exit::Exit;
use crate::place::{PlaceArgs, Sources};
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

pub(crate) fn execute(arguments: &StatusArgs, sources: Sources) -> Result<(), Exit> {
    let (place, promise, holder) = match super::existing_election(&arguments.place, sources, &arguments.election)? {
        Found::Election(election) => {
            let holder = super::block_on(async { Ok(election.incumbent().await?) })?;
            (election.place(), Some(election.promise().to_string()), holder)
        }
        Found::Nothing { place } => (place, None, None),
    };
    let name = &arguments.election;
    if arguments.json {
        let leader = incumbent::as_json(holder.as_ref());
        let status = json!({ "election": name, "backend": place, "promise": promise, "leader": leader });
        return output::line(&status.to_string());
    }
    let promise = promise.as_deref().unwrap_or("not there yet");
    output::line(&format!("{name}: {} ({place}, {promise})", incumbent::as_sentence(holder.as_ref())))
}
