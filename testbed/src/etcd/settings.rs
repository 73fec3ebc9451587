//! How a member of etcd is to be.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Etcd;
use crate::certificates::Certificate;
use crate::tools::{self, Tool};
use crate::{Failure, Place};

/// Which etcd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// The newest line that is tested.
    #[default]
    Current,
    /// The line before it.
    Former,
    /// One that extends leases that it has revoked.
    Flawed,
}

impl Release {
    /// Where it comes from.
    pub fn tool(self) -> &'static Tool {
        match self {
            Release::Current => &tools::ETCD,
            Release::Former => &tools::ETCD_FORMER,
            Release::Flawed => &tools::ETCD_FLAWED,
        }
    }
}

/// Settings of one member; plain unless changed.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub(super) release: Release,
    pub(super) tls: Option<Tls>,
    pub(super) users: Option<Users>,
    pub(super) member: Option<Member>,
    /// Whether what is written is on disk before it is confirmed.
    pub(super) durable: bool,
    pub(super) signed_tokens: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Tls {
    pub(super) server: Certificate,
    pub(super) authority: PathBuf,
    /// Who the administrator is, where clients have to show a certificate.
    pub(super) client: Option<Certificate>,
}

/// One of several.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where it listens for the others, and where they find it.
    pub(super) listen: SocketAddr,
    pub(super) advertise: SocketAddr,
    /// All of them, as `name=url,name=url`.
    pub(super) all: String,
    /// Shared, for all of them have to have a new one at once.
    pub(super) token: Arc<Mutex<String>>,
}

/// Who may do what.
#[derive(Clone, Debug)]
pub(super) struct Users {
    pub(super) root_password: &'static str,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) prefix: String,
}

impl Users {
    pub(super) fn of(user: &str, password: &str, prefix: &str) -> Self {
        let (user, password, prefix) = (user.to_owned(), password.to_owned(), prefix.to_owned());
        Users { root_password: "all-rights", user, password, prefix }
    }
}

/// The id of a cluster comes from this: one that is made anew is another.
pub(super) fn new_token() -> String {
    format!("{:016x}", fastrand::u64(..))
}

impl Settings {
    /// Runs this release.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Speaks TLS with clients, and only that.
    #[must_use]
    pub fn tls(mut self, server: Certificate, authority: PathBuf) -> Self {
        self.tls = Some(Tls { server, authority, client: None });
        self
    }

    /// Wants a certificate of every client too; this one is the administrator's.
    #[must_use]
    pub fn client_certificates(mut self, administrator: Certificate) -> Self {
        if let Some(tls) = &mut self.tls {
            tls.client = Some(administrator);
        }
        self
    }

    /// Waits for the disk at every write, as etcd does unless it is told otherwise. Tests are quicker without.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Gives logins tokens that it signs, with the revision of users and roles in them: whoever has one logs in again when any of those changes.
    #[must_use]
    pub fn signed_tokens(mut self) -> Self {
        self.signed_tokens = true;
        self
    }

    /// Starts it.
    pub fn start(self) -> Result<Etcd, Failure> {
        Etcd::launch(self)
    }

    pub(super) fn is_member(&self) -> bool {
        self.member.is_some()
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    pub(super) fn url_at(&self, addresses: &[SocketAddr]) -> String {
        let scheme = if self.tls.is_some() { "etcds" } else { "etcd" };
        let addresses: Vec<_> = addresses.iter().map(SocketAddr::to_string).collect();
        format!("{scheme}://{}", addresses.join(","))
    }

    pub(super) fn command(&self, place: &Place) -> Result<Command, Failure> {
        let clients = format!("{}://{}", self.scheme(), place.address(0));
        let alone = Member {
            name: "alone".to_owned(),
            listen: place.address(1),
            advertise: place.address(1),
            all: format!("alone=http://{}", place.address(1)),
            token: Arc::new(Mutex::new(token_of(place)?)),
        };
        let member = self.member.as_ref().unwrap_or(&alone);
        let (listen, advertise) = (format!("http://{}", member.listen), format!("http://{}", member.advertise));
        let mut command = Command::new(self.release.tool().find("etcd")?);
        command
            .args(["--name", &member.name, "--logger", "zap", "--log-level", "warn"])
            .arg("--data-dir")
            .arg(place.data().join("etcd"))
            .args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients])
            .args(["--listen-peer-urls", &listen, "--initial-advertise-peer-urls", &advertise])
            .args(["--initial-cluster", &member.all, "--initial-cluster-token", &*lock(&member.token)])
            // Passwords are checked slowly, on purpose; hundreds of clients of a test need not wait for it.
            .args(["--bcrypt-cost", "4"])
            .args(["--listen-metrics-urls", &format!("http://{}", place.address(2))]);
        if !self.durable {
            command.arg("--unsafe-no-fsync");
        }
        if self.signed_tokens {
            let key = place.folder().join("signing-key");
            std::fs::write(&key, new_token())?;
            let token = format!("jwt,sign-method=HS256,ttl=10m,priv-key={}", key.display());
            command.args(["--auth-token", &token]);
        }
        if let Some(tls) = &self.tls {
            command.arg("--cert-file").arg(&tls.server.certificate).arg("--key-file").arg(&tls.server.key);
            if tls.client.is_some() {
                command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(&tls.authority);
            }
        }
        Ok(command)
    }
}

pub(super) fn lock(token: &Mutex<String>) -> MutexGuard<'_, String> {
    token.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The token of a member that is alone; it changes when its data is gone.
fn token_of(place: &Place) -> Result<String, Failure> {
    let file = place.folder().join("token");
    if !place.data().join("etcd").exists() {
        std::fs::write(&file, new_token())?;
    }
    Ok(std::fs::read_to_string(file)?)
}
