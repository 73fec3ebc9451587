//! The conformance suite on a server that tells nothing of its keys.

mod stores;

use stores::{One, Setup};
use tenure::conformance::Suite;
use testbed::Failure;
use testbed::conformance::Proxied;
use testbed::redis::{Fsync, Redis, missing};

fn main() {
    Suite::new("redis without events", Proxied::<One<Silent>>::each())
        .needs("a Redis server", missing().is_none())
        .threads(8)
        .main()
}

struct Silent;

impl Setup for Silent {
    fn start() -> Result<(Redis, Self), Failure> {
        Ok((Redis::with().append_only(Fsync::Always).events("").start()?, Silent))
    }
}
