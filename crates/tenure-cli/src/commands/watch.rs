//! `tenure watch`: who holds an office, from now on.

use clap::Args;
use serde_json::json;
use tenure::{Election, Incumbent};

use crate::exit::{Exit, Origin};
use crate::place::{PlaceArgs, Sources};
use crate::{incumbent, output, wall};

/// Say who holds an office, from now on: the present state first, then every change
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    /// The office
    election: String,

    #[command(flatten)]
    place: PlaceArgs,

    /// Print one JSON object for each change
    #[arg(long, env = "TENURE_JSON", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    json: bool,
}

pub(crate) fn execute(arguments: &WatchArgs, sources: Sources) -> Result<(), Exit> {
    let election = super::election(&arguments.place, sources, &arguments.election)?;
    super::block_on(async {
        // What cannot be read at all is told at once; later it is waited for.
        let mut last = election.incumbent().await?;
        let mut observation = election.observe()?;
        told(&election, last.as_ref(), "current", arguments.json)?;
        while let Some(holder) = observation.next().await {
            if holder != last {
                told(&election, holder.as_ref(), "changed", arguments.json)?;
                last = holder;
            }
        }
        Err(Exit::new(Origin::Internal, "nothing is observed any more"))
    })
}

fn told(election: &Election, holder: Option<&Incumbent>, event: &str, json: bool) -> Result<(), Exit> {
    if json {
        let leader = incumbent::as_json(holder);
        let line = json!({ "event": event, "at": wall::now(), "election": election.name().as_str(), "leader": leader });
        return output::line(&line.to_string());
    }
    output::line(&format!("{}  {}: {}", wall::now(), election.name(), incumbent::as_sentence(holder)))
}
