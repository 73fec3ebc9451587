//! One named step of a chore: announced, timed, judged.

use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Runs `work` between a line that says what is done and a line that says how it went.
pub(crate) fn step<T>(name: &str, what: &str, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    println!("==> {name}: {what}");
    let started = Instant::now();
    let outcome = work();
    let took = seconds(started.elapsed());
    match outcome {
        Ok(value) => {
            println!("<== {name}: ok in {took}");
            Ok(value)
        }
        Err(failure) => {
            println!("<== {name}: FAILED in {took}");
            Err(Failure::new(format!("{name} failed: {failure}.")))
        }
    }
}

pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
