//! One file a verb.

pub(crate) mod completions;
#[cfg(target_os = "linux")]
pub(crate) mod demo;
pub(crate) mod man;
pub(crate) mod resign;
#[cfg(target_os = "linux")]
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod watch;

use clap::parser::ValueSource;
use tenure::Election;

use crate::backends;
use crate::exit::{Exit, Origin};
use crate::place::PlaceArgs;
use crate::url::BackendUrl;

/// The election that a command looks at from outside.
fn election(place: &PlaceArgs, source: Option<ValueSource>, name: &str) -> Result<(Election, BackendUrl), Exit> {
    let url = place.url(source)?;
    let opened = backends::open(&url)?;
    Ok((Election::over(opened.backend, name)?, url))
}

/// Runs what waits, on this thread.
fn block_on<T>(work: impl Future<Output = Result<T, Exit>>) -> Result<T, Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Exit::new(Origin::Internal, format!("no runtime can be made: {error}")))?;
    runtime.block_on(work)
}
