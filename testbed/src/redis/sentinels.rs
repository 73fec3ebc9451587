//! A master, its replicas, and three sentinels that watch over them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::resp::Connection;
use super::{Engine, Redis, Reply, Settings, socket_of};
use crate::server::eventually;
use crate::{Failure, Place, Program, Server};

/// What the sentinels call the master.
const NAME: &str = "office";

/// How long a server has to be silent before it counts as down, in milliseconds: long enough for a busy machine, or masters change by themselves.
const DOWN_AFTER: u32 = 2000;

/// Servers that replicate, and sentinels that choose which of them is the master.
#[derive(Debug)]
pub struct Sentinels {
    /// The servers; the first was the master at the start.
    pub servers: Vec<Redis>,
    /// The sentinels.
    pub sentinels: Vec<Server>,
}

impl Sentinels {
    /// A master with so many replicas, and three sentinels.
    pub fn start(replicas: usize) -> Result<Self, Failure> {
        Sentinels::with(replicas, Redis::with())
    }

    /// The same, with settings for every server.
    pub fn with(replicas: usize, settings: Settings) -> Result<Self, Failure> {
        // A replica that is up to date at once, whatever the machine does.
        let settings = settings.line("repl-diskless-sync-delay 0");
        let engine = settings.engine;
        let mut servers = vec![settings.clone().start()?];
        let master = servers[0].address();
        for _ in 0..replicas {
            servers.push(settings.clone().line(&format!("replicaof 127.0.0.1 {}", master.port())).start()?);
        }
        let sentinels = (0..3).map(|_| Server::start(Sentinel { engine, master })).collect::<Result<_, _>>()?;
        let group = Sentinels { servers, sentinels };
        let patience = Duration::from_secs(60);
        eventually(patience, || group.know_each_other(replicas))
            .ok_or_else(|| Failure::new(format!("the sentinels did not find each other within {patience:?}")))?;
        Ok(group)
    }

    /// What the sentinels call the master.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// Where the sentinels listen.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sentinels.iter().map(Server::address).collect()
    }

    /// Which of the servers the sentinels take for the master.
    pub fn master(&self) -> Result<usize, Failure> {
        self.named_by(&self.sentinels[0])
    }

    /// Makes another server the master while the old one lives, and returns which, once it is.
    pub fn failover(&self) -> Result<usize, Failure> {
        let old = self.master()?;
        let patience = Duration::from_secs(60);
        // Refused while an earlier one is not yet over.
        let begun = eventually(patience, || ask(self.sentinels[0].place(), &["SENTINEL", "FAILOVER", NAME]).is_ok());
        begun.ok_or_else(|| Failure::new("the sentinels would not begin a failover"))?;
        self.await_another(old)
    }

    /// Returns which server is the master, once it is another than this one: after that was killed or frozen.
    pub fn await_another(&self, old: usize) -> Result<usize, Failure> {
        let patience = Duration::from_secs(60);
        let mut new = old;
        let changed = eventually(patience, || match self.master() {
            Ok(master) if master != old => {
                new = master;
                let role = self.servers[master].ask(&["ROLE"]);
                matches!(role, Ok(Reply::Many(parts)) if parts[0].text() == Some("master"))
            }
            _ => false,
        });
        changed.ok_or_else(|| Failure::new(format!("no other master was chosen within {patience:?}")))?;
        Ok(new)
    }

    /// Whether all sentinels name one master, it knows itself to be it, and every other server that runs follows it. A master that comes back
    /// takes itself for one for some ten seconds, until the sentinels tell it otherwise.
    pub fn is_settled(&self) -> bool {
        let named: Vec<_> = self.sentinels.iter().map(|sentinel| self.named_by(sentinel).ok()).collect();
        let Some(Some(master)) = named.first().copied() else { return false };
        let role = |server: &Redis| match server.ask(&["ROLE"]) {
            Ok(Reply::Many(parts)) => parts[0].text().map(str::to_owned),
            _ => None,
        };
        let fits = |(index, server): (usize, &Redis)| {
            !server.is_running() || role(server).as_deref() == Some(if index == master { "master" } else { "slave" })
        };
        named.iter().all(|other| *other == Some(master)) && self.servers.iter().enumerate().all(fits)
    }

    fn named_by(&self, sentinel: &Server) -> Result<usize, Failure> {
        let answer = ask(sentinel.place(), &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME])?;
        let Reply::Many(parts) = answer else { return Err(Failure::new("the sentinels know no master")) };
        let port = parts.last().and_then(|port| port.text()).and_then(|port| port.parse::<u16>().ok());
        let found = self.servers.iter().position(|server| Some(server.address().port()) == port);
        found.ok_or_else(|| Failure::new(format!("the sentinels name a master that is none of ours: {parts:?}")))
    }

    fn know_each_other(&self, replicas: usize) -> bool {
        self.sentinels.iter().all(|sentinel| {
            let Ok(Reply::Many(facts)) = ask(sentinel.place(), &["SENTINEL", "MASTER", NAME]) else {
                return false;
            };
            let fact = |name: &str| {
                let value = facts.iter().skip_while(|fact| fact.text() != Some(name)).nth(1);
                value.and_then(|value| value.text()).map(str::to_owned)
            };
            fact("num-slaves") == Some(replicas.to_string()) && fact("num-other-sentinels").as_deref() == Some("2")
        })
    }
}

#[derive(Debug)]
struct Sentinel {
    engine: Engine,
    master: SocketAddr,
}

impl Program for Sentinel {
    fn name(&self) -> &str {
        "sentinel"
    }

    fn prepare(&self, place: &Place) -> Result<(), Failure> {
        let lines = [
            "bind 127.0.0.1".to_owned(),
            format!("port {}", place.port(0)),
            format!("dir {}", place.data().display()),
            format!("unixsocket {}", socket_of(place.folder()).display()),
            format!("sentinel monitor {NAME} 127.0.0.1 {} 2", self.master.port()),
            format!("sentinel auth-user {NAME} {}", super::settings::ADMIN),
            format!("sentinel auth-pass {NAME} {}", super::settings::ADMIN),
            format!("sentinel down-after-milliseconds {NAME} {DOWN_AFTER}"),
            format!("sentinel failover-timeout {NAME} 3000"),
        ];
        std::fs::write(settings_of(place), lines.join("\n") + "\n").map_err(Failure::from)
    }

    /// It writes to its own settings, which is how it remembers.
    fn command(&self, place: &Place) -> Result<Command, Failure> {
        let mut command = Command::new(self.engine.program()?);
        command.arg(settings_of(place)).arg("--sentinel");
        Ok(command)
    }

    fn is_ready(&self, place: &Place) -> bool {
        ask(place, &["PING"]).is_ok_and(|reply| reply.text() == Some("PONG"))
    }
}

fn settings_of(place: &Place) -> PathBuf {
    place.data().join("sentinel.conf")
}

fn ask(place: &Place, words: &[&str]) -> Result<Reply, Failure> {
    Connection::open(&socket_of(place.folder()))?.ask(words)
}
