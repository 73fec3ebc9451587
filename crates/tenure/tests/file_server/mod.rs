//! A file backend in a process of its own: the test program runs itself again as a server that takes calls on its standard input.

mod codec;
mod remote;
mod serve;

pub(crate) use remote::Remote;
pub(crate) use serve::serve_if_asked;

/// Set in a process that is to serve the directory it names.
const DIRECTORY: &str = "TENURE_TEST_SERVE";
