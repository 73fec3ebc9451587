//! Three members that replicate.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::peers::Peers;
use super::settings::{Member, Users, lock, new_token};
use super::{Etcd, Settings, ctl};
use crate::Failure;
use crate::server::eventually;

/// Three members; two of them are a majority.
#[derive(Debug)]
pub struct Cluster {
    members: Vec<Etcd>,
    settings: Settings,
    token: Arc<Mutex<String>>,
    peers: Peers,
}

impl Cluster {
    /// How many there are.
    pub const SIZE: usize = 3;
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Starts them, and returns when they have a leader.
    pub fn start(settings: Settings) -> Result<Self, Failure> {
        // Unique, so that a member's command line is known by it.
        let run = fastrand::u64(..);
        let named = |number: usize| format!("member-{number}-of-{run:016x}");
        let peers = Peers::of(Self::SIZE, named)?;
        let url = |number: usize| format!("{}=http://{}", named(number), peers.door(number).address());
        let all = (0..Self::SIZE).map(url).collect::<Vec<_>>().join(",");
        let token = Arc::new(Mutex::new(new_token()));
        let members = (0..Self::SIZE).map(|number| {
            let (listen, advertise) = (peers.room(number).address(), peers.door(number).address());
            let member = Member { name: named(number), listen, advertise, all: all.clone(), token: token.clone() };
            Settings { member: Some(member), ..settings.clone() }.start()
        });
        let members = members.collect::<Result<_, _>>()?;
        let cluster = Cluster { members, settings, token, peers };
        cluster.settled()?;
        Ok(cluster)
    }

    /// Returns when every member that runs is well.
    pub fn settled(&self) -> Result<(), Failure> {
        let well = |member: &Etcd| !member.is_running() || ctl::health(member.place().address(2)) == Some(true);
        eventually(Self::PATIENCE, || self.members.iter().all(well))
            .ok_or_else(|| Failure::new("the members of etcd did not agree on a leader"))
    }

    /// The one that leads the others, by its number.
    pub fn leader(&self) -> Result<usize, Failure> {
        let leads = |member: &Etcd| {
            // Status tells each member's id and that of the leader; they are alike where it leads.
            let status = ctl::run(&self.settings, &[member.address()], &["endpoint", "status", "-w", "fields"]).ok()?;
            let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            (field("\"MemberID\" : ")? == field("\"Leader\" : ")?).then_some(())
        };
        let mut found = None;
        eventually(Self::PATIENCE, || {
            let running = self.members.iter().enumerate().filter(|(_, member)| member.is_running());
            found = running.filter(|(_, member)| leads(member).is_some()).map(|(number, _)| number).next();
            found.is_some()
        });
        found.ok_or_else(|| Failure::new("no member of etcd leads"))
    }

    /// One of them.
    pub fn member(&self, number: usize) -> &Etcd {
        &self.members[number]
    }

    /// One of them, to kill or start it.
    pub fn member_mut(&mut self, number: usize) -> &mut Etcd {
        &mut self.members[number]
    }

    /// Where clients connect to.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.members.iter().map(|member| member.address()).collect()
    }

    /// What a client is told to reach them, at these addresses.
    pub fn url_at(&self, addresses: &[SocketAddr]) -> String {
        self.settings.url_at(addresses)
    }

    /// What a client is told to reach them.
    pub fn url(&self) -> String {
        self.url_at(&self.addresses())
    }

    /// Runs `etcdctl` on all of them, with all rights; what it prints.
    pub fn ctl(&self, words: &[&str]) -> Result<String, Failure> {
        ctl::run(&self.settings, &self.addresses(), words)
    }

    /// Switches users on, as [`Etcd::admit_only`] does.
    pub fn admit_only(&mut self, user: &str, password: &str, prefix: &str) -> Result<(), Failure> {
        let addresses = self.addresses();
        ctl::admit(&mut self.settings, &addresses, Users::of(user, password, prefix))
    }

    /// Takes the user's rights away.
    pub fn revoke(&self) -> Result<(), Failure> {
        ctl::revoke(&self.settings, &self.addresses())
    }

    /// Gives the user its rights back.
    pub fn reinstate(&self) -> Result<(), Failure> {
        ctl::reinstate(&self.settings, &self.addresses())
    }

    /// Cuts one off from the others; clients still reach it.
    pub fn cut_off(&self, number: usize) {
        self.peers.cut_off(number);
    }

    /// Lets everybody reach everybody again.
    pub fn rejoin(&self) {
        self.peers.rejoin();
    }

    /// Kills all of them and starts them again on what they have.
    pub fn restart(&mut self) -> Result<(), Failure> {
        self.members.iter_mut().for_each(|member| member.kill());
        self.members.iter_mut().try_for_each(|member| member.restart())?;
        self.settled()
    }

    /// Loses everything, and starts anew as another cluster.
    pub fn renew(&mut self) -> Result<(), Failure> {
        self.members.iter_mut().for_each(|member| member.kill());
        self.members.iter_mut().try_for_each(|member| member.wipe())?;
        *lock(&self.token) = new_token();
        self.restart()
    }
}
