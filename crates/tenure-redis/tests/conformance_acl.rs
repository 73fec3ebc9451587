//! The conformance suite as a user with no more rights than the page on Redis grants, where nobody else has any.

mod stores;

use stores::{CANDIDATE, OPERATOR, One, Setup};
use tenure::conformance::Suite;
use tenure_redis::{RedisBuilder, Secret};
use testbed::Failure;
use testbed::conformance::Proxied;
use testbed::redis::{Fsync, Redis, missing};

fn main() {
    Suite::new("redis with few rights", Proxied::<One<Restricted>>::each())
        .needs("a Redis server", missing().is_none())
        .threads(8)
        .main()
}

struct Restricted;

impl Setup for Restricted {
    fn start() -> Result<(Redis, Self), Failure> {
        let rights = format!("{CANDIDATE} {OPERATOR}");
        let settings = Redis::with().append_only(Fsync::Always).user("ada", "s3cret", &rights).users_only();
        Ok((settings.start()?, Restricted))
    }

    fn enter(&self, builder: RedisBuilder) -> RedisBuilder {
        builder.username("ada").password(Secret::text("s3cret"))
    }
}
