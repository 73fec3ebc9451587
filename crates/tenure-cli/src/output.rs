//! Writing answers to the standard output, where a pipe may be closed or a disk full.

use std::io::{self, ErrorKind, Write};

use crate::exit::{Exit, Origin};

/// Writes one line. A reader that has gone away ends the matter without a word, as it does for other tools.
pub(crate) fn line(text: &str) -> Result<(), Exit> {
    bytes(format!("{text}\n").as_bytes())
}

pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Exit> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Exit::new(Origin::Output, ""),
        _ => Exit::new(Origin::Output, format!("the answer cannot be written: {error}")),
    })
}
