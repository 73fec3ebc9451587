//! The guardian and its tree as the supervisor has them: told what to do, listened to, and taken over from when it must be.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, waitpid};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::process::cgroup::Cgroup;
use crate::process::containment::Level;
use crate::process::family::{self, Relative};
use crate::process::message::{Message, Office, Reach, Term};
use crate::process::tree::{Process, Root, Tree};
use crate::process::wire::{Channel, Word};
use crate::process::{Brief, myself, roles};
use crate::url::BackendUrl;
use crate::withdraw;

/// One guardian, and what it guards.
#[derive(Debug)]
pub(crate) struct Ward {
    guardian: Child,
    channel: Channel,
    /// The same socket once more, for tokio to tell when there is something to hear; nothing is ever read from it.
    bell: UnixStream,
    pub(crate) level: Level,
    /// Why it is no firmer.
    pub(crate) because: String,
    tree: Tree,
    /// Children of this process that have nothing to do with the tree: from before `exec tenure run`, or orphans of such.
    strangers: Vec<Relative>,
}

/// Why there is no guardian.
#[derive(Debug)]
pub(crate) enum Unhired {
    /// The containment that is wanted cannot be had.
    Uncontained(String),
    Failed(io::Error),
}

impl From<io::Error> for Unhired {
    fn from(error: io::Error) -> Self {
        Unhired::Failed(error)
    }
}

/// What a guardian told, or what became of it.
#[derive(Debug)]
pub(crate) enum News {
    Said(Message),
    /// It was killed.
    Gone,
}

impl Ward {
    /// Starts a guardian for this command; [`prepared`](Ward::prepared) then says how it will hold it.
    ///
    /// The address of the store goes by the environment: a guardian that is left alone has to give the office up.
    pub(crate) fn hire(brief: &Brief, command: &[OsString], place: &BackendUrl) -> io::Result<Ward> {
        // What the guardian leaves behind when it is killed falls to us.
        rustix::process::set_child_subreaper(Some(getpid()))?;
        let strangers = family::children(getpid());
        let (near, far) = Channel::pair()?;
        let mut process = myself(roles::GUARDIAN);
        process.args(brief.arguments()).arg("--").args(command);
        process.env(withdraw::PLACE, place.as_str()).stdin(Stdio::from(far));
        let guardian = process.spawn()?;
        // It keeps the far end, and with it the guardian's death would never be heard of.
        drop(process);
        let bell = std::os::unix::net::UnixStream::from(near.as_fd().try_clone_to_owned()?);
        bell.set_nonblocking(true)?;
        let bell = UnixStream::from_std(bell)?;
        let tree = Tree { level: Level::ProcessGroup, command: None, init: None, cgroup: None };
        Ok(Ward { guardian, channel: near, bell, level: tree.level, because: String::new(), tree, strangers })
    }

    /// Waits until the guardian has made its preparations.
    pub(crate) async fn prepared(mut self) -> Result<Ward, Unhired> {
        match self.news().await? {
            (News::Said(Message::Contained { level, because, cgroup }), _) => {
                (self.level, self.because, self.tree.level) = (level, because, level);
                self.tree.cgroup = (!cgroup.is_empty()).then(|| Cgroup::existing(&cgroup));
                Ok(self)
            }
            (News::Said(Message::Uncontained { because }), _) => {
                self.guardian.wait()?;
                Err(Unhired::Uncontained(because))
            }
            _ => {
                self.guardian.wait()?;
                Err(Unhired::Failed(io::Error::other("the guardian did not start")))
            }
        }
    }

    /// Has the command started. `lock` is kept by the guardian as long as anything of the tree may live.
    ///
    /// A command in front of a terminal has an `ear` beside it where it matters that a key was pressed.
    pub(crate) fn start(
        &self,
        term: Term,
        office: Office,
        (foreground, ear): (bool, bool),
        lock: Option<OwnedFd>,
    ) -> io::Result<()> {
        let stdin = io::stdin();
        let mut descriptors: Vec<BorrowedFd<'_>> = vec![stdin.as_fd()];
        descriptors.extend(lock.as_ref().map(AsFd::as_fd));
        self.channel.send(&Message::Start { term, office, foreground, ear }, &descriptors)
    }

    pub(crate) fn extend(&self, term: Term) {
        self.tell(&Message::Extend(term));
    }

