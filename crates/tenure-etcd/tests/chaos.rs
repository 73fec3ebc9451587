//! etcd in chaos: candidates in processes of their own, whatever goes wrong with them, their network and the members.
//!
//! A slice of it runs with the other tests. Twenty minutes from a seed of one's own:
//! `cargo test -p tenure-etcd --test chaos -- --nocapture --minutes 20 --seed 7`
//!
//! With `TENURE_CHAOS_LEASE=8` leases are of 8 s: longer than any fault of a leading member, so that none of these excuses anything.

mod stores;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chaos::{Breaks, Chaos, Fault, OFFICE, Request, Servers, Subject};
use stores::{Operated, PREFIX};
use tenure::{Backend, Error, Seat};
use tenure_etcd::{EtcdBackend, Secret};
use testbed::Failure;
use testbed::etcd::{Cluster, Etcd, missing};
use testbed::tools::Missing;

fn main() {
    Chaos::new().subject(&Three).main()
}

const USER: &str = "ada";
const PASSWORD: &str = "s3cret";

const MEMBER_KILLED: &str = "member killed";
const LEADER_KILLED: &str = "leading member killed";
const LEADER_FROZEN: &str = "leading member frozen";
const LEADER_CUT_OFF: &str = "leading member cut off from the others";
const ALL_RESTARTED: &str = "all members killed and restarted";
const LEASE_REVOKED: &str = "lease revoked";
const KEY_DELETED: &str = "key deleted";
const COMPACTED: &str = "history compacted";
const RIGHTS_REVOKED: &str = "rights revoked";

/// Of such a lease more is left, when it was last extended, than a leading member is ever away.
const OUTLIVES_A_LEADER: Duration = Duration::from_secs(8);

/// Three members with users on.
struct Three;

impl Subject for Three {
    fn name(&self) -> &'static str {
        "etcd"
    }

    fn missing(&self) -> Option<Missing> {
        missing()
    }

    fn start(&self) -> Result<Box<dyn Servers>, Failure> {
        let mut cluster = Cluster::start(Etcd::with())?;
        cluster.admit_only(USER, PASSWORD, PREFIX)?;
        Ok(Box::new(Members { cluster, struck: None }))
    }

    fn backend(&self, place: &str) -> Result<Arc<dyn Backend>, Error> {
        let builder = EtcdBackend::builder(place.split(',')).prefix(PREFIX).user(USER, Secret::text(PASSWORD));
        Ok(Arc::new(builder.build()?))
    }

    fn lease(&self) -> Duration {
        let asked = std::env::var("TENURE_CHAOS_LEASE").ok();
        asked.map_or(stores::LEASE, |seconds| Duration::from_secs(seconds.parse().expect("it is a number of seconds")))
    }

    /// New leaders of etcd give every lease its full time again.
    fn stretch(&self) -> Duration {
        Duration::from_secs(30)
    }
}

struct Members {
    cluster: Cluster,
    /// Which of them the present fault is about.
    struck: Option<usize>,
}

impl Members {
    fn revision(&self) -> Result<u64, Failure> {
        let status = self.cluster.ctl(&["get", "nothing", "-w", "fields"])?;
        let revision = status.lines().find_map(|line| line.strip_prefix("\"Revision\" : "));
        revision.and_then(|number| number.parse().ok()).ok_or_else(|| Failure::new("etcd told no revision"))
    }

    /// The one that leads the others; without an answer, the first.
    fn leader(&self) -> usize {
        self.cluster.leader().unwrap_or_default()
    }
}

fn fault(name: &'static str, breaks: Breaks, from: u64, to: u64) -> Fault {
    Fault { name, breaks, lasts: Duration::from_millis(from)..Duration::from_millis(to) }
}

fn seat() -> Seat {
    Seat::new(OFFICE).expect("a name")
}

impl Servers for Members {
    fn addresses(&self) -> Vec<SocketAddr> {
        self.cluster.addresses()
    }

    fn place(&self, through: &[SocketAddr]) -> String {
        through.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",")
    }

    /// A bid has its record in it, and a withdrawal deletes a key of sixteen digits. A keepalive is a number and nothing else.
    fn marks(&self) -> Vec<(Request, Vec<u8>)> {
        let queue = format!("{PREFIX}{OFFICE}/");
        let key = (queue.len() + 16) as u8;
        let deletion = [&[0x1a, key + 2, 0x0a, key], queue.as_bytes()].concat();
        vec![(Request::Stand, b"\"tenure\":1".to_vec()), (Request::Withdraw, deletion)]
    }

    fn faults(&self) -> Vec<Fault> {
        // A leader that comes back may revoke leases that were over by what it knew before, although they were extended since: to whoever held one
        // that is as if an operator had done it.
        let outlived = Three.lease() >= OUTLIVES_A_LEADER;
        let comes_back = if outlived { Breaks::Nothing } else { Breaks::Record };
        vec![
            fault(MEMBER_KILLED, Breaks::Nothing, 200, 4000),
            fault(LEADER_KILLED, Breaks::Nothing, 200, 4000),
            fault(LEADER_FROZEN, comes_back, 500, 5000),
            fault(LEADER_CUT_OFF, comes_back, 1000, 6000),
            fault(ALL_RESTARTED, Breaks::Nothing, 50, 1500),
            fault(LEASE_REVOKED, Breaks::Record, 1, 10),
            fault(KEY_DELETED, Breaks::Record, 1, 10),
            fault(COMPACTED, Breaks::Nothing, 1, 10),
            fault(RIGHTS_REVOKED, Breaks::Nothing, 300, 3000),
        ]
    }

    fn strike(&mut self, fault: &str, random: u64) -> Result<(), Failure> {
        let struck = match fault {
            MEMBER_KILLED => random as usize % Cluster::SIZE,
            LEADER_KILLED | LEADER_FROZEN | LEADER_CUT_OFF => self.leader(),
            _ => 0,
        };
        self.struck = Some(struck);
        match fault {
            MEMBER_KILLED | LEADER_KILLED => self.cluster.member_mut(struck).kill(),
            LEADER_FROZEN => self.cluster.member(struck).freeze()?,
            LEADER_CUT_OFF => self.cluster.cut_off(struck),
            ALL_RESTARTED => (0..Cluster::SIZE).for_each(|number| self.cluster.member_mut(number).kill()),
            // Where nobody leads just now there is nothing to take away.
            LEASE_REVOKED => {
                if let Some(lease) = self.cluster.leading_key(&seat())?.rsplit('/').next().filter(|id| !id.is_empty()) {
                    let _ = self.cluster.ctl(&["lease", "revoke", lease]);
                }
            }
            KEY_DELETED => self.cluster.remove_leader(&seat())?,
            COMPACTED => {
                let revision = self.revision()?.to_string();
                let _ = self.cluster.ctl(&["compact", &revision]);
            }
            _ => self.cluster.revoke()?,
        }
        Ok(())
    }

    fn heal(&mut self, fault: &str) -> Result<(), Failure> {
        let struck = self.struck.take().unwrap_or_default();
        match fault {
            MEMBER_KILLED | LEADER_KILLED => self.cluster.member_mut(struck).restart()?,
            LEADER_FROZEN => self.cluster.member(struck).thaw()?,
            LEADER_CUT_OFF => self.cluster.rejoin(),
            ALL_RESTARTED => self.cluster.restart()?,
            RIGHTS_REVOKED => return self.cluster.reinstate(),
            _ => return Ok(()),
        }
        self.cluster.settled()
    }
}
