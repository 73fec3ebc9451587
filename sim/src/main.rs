//! Simulates elections and checks the invariants: see `--help`.

mod command;

fn main() -> std::process::ExitCode {
    command::run()
}
