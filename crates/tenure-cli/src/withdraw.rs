//! What a guardian becomes when its tree is gone and its supervisor too: it gives the office up, once, by the tenure's id.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::{Bid, TenureId};
use tenure::machine::Plan;
use tenure::{CandidateName, Error, Seat, Timing};

use crate::backends;
use crate::process::stray;
use crate::url::BackendUrl;

/// A store that does not answer in this time is left to expire the office.
const PATIENCE: Duration = Duration::from_secs(5);

/// The variable by which a supervisor tells its guardian where elections are held; secrets go this way, never on a command line.
pub(crate) const PLACE: &str = "TENURE_BACKEND";

pub(crate) fn main(arguments: &[OsString]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let (&[election, id, tenure], Ok(place)) = (&words[..], std::env::var(PLACE)) else { return stray("withdraw") };
    match withdraw(election, id, tenure, place) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenure: {election} could not be given up, and falls vacant when its lease expires: {error}");
            ExitCode::FAILURE
        }
    }
}

fn withdraw(election: &str, id: &str, tenure: &str, place: String) -> Result<(), String> {
    let told = |error: Error| error.to_string();
    let place = BackendUrl::new(place);
    // Opening would make the folder again, and an empty one shows no holder at all.
    if let Some(folder) = backends::missing_folder(&place).map_err(|exit| exit.sentence)? {
        return Err(format!("{} is not there", folder.display()));
    }
    let opened = backends::open(&place).map_err(|exit| exit.sentence)?;
    let backend = opened.backend;
    let (seat, name) = (Seat::new(election).map_err(told)?, CandidateName::new(id).map_err(told)?);
    let tenure: TenureId = tenure.parse().map_err(told)?;
    let plan = Plan::new(seat, name, tenure.nonce(), Arc::new(Timing::default()), backend.traits());
    let bid = Bid::new(Arc::new(plan), tenure, None);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    let given_up = runtime.block_on(async { tokio::time::timeout(PATIENCE, backend.withdraw(&bid)).await });
    // A call that hangs is left behind: this process ends with it.
    runtime.shutdown_background();
    given_up.map_err(|_| "the store did not answer".to_owned())?.map_err(told)
}
