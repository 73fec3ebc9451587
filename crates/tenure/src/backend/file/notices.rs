//! What the kernel tells of files that change: one inotify instance for the whole process.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::sync::Notify;

use super::folder::{gone, storage};
use super::names::{Kind, Names};
use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind};

/// The process's instance. A user may have few of them (128 unless set), so that there is one, on a thread of its own, for all directories
/// and elections.
#[derive(Debug)]
pub(super) struct Notices {
    instance: OwnedFd,
    directories: Mutex<HashMap<i32, Directory>>,
}

/// Who wants to hear of which election in a directory.
type Directory = HashMap<String, Vec<Weak<Bell>>>;

/// One watcher's bell. What rang it is kept until it is heard, however often it rang.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: AtomicU8,
    notify: Notify,
}

/// A watcher that is told; dropping it ends that.
#[derive(Debug)]
pub(super) struct Subscription {
    notices: Arc<Notices>,
    directory: i32,
    stem: String,
    bell: Arc<Bell>,
}

/// What a watcher heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rung(u8);

const CHANGED: u8 = 1;
const DIED: u8 = 2;
const LOST: u8 = 4;

impl Rung {
    /// A liveness file was closed.
    pub(super) fn died(self) -> bool {
        self.0 & DIED != 0
    }

    /// Something may have been missed.
    pub(super) fn lost(self) -> bool {
        self.0 & LOST != 0
    }
}

impl Bell {
    fn ring(&self, what: u8) {
        self.rung.fetch_or(what, Ordering::AcqRel);
        self.notify.notify_one();
    }
}

impl Subscription {
    /// Waits until it rang, and says why.
    pub(super) async fn heard(&self) -> Rung {
        loop {
            match self.bell.rung.swap(0, Ordering::AcqRel) {
                0 => self.bell.notify.notified().await,
                rung => return Rung(rung),
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.notices.unsubscribe(self);
    }
}

impl Notices {
    /// What is told of files in a directory: those that are written, come and go, and are closed after writing; and what becomes of itself.
    const WANTED: WatchFlags = WatchFlags::MODIFY
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::CREATE)
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::DELETE)
        .union(WatchFlags::MOVED_FROM)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MOVE_SELF)
        .union(WatchFlags::ONLYDIR);

    /// The process's instance; made when it is first needed.
    pub(super) fn of_this_process() -> Result<Arc<Self>, Error> {
        static INSTANCE: Mutex<Option<Arc<Notices>>> = Mutex::new(None);
        let mut instance = INSTANCE.lock().unwrap_or_else(PoisonError::into_inner);
        match instance.as_ref() {
            Some(notices) if !planted(Mutant::FileManyInstances) => Ok(notices.clone()),
            _ => Ok(instance.insert(Notices::begin()?).clone()),
        }
    }

    fn begin() -> Result<Arc<Self>, Error> {
        let instance = inotify::init(CreateFlags::CLOEXEC).map_err(|error| {
            // The kernel has one answer for both limits.
            let message =
                "changes of files cannot be watched; raise fs.inotify.max_user_instances, or the limit on open files";
            Error::new(ErrorKind::Unavailable, message).because(std::io::Error::from(error))
        })?;
        let notices = Arc::new(Notices { instance, directories: Mutex::default() });
        let listener = notices.clone();
        let thread = std::thread::Builder::new().name("tenure-inotify".into()).spawn(move || listener.listen());
        match thread {
            Ok(_) => Ok(notices),
            Err(error) => {
                Err(Error::new(ErrorKind::Unavailable, "the thread that watches files cannot be started")
                    .because(error))
            }
        }
    }

    /// Tells of one election in a directory from now on.
    pub(super) fn subscribe(self: &Arc<Self>, directory: &Path, names: &Names) -> Result<Subscription, Error> {
        let mut directories = self.directories();
        let wd = inotify::add_watch(&self.instance, directory, Self::WANTED).map_err(|error| match error {
            Errno::NOENT => gone(directory),
            // It is not the disk that is full.
            Errno::NOSPC => {
                let message = format!("{} cannot be watched; raise fs.inotify.max_user_watches", directory.display());
                Error::new(ErrorKind::Unavailable, message).because(std::io::Error::from(error))
            }
            error => storage(directory, "watched", error),
        })?;
        let bell = Arc::new(Bell::default());
        let watchers = directories.entry(wd).or_default().entry(names.stem().to_owned()).or_default();
        watchers.push(Arc::downgrade(&bell));
        Ok(Subscription { notices: self.clone(), directory: wd, stem: names.stem().to_owned(), bell })
    }

    fn unsubscribe(&self, subscription: &Subscription) {
        let mut directories = self.directories();
        let Some(directory) = directories.get_mut(&subscription.directory) else { return };
        if let Some(watchers) = directory.get_mut(&subscription.stem) {
            watchers.retain(|bell| !std::ptr::eq(bell.as_ptr(), Arc::as_ptr(&subscription.bell)));
            if watchers.is_empty() {
                directory.remove(&subscription.stem);
            }
        }
        if directory.is_empty() {
            directories.remove(&subscription.directory);
            // The directory may be gone, and its watch with it.
            let _ = inotify::remove_watch(&self.instance, subscription.directory);
        }
    }

    /// Reads for as long as the process lives.
    fn listen(&self) {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut events = inotify::Reader::new(&self.instance, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => {
                    self.tell(event.wd(), event.events(), event.file_name().and_then(|name| name.to_str().ok()))
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => {
                    tracing::error!(%error, "changes of files can no longer be watched");
                    return self.lose_all();
                }
            }
        }
    }

    fn tell(&self, wd: i32, what: ReadFlags, name: Option<&str>) {
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.lose_all();
        }
        let mut directories = self.directories();
        let Some(directory) = directories.get_mut(&wd) else { return };
        let over = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
        if what.intersects(over) {
            directory.values().flatten().filter_map(Weak::upgrade).for_each(|bell| bell.ring(LOST));
            directories.remove(&wd);
            if what.contains(ReadFlags::MOVE_SELF) {
                let _ = inotify::remove_watch(&self.instance, wd);
            }
            return;
        }
        let Some((stem, kind)) = name.and_then(Names::parse) else { return };
        let rung = match kind {
            // That a lease file was closed says nothing: it is closed after every write.
            Kind::Lease if what == ReadFlags::CLOSE_WRITE => return,
            Kind::Lease => CHANGED,
            Kind::Liveness if what.contains(ReadFlags::CLOSE_WRITE) => DIED,
            Kind::Liveness => return,
        };
        if let Some(watchers) = directory.get(stem) {
            watchers.iter().filter_map(Weak::upgrade).for_each(|bell| bell.ring(rung));
        }
    }

    fn lose_all(&self) {
        let directories = self.directories();
        let bells = directories.values().flat_map(HashMap::values).flatten().filter_map(Weak::upgrade);
        bells.for_each(|bell| bell.ring(LOST));
    }

    fn directories(&self) -> MutexGuard<'_, HashMap<i32, Directory>> {
        self.directories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
