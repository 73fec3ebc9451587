//! `tenure watch`: who holds an office, from now on.

use clap::Args;
use serde_json::json;
use tenure::Incumbent;

use super::Found;
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
    let WatchArgs { place, election: name, .. } = arguments;
    let (election, is_told) = match super::existing_election(place, sources, name)? {
        Found::Election(election) => (election, false),
        Found::Nothing { .. } => {
            told(arguments, None, "current")?;
            (super::awaited_election(place, sources, name)?, true)
        }
    };
    super::block_on(async {
        let mut last = None;
        if !is_told {
            // What cannot be read at all is told at once; later it is waited for.
            last = election.incumbent().await?;
            told(arguments, last.as_ref(), "current")?;
        }
        let mut observation = election.observe()?;
        while let Some(holder) = observation.next().await {
            if holder != last {
                told(arguments, holder.as_ref(), "changed")?;
                last = holder;
            }
        }
        Err(Exit::new(Origin::Internal, "nothing is observed any more"))
    })
}

fn told(arguments: &WatchArgs, holder: Option<&Incumbent>, event: &str) -> Result<(), Exit> {
    let WatchArgs { election, json, .. } = arguments;
    if *json {
        let leader = incumbent::as_json(holder);
        let line = json!({ "event": event, "at": wall::now(), "election": election, "leader": leader });
        return output::line(&line.to_string());
    }
    output::line(&format!("{}  {election}: {}", wall::now(), incumbent::as_sentence(holder)))
}
