//! Who removes the folders of a process that was killed.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock};

/// Reads names of folders until the pipe closes, then removes them. A server in one of them may take a moment to die.
const SCRIPT: &str = r#"
while IFS= read -r folder; do set -- "$@" "$folder"; done
rm -rf -- "$@" 2>/dev/null || { sleep 2; rm -rf -- "$@"; }
"#;

/// Has a folder removed when this process is gone, if it is still there then.
pub(crate) fn sweep(folder: &Path) {
    static SWEEPER: OnceLock<Mutex<Option<ChildStdin>>> = OnceLock::new();
    let sweeper = SWEEPER.get_or_init(|| {
        let mut command = Command::new("sh");
        // Out of the way of a terminal's signals. Nobody waits for it: it outlives us, by design and for a moment.
        command.args(["-c", SCRIPT]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Mutex::new(command.spawn().ok().and_then(|mut child| child.stdin.take()))
    });
    if let Some(pipe) = sweeper.lock().expect("nobody panics with it").as_mut() {
        let _ = writeln!(pipe, "{}", folder.display());
    }
}
