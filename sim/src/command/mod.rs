//! The command line: `cargo run --release -p tenure-sim -- …`.

mod check;
#[cfg(tenure_mutants)]
mod mutants;
mod options;
mod replay;
mod soak;

use std::process::ExitCode;

use options::{Mode, Options};

/// Runs it, and says how it went.
pub(crate) fn run() -> ExitCode {
    match Options::read(std::env::args().skip(1)) {
        Err(wrong) => {
            eprintln!("tenure-sim: {wrong}\n\n{}", options::USAGE);
            ExitCode::from(64)
        }
        Ok(Options { mode: Mode::Help, .. }) => {
            println!("{}", options::USAGE);
            ExitCode::SUCCESS
        }
        Ok(options) => match options.mode {
            Mode::Replay(seed) => replay::run(&options, seed),
            Mode::Soak(_) => soak::run(&options),
            Mode::Mutants => mutants(&options),
            _ => check::run(&options),
        },
    }
}

#[cfg(tenure_mutants)]
fn mutants(options: &Options) -> ExitCode {
    mutants::run(options)
}

#[cfg(not(tenure_mutants))]
fn mutants(_: &Options) -> ExitCode {
    eprintln!("tenure-sim: no mutant is compiled in; `cargo xtask simulate` builds them with --cfg tenure_mutants");
    ExitCode::from(64)
}
