//! The machine with one rule removed: each such fault must be found by a model.
//!
//! A fault is chosen once a process (`TENURE_MUTANT`), so each is tried in a process of its own.

use std::process::Command;

/// Faults that a model can see, and the model that sees them.
pub const SEEN: &[(&str, &str)] = &[
    ("receipt-time-deadline", "ttl"),
    ("drift-ignored", "ttl"),
    ("grace-forgotten", "ttl"),
    ("asked-not-granted", "ttl-granted"),
    ("revived-tenure", "ttl"),
    ("released-before-work-stopped", "ttl"),
    ("echo-withdrawn", "ttl"),
    ("no-nonce", "ttl"),
    ("send-time-observation", "register"),
    ("own-lease-observed", "register-mixed"),
    ("observation-never-restarts", "register"),
    ("receipt-time-deadline", "register"),
    ("drift-ignored", "register"),
    ("drift-ignored", "session"),
    ("newest-send-credited", "session"),
    ("late-beat-credited", "session"),
];

/// Tries all of them, and says which was seen by what; whether every one was.
pub fn run_all() -> Result<bool, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut survived = 0;
    for (mutant, model) in SEEN {
        let output = Command::new(&program)
            .args(["--model", model, "--expect-violation"])
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
