//! `tenure run`.

mod command;
mod office;
mod signals;
mod store;

use std::fs;

use rustix::process::Pid;

/// As `/proc` has it: `S`leeping, s`T`opped, a `Z`ombie.
pub(super) fn state_of(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}
