//! `cargo xtask simulate`: many simulated worlds, inside the assumptions and beyond them, the mutants that they must
//! kill, and small worlds explored exhaustively.

use crate::cargo::{cargo, describe, succeed};
use crate::failure::Failure;
use crate::mutants;
use crate::step::step;

/// Worlds inside the assumptions, over all families.
const INSIDE: &str = "204000";
/// Worlds for each kind of fault beyond them.
const BEYOND: &str = "24000";

pub(crate) fn run() -> Result<(), Failure> {
    for (faults, seeds) in
        [("all", INSIDE), ("clocks", BEYOND), ("deletions", BEYOND), ("records", BEYOND), ("beyond", BEYOND)]
    {
        let mut command =
            cargo(["run", "--release", "--package", "tenure-sim", "--", "--seeds", seeds, "--faults", faults]);
        let what = describe(&command);
        step("worlds", &what, || succeed(&mut command))?;
    }
    let mut command = cargo(["run", "--release", "--package", "tenure-sim", "--", "--mutants", "--seeds", "60000"]);
    mutants::with_mutants(&mut command);
    let what = describe(&command);
    step("mutants", &what, || succeed(&mut command))?;
    let mut command = cargo(["run", "--release", "--package", "tenure-checker"]);
    let what = describe(&command);
    step("checker", &what, || succeed(&mut command))
}
