//! Redis and Valkey: one, three with sentinels, or a cluster.

mod cluster;
mod resp;
mod sentinels;
mod settings;

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::Command;

pub use cluster::Cluster;
pub use resp::Reply;
pub use sentinels::Sentinels;
pub use settings::{Engine, Fsync, Settings, Tls};

use self::resp::Connection;
use crate::tools::Missing;
use crate::{Failure, Place, Program, Server};

/// What is not installed of Redis; nothing when tests can use it.
pub fn missing() -> Option<Missing> {
    Engine::Redis.missing()
}

/// One Redis server. What every [`Server`] can, it can.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    settings: Settings,
}

impl Redis {
    /// One on a plain port, without passwords, that remembers nothing over a restart and tells of keys that expire.
    pub fn start() -> Result<Self, Failure> {
        Settings::default().start()
    }

    /// One with other settings: `Redis::with().append_only(Fsync::Always).start()`.
    pub fn with() -> Settings {
        Settings::default()
    }

    fn launch(settings: Settings) -> Result<Self, Failure> {
        let server = Server::start(Process(settings.clone()))?;
        Ok(Redis { server, settings })
    }

    /// What a client is told to reach it, without user and password: `redis://127.0.0.1:6379` or `rediss://…`.
    pub fn url(&self) -> String {
        self.url_at(self.address())
    }

    /// The same, at the address of a proxy. The certificate is for all of loopback.
    pub fn url_at(&self, address: SocketAddr) -> String {
        let scheme = if self.settings.tls.is_some() { "rediss" } else { "redis" };
        format!("{scheme}://{address}")
    }

    /// Asks it something with all rights, past every proxy, certificate and user.
    pub fn ask(&self, words: &[&str]) -> Result<Reply, Failure> {
        ask(self.place(), words)
    }

    /// Takes a user's rights away and ends its connections.
    pub fn revoke(&self, user: &str) -> Result<(), Failure> {
        self.ask(&["ACL", "SETUSER", user, "off"])?;
        self.ask(&["CLIENT", "KILL", "USER", user]).map(drop)
    }

    /// Gives a user that was revoked its rights back.
    pub fn reinstate(&self, user: &str) -> Result<(), Failure> {
        self.ask(&["ACL", "SETUSER", user, "on"]).map(drop)
    }
}

impl Deref for Redis {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl DerefMut for Redis {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}

/// How one is started.
#[derive(Debug)]
struct Process(Settings);

impl Program for Process {
    fn name(&self) -> &str {
        "redis"
    }

    fn ports(&self) -> usize {
        // The second is for the other nodes of a cluster.
        if self.0.cluster { 2 } else { 1 }
    }

    fn prepare(&self, place: &Place) -> Result<(), Failure> {
        std::fs::write(settings_of(place), self.0.file(place)).map_err(Failure::from)
    }

    fn command(&self, place: &Place) -> Result<Command, Failure> {
        let mut command = Command::new(self.0.engine.program()?);
        command.arg(settings_of(place));
        Ok(command)
    }

    /// One that still loads its data says so instead.
    fn is_ready(&self, place: &Place) -> bool {
        ask(place, &["PING"]).is_ok_and(|reply| reply.text() == Some("PONG"))
    }
}

fn settings_of(place: &Place) -> PathBuf {
    place.folder().join("redis.conf")
}

fn ask(place: &Place, words: &[&str]) -> Result<Reply, Failure> {
    let mut connection = Connection::open(&socket_of(place.folder()))?;
    connection.ask(&["AUTH", settings::ADMIN, settings::ADMIN])?;
    connection.ask(words)
}

fn socket_of(folder: &Path) -> PathBuf {
    folder.join("socket")
}
