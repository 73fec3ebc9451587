//! Redis in chaos: candidates in processes of their own, whatever goes wrong with them, their network and the servers.
//!
//! A slice of it runs with the other tests. Twenty minutes from a seed of one's own:
//! `cargo test -p tenure-redis --test chaos -- --nocapture --minutes 20 --seed 7 redis_keeps`

mod stores;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chaos::{Breaks, Chaos, Fault, OFFICE, Request, Servers, Subject};
use redis::Script;
use stores::{CANDIDATE, OPERATOR, lock_as_a_foreign_program, remove};
use tenure::{Backend, Error, Seat};
use tenure_redis::{RedisBackend, Secret};
use testbed::Failure;
use testbed::redis::{Fsync, Redis, Sentinels, missing};
use testbed::tools::Missing;

fn main() {
    Chaos::new().subject(&Alone { name: "redis" }).subject(&Alone { name: FORGETFUL }).subject(&Watched).main()
}

/// The name of a server without an append-only file.
const FORGETFUL: &str = "redis-without-a-file";

const USER: &str = "ada";
const PASSWORD: &str = "s3cret";

/// For how long a foreign program takes the office.
const FOREIGN: Duration = Duration::from_millis(700);

const FROZEN: &str = "server frozen";
const RESTARTED: &str = "server killed and restarted";
const WIPED: &str = "server killed and its data lost";
const DELETED: &str = "key deleted";
const OVERWRITTEN: &str = "key overwritten";
const REVOKED: &str = "rights revoked";
const FAILOVER: &str = "failover by the sentinels";
const MASTER_LOST: &str = "master killed";
const MASTER_FROZEN: &str = "master frozen";

fn fault(name: &'static str, breaks: Breaks, from: u64, to: u64) -> Fault {
    Fault { name, breaks, lasts: Duration::from_millis(from)..Duration::from_millis(to) }
}

fn seat() -> Seat {
    Seat::new(OFFICE).expect("a name")
}

/// Requests are known by the digests of their scripts.
fn marks() -> Vec<(Request, Vec<u8>)> {
    let digest = |script: &str| {
        let source = format!("{}\n{script}", include_str!("../src/scripts/common.lua"));
        Script::new(&source).get_hash().as_bytes().to_vec()
    };
    vec![
        (Request::Stand, digest(include_str!("../src/scripts/stand.lua"))),
        (Request::Renew, digest(include_str!("../src/scripts/renew.lua"))),
        (Request::Withdraw, digest(include_str!("../src/scripts/withdraw.lua"))),
    ]
}

/// What a candidate is told: a URL, and by which ways it reaches what the servers announce (`announced=way …`).
fn backend(place: &str) -> Result<Arc<dyn Backend>, Error> {
    let (url, ways) = place.split_once(' ').unwrap_or((place, ""));
    let mut builder = RedisBackend::builder(url)?.username(USER).password(Secret::text(PASSWORD));
    for way in ways.split_whitespace() {
        let (announced, at) = way.split_once('=').expect("a way is announced=at");
        builder = builder.reach(announced, at)?;
    }
    Ok(Arc::new(builder.build()?))
}

/// One server.
struct Alone {
    name: &'static str,
}

impl Subject for Alone {
    fn name(&self) -> &'static str {
        self.name
    }

    fn missing(&self) -> Option<Missing> {
        missing()
    }

    fn start(&self) -> Result<Box<dyn Servers>, Failure> {
        let settings = Redis::with().user(USER, PASSWORD, &format!("{CANDIDATE} {OPERATOR}")).users_only();
        let remembers = self.name != FORGETFUL;
        let settings = if remembers { settings.append_only(Fsync::Always) } else { settings };
        Ok(Box::new(One { redis: settings.start()?, remembers }))
    }

    fn backend(&self, place: &str) -> Result<Arc<dyn Backend>, Error> {
        backend(place)
    }
}

struct One {
    redis: Redis,
    remembers: bool,
}

