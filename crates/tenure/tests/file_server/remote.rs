//! The client's end: a backend whose calls are made in another process, which can be killed, stopped and not listened to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::stream;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tenure::backend::{
    Administer, Answer, Attempt, Bid, Evicted, FileBackend, Hint, Renewal, Sight, Standing, Traits, Version, Watch,
};
use tenure::{Backend, Error, Seat};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::codec::{Wire, pack_bid};

/// A file backend in a process of its own.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    directory: PathBuf,
    traits: Traits,
    place: String,
    link: Arc<Mutex<Link>>,
}

#[derive(Debug, Default)]
struct Link {
    process: Option<(Child, ChildStdin)>,
    calls: u64,
    waiting: HashMap<u64, UnboundedSender<Value>>,
    mute: bool,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Link {
    fn kill(&mut self) {
        self.waiting.clear();
        if let Some((mut child, _)) = self.process.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Remote {
    pub(crate) fn new(directory: &Path) -> Self {
        let backend = FileBackend::new(directory).expect("a directory can be had");
        let remote = Remote {
            directory: directory.to_owned(),
            traits: backend.traits(),
            place: backend.place(),
            link: Arc::default(),
        };
        remote.start();
        remote
    }

    /// Kills the process.
    pub(crate) fn kill(&self) {
        self.link().kill();
    }

    /// Stops the process.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// Hears none of its answers.
    pub(crate) fn mute(&self) {
        self.link().mute = true;
    }

    /// Lets it go on, starts it again, and listens.
    pub(crate) fn heal(&self) {
        self.signal(Signal::CONT);
        self.link().mute = false;
        if self.link().process.is_none() {
            self.start();
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some((child, _)) = &self.link().process {
            let pid = Pid::from_raw(child.id() as i32).expect("a process has a number");
            kill_process(pid, signal).expect("it is ours");
        }
    }

    fn start(&self) {
        let program = std::env::current_exe().expect("this program is a file");
        let mut command = Command::new(program);
        command.env(super::DIRECTORY, &self.directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this program can be run again");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        self.link().process = Some((child, input));
        let link = Arc::downgrade(&self.link);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let (Ok(line), Some(link)) = (line, link.upgrade()) else { return };
                let answer: Value = serde_json::from_str(&line).expect("both ends are one program");
                let link = link.lock().unwrap();
                let waiting = answer["id"].as_u64().and_then(|id| link.waiting.get(&id));
                if let Some(waiting) = waiting.filter(|_| !link.mute) {
                    let _ = waiting.send(answer);
                } else if link.mute
                    && let Some(waiting) = waiting
                {
                    let _ = waiting.send(Value::Null);
                }
            }
        });
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap()
    }

    /// Sends a call; the answers come one after the other, and end when the process does.
    fn send(&self, mut call: Value) -> Result<(u64, UnboundedReceiver<Value>), Error> {
        let mut link = self.link();
        link.calls += 1;
        let id = link.calls;
        call["id"] = json!(id);
        let (sender, receiver) = unbounded_channel();
        let Some((_, input)) = &mut link.process else {
            return Err(Error::unavailable("the process is not there"));
        };
        writeln!(input, "{call}").map_err(|error| Error::unavailable("the process is gone").because(error))?;
        link.waiting.insert(id, sender);
        Ok((id, receiver))
    }

    async fn ask<T: Wire>(&self, call: Value) -> Result<T, Error> {
        let (id, mut answers) = self.send(call)?;
        let answer = answers.recv().await;
        self.link().waiting.remove(&id);
        unpacked(answer.as_ref())
    }

    fn call<'a, T: Wire + Send + 'a>(&'a self, call: Value) -> Answer<'a, T> {
        Box::pin(self.ask(call))
    }
}

fn unpacked<T: Wire>(answer: Option<&Value>) -> Result<T, Error> {
    let answer = answer.filter(|answer| !answer.is_null());
    let answer =
        answer.ok_or_else(|| Error::unknown_outcome("the process died or was not heard before it answered"))?;
    match answer.get("err") {
        Some(error) => Err(Error::unpack(error)),
        None => Ok(T::unpack(&answer["ok"])),
    }
}

impl Backend for Remote {
    fn traits(&self) -> Traits {
        self.traits
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, _: Attempt) -> Answer<'a, Standing> {
        self.call(json!({"op": "stand", "bid": pack_bid(bid)}))
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        self.call(json!({"op": "renew", "bid": pack_bid(bid), "version": version.pack()}))
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        self.call(json!({"op": "withdraw", "bid": pack_bid(bid)}))
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        self.call(json!({"op": "inspect", "seat": seat.pack()}))
    }

    fn watch<'a>(&'a self, seat: &'a Seat, _: Option<&'a Bid>) -> Answer<'a, Watch> {
        Box::pin(async move {
            let (_, mut answers) = self.send(json!({"op": "watch", "seat": seat.pack()}))?;
            unpacked::<()>(answers.recv().await.as_ref())?;
            let hints = stream::unfold(Some(answers), |answers| async move {
                let mut answers = answers?;
                match answers.recv().await.as_ref().and_then(|answer| answer.get("hint")) {
                    Some(hint) => Some((Hint::unpack(hint), Some(answers))),
                    None => Some((Hint::Lagged, None)),
                }
            });
            Ok(Box::pin(hints) as Watch)
        })
    }

    fn administer(&self) -> Option<&dyn Administer> {
        Some(self)
    }
}

impl Administer for Remote {
    fn list<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<(Seat, Sight)>> {
        self.call(json!({"op": "list", "prefix": prefix}))
    }

    fn ask_to_resign<'a>(&'a self, seat: &'a Seat) -> Answer<'a, bool> {
        self.call(json!({"op": "ask", "seat": seat.pack()}))
    }

    fn evict<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Evicted> {
        self.call(json!({"op": "evict", "seat": seat.pack()}))
    }
}
