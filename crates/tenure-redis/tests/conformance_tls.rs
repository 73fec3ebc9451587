//! The conformance suite over TLS, with certificates on both sides.

mod stores;

use stores::{One, Setup};
use tenure::conformance::Suite;
use tenure_redis::RedisBuilder;
use testbed::Failure;
use testbed::certificates::{Authority, Certificate};
use testbed::conformance::Proxied;
use testbed::redis::{Fsync, Redis, Tls, missing};

fn main() {
    Suite::new("redis over TLS", Proxied::<One<Encrypted>>::each())
        .needs("a Redis server", missing().is_none())
        .threads(8)
        .main()
}

struct Encrypted {
    authority: Authority,
    candidate: Certificate,
}

impl Setup for Encrypted {
    fn start() -> Result<(Redis, Self), Failure> {
        let authority = Authority::new()?;
        let tls = Tls { server: authority.server("redis")?, authority: authority.certificate(), clients_too: true };
        let candidate = authority.client("candidate")?;
        let redis = Redis::with().tls(tls).append_only(Fsync::Always).start()?;
        Ok((redis, Encrypted { authority, candidate }))
    }

    fn enter(&self, builder: RedisBuilder) -> RedisBuilder {
        builder
            .authorities(self.authority.certificate())
            .client_certificate(&self.candidate.certificate, &self.candidate.key)
    }
}
