//! Four workers for three shards: each takes the first that is free, and the one that finds none waits.
//!
//! `cargo run --example shards`

use std::time::Duration;

use tenure::backend::memory::MemoryBackend;
use tenure::{Candidate, Election, Error, ErrorKind, Tenure, first_free};

const SHARDS: usize = 3;

/// One candidacy a shard. They share a connection: cloning an election does not open another.
fn candidates(store: &MemoryBackend, worker: &str) -> Result<Vec<Candidate>, Error> {
    let store = std::sync::Arc::new(store.client());
    (0..SHARDS)
        .map(|shard| Election::over(store.clone(), format!("orders/shard-{shard}"))?.candidate(worker).build())
        .collect()
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let store = MemoryBackend::new();
    let mut owners: Vec<(usize, Tenure)> = Vec::new();
    for worker in ["worker-1", "worker-2", "worker-3"] {
        let (shard, tenure) = first_free(&candidates(&store, worker)?, None).await?;
        println!("{worker} owns shard {shard} with token {}", tenure.token().expect("the memory store has tokens"));
        owners.push((shard, tenure));
    }

    let fourth = candidates(&store, "worker-4")?;
    let patience = Duration::from_millis(200);
    let refused = first_free(&fourth, Some(patience)).await.expect_err("all shards are taken");
    assert_eq!(refused.kind(), ErrorKind::TimedOut);
    println!("worker-4 waited {patience:?}: {refused}");

    // It waits for all of them at once, and has the first that falls vacant.
    let waiting = tokio::spawn(async move { first_free(&fourth, None).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (shard, tenure) = owners.swap_remove(1);
    println!("worker-2 gives shard {shard} up");
    tenure.resign().await?;
    let (shard, tenure) = waiting.await.expect("it does not panic")?;
    println!("worker-4 owns shard {shard} with token {}", tenure.token().expect("the memory store has tokens"));

    tenure.resign().await?;
    for (_, tenure) in owners {
        tenure.resign().await?;
    }
    println!("all shards are free");
    Ok(())
}
