//! Three candidates on etcd: one leads, resigns, and the next in the queue leads.
//!
//! `cargo xtask servers up etcd` starts an etcd and prints its address;
//! `ETCD_URL=etcd://127.0.0.1:PORT/example cargo run --example etcd` runs this on it. While it runs, `etcdctl elect example/nightly me` joins
//! in.

use std::time::Duration;

use tenure::{Election, Error};
use tenure_etcd::EtcdBackend;
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::var("ETCD_URL").unwrap_or_else(|_| "etcd://localhost/example".to_owned());
    let mut candidates = JoinSet::new();
    for name in ["ada", "bob", "eve"] {
        // A backend of its own for each, as three processes would have it. Whose bid comes first leads first.
        let election = Election::new(EtcdBackend::new(&url)?, "nightly")?;
        let candidate = election.candidate(name).lease(Duration::from_secs(5)).advertise(format!("{name}.example:80"));
        let (campaign, observer) = (candidate.build()?.start()?, Election::new(EtcdBackend::new(&url)?, "nightly")?);
        candidates.spawn(async move {
            let leadership = campaign.wait_for_leadership().await?;
            println!("{name} leads with token {:?}", leadership.token().map(|token| token.get()));
            if let Some(incumbent) = observer.incumbent().await? {
                println!("  everybody sees {} at {}", incumbent.name(), incumbent.address().unwrap_or("no address"));
            }
            campaign.stop().await // work stops, then the office is given up
        });
    }
    while let Some(ended) = candidates.join_next().await {
        ended.expect("no candidate panics")?;
    }
    Ok(())
}
