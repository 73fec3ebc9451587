//! The conformance suite over TLS, with certificates on both sides. SEEDS 58.

mod stores;

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use stores::{Operated, one_server};
use tenure::conformance::Suite;
use tenure::{Backend, Seat};
use testbed::Failure;
use testbed::certificates::{Authority, Certificate};
use testbed::conformance::{Proxied, Store};
use testbed::etcd::{Etcd, missing};

fn main() {
    Suite::new("etcd-tls", Proxied::<Secured>::each()).needs("an etcd server", missing().is_none()).threads(8).main()
}

struct Secured(Guarded);

struct Guarded {
    server: Etcd,
    authority: Authority,
    client: Certificate,
}

impl Deref for Guarded {
    type Target = Etcd;

    fn deref(&self) -> &Etcd {
        &self.server
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut Etcd {
        &mut self.server
    }
}

impl Store for Secured {
    fn start() -> Result<Self, Failure> {
        let authority = Authority::new()?;
        let (server, client, root) =
            (authority.server("server")?, authority.client("candidate")?, authority.client("root")?);
        let settings = Etcd::with().tls(server, authority.certificate()).client_certificates(root);
        Ok(Secured(Guarded { server: settings.start()?, authority, client }))
    }

    one_server!();

    fn client(&self, servers: &[SocketAddr]) -> Arc<dyn Backend> {
        let Guarded { server, authority, client } = &self.0;
        let (url, ca) = (stores::below(server.url_at(servers)), authority.certificate());
        let (cert, key) = (client.certificate.display(), client.key.display());
        stores::client(&format!("{url}?ca={}&cert={cert}&key={key}", ca.display()))
    }
}
