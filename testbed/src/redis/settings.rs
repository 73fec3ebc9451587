//! How a Redis server is set up.

use std::path::PathBuf;

use super::{Redis, socket_of};
use crate::certificates::{Authority, Certificate};
use crate::tools::{self, Missing, Tool};
use crate::{Failure, Place};

/// The user that the testbed itself is, and its password: whoever reaches the private socket may know it.
pub(super) const ADMIN: &str = "testbed";

/// Which of the two programs that share a protocol and a file of settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Redis.
    #[default]
    Redis,
    /// Valkey.
    Valkey,
}

impl Engine {
    /// What is not installed of it; nothing when tests can use it.
    pub fn missing(self) -> Option<Missing> {
        self.tool().missing()
    }

    fn tool(self) -> &'static Tool {
        match self {
            Engine::Redis => &tools::REDIS,
            Engine::Valkey => &tools::VALKEY,
        }
    }

    /// The program, which is a sentinel too.
    pub(super) fn program(self) -> Result<PathBuf, Missing> {
        let tool = self.tool();
        tool.find(tool.binaries[0])
    }
}

/// When what was written is forced to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Before every answer.
    Always,
    /// Every second.
    EverySecond,
    /// When the system likes.
    Never,
}

/// The certificates of a server that speaks TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Its own.
    pub server: Certificate,
    /// Whom it trusts to name clients.
    pub authority: PathBuf,
    /// Whether clients have to show a certificate.
    pub clients_too: bool,
}

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(super) engine: Engine,
    pub(super) tls: Option<Tls>,
    pub(super) cluster: bool,
    append_only: Option<Fsync>,
    eviction: Option<String>,
    events: String,
    password: Option<String>,
    users: Vec<String>,
    lines: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            engine: Engine::Redis,
            tls: None,
            cluster: false,
            append_only: None,
            eviction: None,
            // Generic commands and expiry, by key.
            events: "Kgx".into(),
            password: None,
            users: Vec::new(),
            lines: Vec::new(),
        }
    }
}

impl Settings {
    /// Is Valkey, and not Redis.
    pub fn valkey(mut self) -> Self {
        self.engine = Engine::Valkey;
        self
    }

    /// Speaks TLS only.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Speaks TLS only, with a certificate of this authority; clients need none.
    pub fn tls_by(self, authority: &Authority) -> Result<Self, Failure> {
        let server = authority.server("redis")?;
        Ok(self.tls(Tls { server, authority: authority.certificate(), clients_too: false }))
    }

    /// Asks everybody for this password; without it the default user needs none.
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// A user with a password and rights, such as `~tenure:* +@all`.
    pub fn user(mut self, name: &str, password: &str, rights: &str) -> Self {
        self.users.push(format!("user {name} on >{password} {rights}"));
        self
    }

    /// Whoever gives no user may do nothing.
    pub fn users_only(mut self) -> Self {
        self.users.push("user default off".into());
        self
    }

    /// Keeps an append-only file; without it a restart forgets everything.
    pub fn append_only(mut self, fsync: Fsync) -> Self {
        self.append_only = Some(fsync);
        self
    }

    /// Which keys go when the memory is full, such as `noeviction` or `allkeys-lru`; the server's default is the former.
    pub fn eviction(mut self, policy: &str) -> Self {
        self.eviction = Some(policy.to_owned());
        self
    }

    /// Which events of keys are published, as `notify-keyspace-events` has it; none with an empty text.
    pub fn events(mut self, classes: &str) -> Self {
        self.events = classes.to_owned();
        self
    }

    /// Any other line of the file of settings.
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// Is a node of a cluster.
    pub(super) fn cluster(mut self) -> Self {
        self.cluster = true;
        self
    }

    /// Starts it.
    pub fn start(self) -> Result<Redis, Failure> {
        Redis::launch(self)
    }

    pub(super) fn file(&self, place: &Place) -> String {
        let port = place.port(0);
        let mut lines = vec![
            "bind 127.0.0.1".to_owned(),
            format!("dir {}", place.data().display()),
            format!("unixsocket {}", socket_of(place.folder()).display()),
            "unixsocketperm 700".to_owned(),
            "save \"\"".to_owned(),
            format!("notify-keyspace-events \"{}\"", self.events),
            format!("user {ADMIN} on >{ADMIN} ~* &* +@all"),
        ];
        match &self.tls {
            None => lines.push(format!("port {port}")),
            Some(Tls { server, authority, clients_too }) => lines.extend([
                "port 0".to_owned(),
                format!("tls-port {port}"),
                format!("tls-cert-file {}", server.certificate.display()),
                format!("tls-key-file {}", server.key.display()),
                format!("tls-ca-cert-file {}", authority.display()),
                format!("tls-auth-clients {}", if *clients_too { "yes" } else { "no" }),
            ]),
        }
        if let Some(fsync) = self.append_only {
            let policy = match fsync {
                Fsync::Always => "always",
                Fsync::EverySecond => "everysec",
                Fsync::Never => "no",
            };
            lines.extend(["appendonly yes".to_owned(), format!("appendfsync {policy}")]);
        }
        if self.cluster {
            lines.extend(["cluster-enabled yes".to_owned(), format!("cluster-port {}", place.port(1))]);
            lines.push("cluster-node-timeout 2000".to_owned());
            if self.tls.is_some() {
                lines.push("tls-cluster yes".to_owned());
            }
        }
        lines.extend(self.eviction.iter().map(|policy| format!("maxmemory-policy {policy}")));
        lines.extend(self.password.iter().map(|password| format!("requirepass {password}")));
        lines.extend(self.users.iter().chain(&self.lines).cloned());
        lines.join("\n") + "\n"
    }
}
