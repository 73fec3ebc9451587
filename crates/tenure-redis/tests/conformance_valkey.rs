//! The conformance suite on Valkey.

mod stores;

use stores::{One, Setup};
use tenure::conformance::Suite;
use testbed::conformance::Proxied;
use testbed::redis::{Fsync, Redis};
use testbed::{Failure, tools};

fn main() {
    Suite::new("valkey", Proxied::<One<Valkey>>::each())
        .needs("a Valkey server", tools::VALKEY.missing().is_none())
        .threads(8)
        .main()
}

struct Valkey;

impl Setup for Valkey {
    fn start() -> Result<(Redis, Self), Failure> {
        Ok((Redis::with().valkey().append_only(Fsync::Always).start()?, Valkey))
    }
}
