//! An example as the program that it is.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// None takes longer than a few seconds, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What an example printed; it has to succeed.
#[allow(dead_code, reason = "those that need a server are told where it is")]
pub(crate) fn said_by(name: &str) -> String {
    said_with(name, &[])
}

/// The same, with these variables in its environment.
pub(crate) fn said_with(name: &str, variables: &[(&str, &str)]) -> String {
    let output = run(name, variables);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} ended with {}\n{said}\n{complaint}", output.status);
    said
}

fn run(name: &str, variables: &[(&str, &str)]) -> Output {
    let program = built(name);
    let mut command = Command::new(&program);
    command.envs(variables.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.display()));
    let started = Instant::now();
    // What an example prints fits into a pipe, so that it need not be read before the end.
    while child.try_wait().expect("it can be waited for").is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().expect("it can be killed");
            let output = child.wait_with_output().expect("it can be read");
            panic!("{name} did not end by itself:\n{}", String::from_utf8_lossy(&output.stdout));
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it can be read")
}

/// `cargo test` builds the examples beside this program's own directory; told to run this test alone, it does not.
fn built(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("a test has a path");
    let profile = here.parent().and_then(|deps| deps.parent()).expect("it is in target/<profile>/deps");
    let program = profile.join("examples").join(name);
    assert!(program.exists(), "{} is missing: run `cargo build --examples` first", program.display());
    program
}
