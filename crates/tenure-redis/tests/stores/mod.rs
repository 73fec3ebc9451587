//! What the conformance targets share: a Redis server, and what others do to it by hand.
#![allow(dead_code, reason = "not every target needs all of it")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::{Backend, Seat};
use tenure_redis::{RedisBackend, RedisBuilder};
use testbed::Failure;
use testbed::conformance::Store;
use testbed::redis::Redis;

/// The rights of a candidate, as the page on Redis grants them.
pub(crate) const CANDIDATE: &str = "~tenure:* ~{tenure:*}:token resetchannels &tenure:* &__keyspace@*__:tenure:* \
                                    +eval +evalsha +get +set +del +pttl +time +publish +subscribe +unsubscribe";

/// What an operator has beside them: to list elections, and to see what the server promises.
pub(crate) const OPERATOR: &str = "+scan +info +config|get";

/// How one server is set up, and how clients get in.
pub(crate) trait Setup: Send + Sized + 'static {
    fn start() -> Result<(Redis, Self), Failure>;

    fn enter(&self, builder: RedisBuilder) -> RedisBuilder {
        builder
    }
}

/// One server, with a set-up.
pub(crate) struct One<S>(Redis, S);

impl<S: Setup> Store for One<S> {
    fn start() -> Result<Self, Failure> {
        S::start().map(|(redis, setup)| One(redis, setup))
    }

    fn servers(&self) -> Vec<SocketAddr> {
        vec![self.0.address()]
    }

    fn client(&self, servers: &[SocketAddr]) -> Arc<dyn Backend> {
        client(&self.0.url_at(servers[0]), |builder| self.1.enter(builder))
    }

    fn restart(&mut self) -> Result<(), Failure> {
        self.0.restart()
    }

    fn wipe(&mut self) -> Result<(), Failure> {
        self.0.kill();
        self.0.wipe()?;
        self.0.restart()
    }

    fn remove(&self, seat: &Seat) -> Result<(), Failure> {
        remove(&self.0, seat)
    }

    fn overwrite(&self, seat: &Seat, lease: Duration) -> Result<(), Failure> {
        lock_as_a_foreign_program(&self.0, seat, lease)
    }
}

/// The key of an election's record.
pub(crate) fn key(seat: &Seat) -> String {
    format!("tenure:{seat}")
}

pub(crate) fn client(url: &str, more: impl FnOnce(RedisBuilder) -> RedisBuilder) -> Arc<dyn Backend> {
    let builder = RedisBackend::builder(url).expect("the testbed's own address");
    Arc::new(more(builder).build().expect("it is a sound one"))
}

/// Leads a client to servers by the ways that go there.
pub(crate) fn reached(
    builder: RedisBuilder,
    servers: impl Iterator<Item = SocketAddr>,
    ways: &[SocketAddr],
) -> RedisBuilder {
    servers.zip(ways).fold(builder, |builder, (server, way)| {
        builder.reach(&server.to_string(), &way.to_string()).expect("both are addresses")
    })
}

/// Looks again and again.
pub(crate) fn eventually(within: Duration, what: &str, mut look: impl FnMut() -> bool) -> Result<(), Failure> {
    let start = Instant::now();
    while !look() {
        if start.elapsed() > within {
            return Err(Failure::new(format!("not within {within:?}: {what}")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

pub(crate) fn remove(server: &Redis, seat: &Seat) -> Result<(), Failure> {
    server.ask(&["DEL", &key(seat)]).map(drop)
}

pub(crate) fn lock_as_a_foreign_program(server: &Redis, seat: &Seat, lease: Duration) -> Result<(), Failure> {
    server.ask(&["SET", &key(seat), "a foreign program", "PX", &lease.as_millis().to_string()]).map(drop)
}
