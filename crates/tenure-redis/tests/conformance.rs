//! The conformance suite on one server.

mod stores;

use stores::{One, Setup};
use tenure::conformance::Suite;
use testbed::Failure;
use testbed::conformance::Proxied;
use testbed::redis::{Fsync, Redis, missing};

fn main() {
    Suite::new("redis", Proxied::<One<Plain>>::each()).needs("a Redis server", missing().is_none()).threads(8).main()
}

struct Plain;

impl Setup for Plain {
    fn start() -> Result<(Redis, Self), Failure> {
        Ok((Redis::with().append_only(Fsync::Always).start()?, Plain))
    }
}
