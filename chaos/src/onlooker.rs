//! One who looks at the office all the time, past every proxy, and writes down what it sees.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tenure::{Backend, Seat};
use testbed::Failure;

use crate::call::Call;
use crate::candidate::OFFICE;
use crate::diary::{self, Diary};
use crate::recorded::Recorded;

/// Looks so often.
const PACE: Duration = Duration::from_millis(15);

/// A look that takes longer is given up: the server is frozen, and it is told by what comes later.
const PATIENCE: Duration = Duration::from_millis(500);

pub(crate) struct Onlooker {
    holder: Arc<Mutex<Option<String>>>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    diary: std::path::PathBuf,
}

impl Onlooker {
    pub(crate) fn start(
        backend: impl FnOnce() -> Result<Arc<dyn Backend>, tenure::Error> + Send + 'static,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let path = folder.join("looks");
        let diary = Diary::open(&path)?;
        let (holder, done) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let (seen, over) = (Arc::clone(&holder), Arc::clone(&done));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let seat = Seat::new(OFFICE).map_err(|error| Failure::new(error.to_string()))?;
        let inside = runtime.enter();
        let backend = backend().map_err(|error| Failure::new(error.to_string()))?;
        drop(inside);
        let backend = Recorded::new(backend, diary);
        let thread = std::thread::spawn(move || {
            while !over.load(Relaxed) {
                let sight = runtime.block_on(async { tokio::time::timeout(PATIENCE, backend.inspect(&seat)).await });
                if let Ok(Ok(sight)) = sight {
                    *seen.lock().expect("nobody panics with it") = sight.held().map(|held| held.holder.to_string());
                }
                std::thread::sleep(PACE);
            }
        });
        Ok(Onlooker { holder, done, thread: Some(thread), diary: path })
    }

    /// The name of who has the office, as last seen.
    pub(crate) fn holder(&self) -> Option<String> {
        self.holder.lock().expect("nobody panics with it").clone()
    }

    /// Ends it, and returns what it saw.
    pub(crate) fn looks(mut self) -> Result<Vec<Call>, Failure> {
        self.done.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_| Failure::new("the onlooker panicked"))?;
        }
        Ok(diary::read(usize::MAX, &self.diary).map_err(Failure::new)?.calls)
    }
}

impl Drop for Onlooker {
    fn drop(&mut self) {
        self.done.store(true, Relaxed);
    }
}