impl Servers for One {
    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.redis.address()]
    }

    fn place(&self, through: &[SocketAddr]) -> String {
        self.redis.url_at(through[0])
    }

    fn marks(&self) -> Vec<(Request, Vec<u8>)> {
        marks()
    }

    fn faults(&self) -> Vec<Fault> {
        let kept = if self.remembers { Breaks::Nothing } else { Breaks::Record };
        vec![
            fault(FROZEN, Breaks::Nothing, 300, 3000),
            fault(RESTARTED, kept, 50, 1500),
            fault(WIPED, Breaks::Record, 50, 1500),
            fault(DELETED, Breaks::Record, 1, 10),
            fault(OVERWRITTEN, Breaks::Record, 800, 900),
            fault(REVOKED, Breaks::Nothing, 300, 3000),
        ]
    }

    fn strike(&mut self, fault: &str, _: u64) -> Result<(), Failure> {
        match fault {
            FROZEN => self.redis.freeze()?,
            RESTARTED => self.redis.kill(),
            WIPED => {
                self.redis.kill();
                self.redis.wipe()?;
            }
            DELETED => remove(&self.redis, &seat())?,
            OVERWRITTEN => lock_as_a_foreign_program(&self.redis, &seat(), FOREIGN)?,
            _ => self.redis.revoke(USER)?,
        }
        Ok(())
    }

    fn heal(&mut self, fault: &str) -> Result<(), Failure> {
        match fault {
            FROZEN => self.redis.thaw(),
            RESTARTED | WIPED => self.redis.restart(),
            REVOKED => self.redis.reinstate(USER),
            _ => Ok(()),
        }
    }
}

/// A master with two replicas, and sentinels that choose another. What was not replicated is lost then.
struct Watched;

impl Subject for Watched {
    fn name(&self) -> &'static str {
        "redis-with-sentinels"
    }

    fn missing(&self) -> Option<Missing> {
        missing()
    }

    fn start(&self) -> Result<Box<dyn Servers>, Failure> {
        let rights = format!("{CANDIDATE} {OPERATOR} +role");
        let settings = Redis::with().append_only(Fsync::Always).user(USER, PASSWORD, &rights);
        Ok(Box::new(Group { group: Sentinels::with(2, settings)?, struck: 0 }))
    }

    fn backend(&self, place: &str) -> Result<Arc<dyn Backend>, Error> {
        backend(place)
    }

    fn stretch(&self) -> Duration {
        Duration::from_secs(30)
    }
}

struct Group {
    group: Sentinels,
    /// The master that was struck.
    struck: usize,
}

impl Group {
    fn announced(&self) -> impl Iterator<Item = SocketAddr> {
        self.group.servers.iter().map(|server| server.address())
    }
}

impl Servers for Group {
    fn addresses(&self) -> Vec<SocketAddr> {
        self.group.addresses().into_iter().chain(self.announced()).collect()
    }

    fn place(&self, through: &[SocketAddr]) -> String {
        let (sentinels, behind) = through.split_at(self.group.sentinels.len());
        let sentinels: Vec<_> = sentinels.iter().map(SocketAddr::to_string).collect();
        let ways: Vec<_> = self.announced().zip(behind).map(|(announced, at)| format!("{announced}={at}")).collect();
        format!("redis+sentinel://{}/{} {}", sentinels.join(","), self.group.name(), ways.join(" "))
    }

    fn marks(&self) -> Vec<(Request, Vec<u8>)> {
        marks()
    }

    fn faults(&self) -> Vec<Fault> {
        vec![
            fault(FAILOVER, Breaks::Past, 100, 500),
            fault(MASTER_LOST, Breaks::Past, 3000, 5000),
            fault(MASTER_FROZEN, Breaks::Past, 3000, 5000),
            fault(DELETED, Breaks::Record, 1, 10),
        ]
    }

    fn strike(&mut self, fault: &str, _: u64) -> Result<(), Failure> {
        match fault {
            FAILOVER => self.group.failover().map(drop),
            DELETED => remove(&self.group.servers[self.group.master()?], &seat()),
            MASTER_FROZEN => {
                self.struck = self.group.master()?;
                self.group.servers[self.struck].freeze()
            }
            _ => {
                self.struck = self.group.master()?;
                self.group.servers[self.struck].kill();
                Ok(())
            }
        }
    }

    fn heal(&mut self, fault: &str) -> Result<(), Failure> {
        match fault {
            // It goes on as the master that it was, beside the new one.
            MASTER_FROZEN => self.group.servers[self.struck].thaw(),
            MASTER_LOST => {
                self.group.await_another(self.struck)?;
                self.group.servers[self.struck].restart()
            }
            _ => Ok(()),
        }
    }

    /// Until then there may be two masters.
    fn is_healed(&mut self, _: &str) -> Result<bool, Failure> {
        Ok(self.group.is_settled())
    }
}
