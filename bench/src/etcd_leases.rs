//! How many leases etcd revokes although they were extended, when a leading member that was cut off comes back. tenure has no part in it: etcd's own
//! client extends them, through the members that stayed together.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use testbed::etcd::{Cluster, Etcd};
use testbed::tools;

use crate::Failure;

/// Leases a round.
const LEASES: usize = 8;
/// Longer than the others take to find a leader, shorter than a revocation waits to be passed on.
const PARTITION: Duration = Duration::from_millis(5500);
/// In this time a member that came back has passed on what it held.
const TO_REJOIN: Duration = Duration::from_millis(600);

pub(crate) fn run(rounds: usize, ttl: u64) -> Result<(), Failure> {
    println!(
        "Leases of {ttl} s that etcd's own client extends while the leading member of three is cut off for {PARTITION:?}\n"
    );
    let cluster = Cluster::start(Etcd::with())?;
    let (mut lived, mut revoked) = (0, 0);
    for _ in 0..rounds {
        let leader = cluster.leader()?;
        let others =
            (0..Cluster::SIZE).filter(|number| *number != leader).map(|number| cluster.member(number).address());
        let client = Client { endpoints: others.map(|address| address.to_string()).collect::<Vec<_>>().join(",") };
        let kept = (0..LEASES).map(|_| client.keep(ttl)).collect::<Result<Vec<_>, _>>()?;
        std::thread::sleep(Duration::from_secs(1));
        cluster.cut_off(leader);
        std::thread::sleep(PARTITION);
        let before = client.alive(kept.iter())?;
        cluster.rejoin();
        std::thread::sleep(TO_REJOIN);
        let after = client.alive(before.iter().copied())?.len();
        (lived, revoked) = (lived + before.len(), revoked + before.len() - after);
        cluster.settled()?;
    }
    println!("  {lived} of {} lived until it came back; it revoked {revoked} of them", rounds * LEASES);
    Ok(())
}

/// etcd's own client, on the members that stay together.
struct Client {
    endpoints: String,
}

/// A lease that is extended for as long as this lives.
struct Kept {
    id: String,
    extending: Child,
}

impl Client {
    fn command(&self) -> Result<Command, Failure> {
        let mut command = Command::new(tools::ETCD.find("etcdctl")?);
        command.args(["--endpoints", &self.endpoints, "lease"]);
        Ok(command)
    }

    fn said(&self, words: &[&str]) -> Result<String, Failure> {
        Ok(String::from_utf8(self.command()?.args(words).output()?.stdout)?)
    }

    fn keep(&self, ttl: u64) -> Result<Kept, Failure> {
        let granted = self.said(&["grant", &ttl.to_string()])?;
        let id = granted.split_whitespace().nth(1).ok_or("etcd grants a lease")?.to_owned();
        let extending =
            self.command()?.args(["keep-alive", &id]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Kept { id, extending })
    }

    fn alive<'a>(&self, leases: impl Iterator<Item = &'a Kept>) -> Result<Vec<&'a Kept>, Failure> {
        let mut alive = Vec::new();
        for lease in leases {
            if !self.said(&["timetolive", &lease.id])?.contains("already expired") {
                alive.push(lease);
            }
        }
        Ok(alive)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.extending.kill();
        let _ = self.extending.wait();
    }
}
