//! etcd: one member, or three that replicate.

mod cluster;
mod ctl;
mod elect;
mod peers;
mod settings;

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::process::Command;

pub use cluster::Cluster;
pub use elect::Elect;
use settings::Users;
pub use settings::{Release, Settings};

use crate::tools::Missing;
use crate::{Backup, Failure, Place, Program, Server};

/// What is not installed of it; nothing when tests can use it.
pub fn missing() -> Option<Missing> {
    Release::Current.tool().missing()
}

/// One member of etcd. What every [`Server`] can, it can.
#[derive(Debug)]
pub struct Etcd {
    server: Server,
    settings: Settings,
}

impl Etcd {
    /// One without TLS and users.
    pub fn start() -> Result<Self, Failure> {
        Settings::default().start()
    }

    /// One with other settings: `Etcd::with().release(Release::Former).start()`.
    pub fn with() -> Settings {
        Settings::default()
    }

    /// One that has moved on by fifty revisions since the copy that comes with it.
    pub fn with_a_past() -> Result<(Self, Backup), Failure> {
        let mut etcd = Etcd::with().durable().start()?;
        etcd.ctl(&["put", "noise", "0"])?;
        etcd.stop()?;
        let past = etcd.save()?;
        etcd.restart()?;
        for number in 0..50 {
            etcd.ctl(&["put", "noise", &number.to_string()])?;
        }
        Ok((etcd, past))
    }

    fn launch(settings: Settings) -> Result<Self, Failure> {
        let server = Server::start(Process(settings.clone()))?;
        Ok(Etcd { server, settings })
    }

    /// What a client is told to reach it, without user and password: `etcd://127.0.0.1:2379` or `etcds://…`.
    pub fn url(&self) -> String {
        self.url_at(&[self.address()])
    }

    /// The same, at the addresses of proxies. The certificate is for all of loopback.
    pub fn url_at(&self, addresses: &[SocketAddr]) -> String {
        self.settings.url_at(addresses)
    }

    /// Runs `etcdctl` on it, with all rights; what it prints.
    pub fn ctl(&self, words: &[&str]) -> Result<String, Failure> {
        ctl::run(&self.settings, &[self.address()], words)
    }

    /// Switches users on: `root`, and this one with this password, which may read and write below the prefix and do nothing else.
    pub fn admit_only(&mut self, user: &str, password: &str, prefix: &str) -> Result<(), Failure> {
        let addresses = [self.server.address()];
        ctl::admit(&mut self.settings, &addresses, Users::of(user, password, prefix))
    }

    /// Takes the user's rights away.
    pub fn revoke(&self) -> Result<(), Failure> {
        ctl::revoke(&self.settings, &[self.address()])
    }

    /// Gives the user its rights back.
    pub fn reinstate(&self) -> Result<(), Failure> {
        ctl::reinstate(&self.settings, &[self.address()])
    }

    /// Loses everything, and starts anew as another cluster, with the same user.
    pub fn renew(&mut self) -> Result<(), Failure> {
        self.server.kill();
        self.server.wipe()?;
        self.server.restart()?;
        let addresses = [self.server.address()];
        self.settings.users.take().map_or(Ok(()), |users| ctl::admit(&mut self.settings, &addresses, users))
    }
}

impl Deref for Etcd {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl DerefMut for Etcd {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}

/// How one is started. Its ports: for clients, for other members, for health and metrics.
#[derive(Debug)]
struct Process(Settings);

impl Program for Process {
    fn name(&self) -> &str {
        "etcd"
    }

    fn ports(&self) -> usize {
        3
    }

    fn command(&self, place: &Place) -> Result<Command, Failure> {
        self.0.command(place)
    }

    fn is_ready(&self, place: &Place) -> bool {
        match ctl::health(place.address(2)) {
            // One of several answers before they have found each other.
            Some(healthy) => healthy || self.0.is_member(),
            None => false,
        }
    }
}
