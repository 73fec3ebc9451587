//! What the tests of the command line share: folders, runs of the real binary, and a way to leave nothing behind.
#![allow(dead_code, reason = "every test program uses its own part")]

pub(crate) mod child;
pub(crate) mod run;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Marks the processes of a test: every command inherits it, since it is not one of tenure's own variables.
pub(crate) const MARK: &str = "WARD_FOLDER";

/// A folder of one test, with a backend in it. Dropping it kills whatever the test has left running, by mark, and removes the folder.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) folder: PathBuf,
    backend: Option<String>,
}

impl Scene {
    pub(crate) fn new() -> Scene {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tenure-cli-{}-{count}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        Scene { folder, backend: None }
    }

    /// One whose elections are held elsewhere.
    pub(crate) fn on(backend: impl Into<String>) -> Scene {
        let mut scene = Scene::new();
        scene.backend = Some(backend.into());
        scene
    }

    pub(crate) fn backend(&self) -> String {
        let own = || format!("file:{}", self.folder.join("backend").display());
        self.backend.clone().unwrap_or_else(own)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The living processes that carry this test's mark, tenure's own too.
    pub(crate) fn marked(&self) -> Vec<Pid> {
        marked(&self.folder)
    }

    /// The same without tenure's own: what its commands have started.
    pub(crate) fn left_running(&self) -> Vec<Pid> {
        // One that is about to be gone has no program any more.
        let runs = |pid: &Pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe != Path::new(TENURE));
        self.marked().into_iter().filter(runs).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What is killed may have forked meanwhile.
        for _ in 0..100 {
            let marked = self.marked();
            if marked.is_empty() {
                break;
            }
            for pid in marked {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The binary under test.
pub(crate) const TENURE: &str = env!("CARGO_BIN_EXE_tenure");

fn marked(folder: &Path) -> Vec<Pid> {
    let mark = format!("{MARK}={}", folder.display());
    let processes = fs::read_dir("/proc").expect("/proc is there").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    pids.filter(|pid| {
        // The dead that nobody has waited for have no environment any more.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    })
    .collect()
}

/// Waits until something is there, and fails with `what` if it never is.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < within, "not within {within:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// Longer than anything takes on a machine that does much else.
pub(crate) const LONG: Duration = Duration::from_secs(30);
