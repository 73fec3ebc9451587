//! The command line as people meet it, one file a command: every help, every refusal and every exit status.
//!
//! `TENURE_UPDATE_SNAPSHOTS=1 cargo test -p tenure-cli --test cli` writes the golden files anew; read the difference before you keep it.

#[path = "../common/mod.rs"]
mod common;
mod demo;
mod invocations;
mod papers;
mod resign;
mod run;
mod sources;
mod status;
mod watch;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::TENURE;

/// A call of tenure in which nothing of this machine's environment counts.
pub(crate) fn tenure(arguments: &[&str]) -> Command {
    let mut command = Command::new(TENURE);
    command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("COLUMNS", "80").stdin(Stdio::null());
    // A fault that is planted for this test is planted for what it tests.
    command.envs(std::env::var_os("TENURE_MUTANT").map(|mutant| ("TENURE_MUTANT", mutant)));
    command
}

pub(crate) fn output(command: &mut Command) -> Output {
    command.output().expect("tenure can be started")
}

/// Compares with a golden file.
#[track_caller]
pub(crate) fn snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("TENURE_UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
        fs::write(&path, text).expect("it can be written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text,
        golden,
        "{} is out of date; read the difference, then set TENURE_UPDATE_SNAPSHOTS=1",
        path.display()
    );
}
