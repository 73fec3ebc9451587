//! Measures what tenure costs, as ratios and distributions. Nothing here passes or fails: see `docs/performance.md`.
//!
//! `cargo run --release -p tenure-bench -- is-leader | idle [elections] [seconds] | handover [rounds] | file [rounds] | redis [rounds] | etcd [rounds] | etcd-leases [rounds] [seconds] | run [rounds] | step`

mod distribution;
mod etcd;
mod etcd_leases;
mod file;
mod handover;
mod heap;
mod idle;
mod is_leader;
mod process;
mod redis;
mod run;
mod step;

use std::process::ExitCode;

/// What a measurement can fail by.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("tenure-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<(), Failure> {
    if cfg!(debug_assertions) {
        eprintln!("tenure-bench: not built with --release; the numbers say little");
    }
    let which = arguments.next();
    if which.as_deref() == Some("run-child") {
        return run::child(&arguments.next().ok_or("say where to write")?);
    }
    if which.as_deref() == Some("file-candidate") {
        return file::candidate(&arguments.next().ok_or("say in which directory")?);
    }
    if which.as_deref() == Some("etcd-candidate") {
        return etcd::candidate(&arguments.next().ok_or("say where")?);
    }
    if which.as_deref() == Some("redis-candidate") {
        return redis::candidate(&arguments.next().ok_or("say on which server")?);
    }
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |given| given.parse());
    match which.as_deref() {
        Some("is-leader") => is_leader::run(),
        Some("idle") => idle::run(number(100_000)? as usize, number(30)?),
        Some("handover") => handover::run(number(1_000)? as usize),
        Some("file") => file::run(number(200)? as usize),
        Some("redis") => redis::run(number(200)? as usize),
        Some("etcd") => etcd::run(number(200)? as usize),
        Some("etcd-leases") => etcd_leases::run(number(20)? as usize, number(2)?),
        Some("run") => run::run(number(100)? as usize),
        Some("step") => step::run(),
        _ => Err(
            "say what to measure: is-leader | idle [elections] [seconds] | handover [rounds] | file [rounds] | redis [rounds] | etcd [rounds] | etcd-leases [rounds] [seconds] | run [rounds] | step"
                .into(),
        ),
    }
}