    pub(crate) fn stop(&self, grace: Duration) {
        self.tell(&Message::Stop { grace });
    }

    pub(crate) fn forward(&self, signal: Signal, reach: Reach) {
        self.tell(&Message::Signal { signal: signal.as_raw(), reach });
    }

    /// What there is to know next. Cancelling it loses nothing.
    pub(crate) async fn next(&mut self) -> io::Result<News> {
        let (news, descriptors) = self.news().await?;
        if let News::Said(Message::Started { pid, init }) = news {
            let mut known = descriptors.into_iter();
            let mut process = |pid: i32| Some(Process { pid: Pid::from_raw(pid)?, pidfd: known.next()? });
            (self.tree.command, self.tree.init) = (process(pid), process(init));
        }
        Ok(news)
    }

    pub(crate) fn has_strangers(&self) -> bool {
        !self.strangers.is_empty()
    }

    /// Whoever is our child while the guardian lives does not belong to its tree: the orphans of that fall to the guardian.
    pub(crate) fn note_strangers(&mut self) {
        let guardian = Pid::from_child(&self.guardian);
        let mut children = family::children(getpid());
        children.retain(|child| child.pid != guardian);
        // Looked at after them: it lives, and so it did then.
        if matches!(self.guardian.try_wait(), Ok(None)) {
            self.strangers = children;
        }
    }

    /// Whether the command is dead, as the kernel knows it, whatever the guardian says.
    pub(crate) fn is_command_dead(&self) -> bool {
        self.tree.command.as_ref().is_some_and(Process::is_dead)
    }

    /// Asks the tree past the guardian, which has not answered.
    pub(crate) fn ask_directly(&self, signal: Signal) {
        self.tree.ask(&self.root(), signal);
    }

    /// Kills the tree past the guardian; twice does no harm.
    pub(crate) fn kill_directly(&self) {
        self.tree.kill(&self.root());
    }

    /// Kills the guardian and the tree, and returns once nothing of it is left; with the command's wait status, where that can be had.
    ///
    /// With the guardian dead its tree is ours: orphans fall to the next subreaper above, and so do the dead that nobody has waited for.
    pub(crate) async fn seize(&mut self) -> Option<i32> {
        let _ = self.guardian.kill();
        let _ = self.guardian.wait();
        let root = Root { pid: getpid(), strangers: &self.strangers };
        let mut status = None;
        let mut pause = Duration::from_micros(500);
        loop {
            self.tree.kill(&root);
            for child in family::children(getpid()).iter().filter(|child| !self.strangers.contains(child)) {
                let waited = waitpid(Some(child.pid), WaitOptions::NOHANG);
                if let Ok(Some((pid, ended))) = waited
                    && self.tree.command.as_ref().is_some_and(|command| command.pid == pid)
                {
                    status = Some(ended.as_raw());
                }
            }
            if self.tree.is_dead(&root) {
                break;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        self.tree.tidy();
        status
    }

    /// Lets a guardian go whose tree is empty. One that is frozen right now goes when it thaws, and nothing depends on it any more.
    pub(crate) fn dismiss(mut self) {
        self.tell(&Message::Farewell);
        // Somebody has to wait for it, or it stays among the dead that nobody has waited for. Where no thread can be made, it does.
        let waiter = std::thread::Builder::new().name("tenure-farewell".into());
        let _ = waiter.spawn(move || self.guardian.wait());
    }

    fn root(&self) -> Root<'_> {
        Root { pid: Pid::from_child(&self.guardian), strangers: &[] }
    }

    async fn news(&mut self) -> io::Result<(News, Vec<OwnedFd>)> {
        loop {
            self.bell.readable().await?;
            let heard = self.bell.try_io(Interest::READABLE, || match self.channel.hear()? {
                Word::Nothing => Err(io::ErrorKind::WouldBlock.into()),
                word => Ok(word),
            });
            match heard {
                Ok(Word::Said(message, descriptors)) => return Ok((News::Said(message), descriptors)),
                Ok(Word::Gone | Word::Nothing) => return Ok((News::Gone, Vec::new())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn tell(&self, message: &Message) {
        // One that does not read is frozen, and one that is gone is noticed where it is listened to.
        let _ = self.channel.send(message, &[]);
    }
}
