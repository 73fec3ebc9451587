//! One file a verb.

pub(crate) mod backends;
pub(crate) mod completions;
#[cfg(target_os = "linux")]
pub(crate) mod demo;
pub(crate) mod man;
pub(crate) mod resign;
#[cfg(target_os = "linux")]
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod watch;

use std::time::Duration;

use tenure::{Election, Seat};

use crate::exit::{Exit, Origin};
use crate::place::{PlaceArgs, Sources};
use crate::url::BackendUrl;

/// How often to look whether a folder is there.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// The election at this address, with what is promised there.
fn opened(url: &BackendUrl, place: &PlaceArgs, name: &str) -> Result<Election, Exit> {
    let opened = crate::backends::open(url)?;
    block_on(opened.examined(None))?;
    place.election(opened.backend, name)
}

/// What a command looks at that changes nothing.
enum Found {
    Election(Election),
    /// There is no such place yet, and so nobody leads there.
    Nothing {
        place: String,
    },
}

/// The same for whoever only looks: a folder with a typing error in its name must not be made.
fn existing_election(place: &PlaceArgs, sources: Sources, name: &str) -> Result<Found, Exit> {
    let url = place.url(sources)?;
    match crate::backends::missing_folder(&url)? {
        None => Ok(Found::Election(opened(&url, place, name)?)),
        Some(folder) => {
            Seat::new(name)?;
            let folder = folder.display();
            crate::eprintln_safely(&format!("tenure: {folder} does not exist; no election was held there yet"));
            Ok(Found::Nothing { place: format!("file:{folder}") })
        }
    }
}

/// The same once there is such a place: somebody else makes it, by running for an office there.
fn awaited_election(place: &PlaceArgs, sources: Sources, name: &str) -> Result<Election, Exit> {
    let url = place.url(sources)?;
    while crate::backends::missing_folder(&url)?.is_some() {
        std::thread::sleep(LOOKS_EVERY);
    }
    opened(&url, place, name)
}

/// Runs what waits, on this thread.
fn block_on<T>(work: impl Future<Output = Result<T, Exit>>) -> Result<T, Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Exit::new(Origin::Internal, format!("no runtime can be made: {error}")))?;
    runtime.block_on(work)
}
