//! The machine with one rule removed: each such fault must be found by a model.
//!
//! A fault is chosen once a process (`TENURE_MUTANT`), so each is tried in a process of its own.

use std::process::Command;

/// Faults that a model can see, the model that sees them, and what they break.
pub const SEEN: &[(&str, &str, &str)] = &[
    ("receipt-time-deadline", "ttl", "I1"),
    ("drift-ignored", "ttl", "I1"),
    ("grace-forgotten", "ttl", "I1"),
    ("asked-not-granted", "ttl-granted", "I1"),
    ("released-before-work-stopped", "ttl", "I1"),
    ("echo-withdrawn", "ttl", "I1"),
    ("revived-tenure", "ttl", "I5"),
    ("no-nonce", "ttl", "I7"),
    ("send-time-observation", "register", "I1"),
    ("own-lease-observed", "register-mixed", "I1"),
    ("observation-never-restarts", "register", "I1"),
    ("receipt-time-deadline", "register", "I1"),
    ("drift-ignored", "register", "I1"),
    ("drift-ignored", "session", "I1"),
    ("late-beat-credited", "session", "I1"),
    ("overdue-win-believed", "session", "I5"),
];

/// Tries all of them, and says which was seen by what; whether every one was.
pub fn run_all() -> Result<bool, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut survived = 0;
    for (mutant, model, property) in SEEN {
        let output = Command::new(&program)
            .args(["--model", model, "--until", property])
            .env("TENURE_MUTANT", mutant)
            .output()
            .map_err(|error| format!("cannot run this program again: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let broken: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("always")?.split_once(": BROKEN").map(|(name, _)| name.trim()))
            .collect();
        let verdict = if output.status.success() { "killed" } else { "SURVIVED" };
        survived += usize::from(!output.status.success());
        println!("{mutant:30} {model:16} {verdict}: {}", broken.join("; "));
    }
    println!("{} killed, {survived} survived", SEEN.len() - survived);
    Ok(survived == 0)
}
