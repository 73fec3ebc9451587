//! `tenure resign`: asks the holder of an office to give it up, and waits until it has.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use tenure::{Election, Incumbent};

use super::Found;
use crate::exit::{Exit, Origin};
use crate::place::{PlaceArgs, Sources};
use crate::{duration, incumbent, output};

/// Ask the holder of an office to give it up, and wait until it has
///
/// The holder stops its command first. It may win again when nobody else runs for the office.
#[derive(Args, Debug)]
pub(crate) struct ResignArgs {
    /// The office
    election: String,

    #[command(flatten)]
    place: PlaceArgs,

    /// Wait no longer than this for the holder to go
    #[arg(long, value_name = "TIME", env = "TENURE_MAX_WAIT", hide_env_values = true, default_value = "1m", value_parser = duration::parse)]
    max_wait: Duration,

    /// Print one JSON object
    #[arg(long, env = "TENURE_JSON", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    json: bool,
}

pub(crate) fn execute(arguments: &ResignArgs, sources: Sources) -> Result<(), Exit> {
    let name = &arguments.election;
    let (before, after) = match super::existing_election(&arguments.place, sources, name)? {
        Found::Election(election) => super::block_on(async {
            let asked = tokio::time::timeout(arguments.max_wait, resigned(&election)).await;
            asked.map_err(|_| {
                let waited = duration::shown(arguments.max_wait);
                let what = format!("{name}: the holder was asked to resign, and has not in {waited}");
                Exit::new(Origin::WaitedTooLong, what)
            })?
        })?,
        Found::Nothing { .. } => (None, None),
    };
    if arguments.json {
        let (was, is) = (incumbent::as_json(before.as_ref()), incumbent::as_json(after.as_ref()));
        return output::line(&json!({ "election": name, "resigned": was, "leader": is }).to_string());
    }
    let Some(before) = before else { return output::line(&format!("{name}: nobody leads")) };
    let before = incumbent::printable(before.name());
    output::line(&format!("{name}: {before} resigned; {}", incumbent::as_sentence(after.as_ref())))
}

/// Who held the office, and who holds it once that one is gone.
async fn resigned(election: &Election) -> Result<(Option<Incumbent>, Option<Incumbent>), Exit> {
    let Some(before) = election.incumbent().await? else { return Ok((None, None)) };
    // Watched before it is asked, so that the answer is not missed.
    let mut observation = election.observe()?;
    if !election.ask_to_resign().await? {
        return Ok((Some(before), election.incumbent().await?));
    }
    while let Some(now) = observation.next().await {
        if now.as_ref().and_then(Incumbent::tenure) != before.tenure() {
            return Ok((Some(before), now));
        }
    }
    Err(Exit::new(Origin::Internal, "nothing is observed any more"))
}
