//! Two ways to write a worker of which only one may work: ask before every job, or wait for leadership.
//!
//! `cargo run --example consensus-manager`

use std::time::Duration;

use tenure::backend::memory::MemoryBackend;
use tenure::{Campaign, Election, Error};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let store = MemoryBackend::new();
    // Unless set, the lease is 15 s, it is renewed every 5 s, and tried for every 2 s where a store does not push.
    let start = |pod: &str| -> Result<Campaign, Error> {
        Election::new(store.client(), "my-app-leader")?.candidate(pod).build()?.start()
    };

    // Both begin to campaign at once and return at once.
    let one = start("pod-1")?;
    one.wait_for_leadership().await?;
    let two = start("pod-2")?;

    let polling = async {
        for _ in 0..10 {
            if one.is_leader() {
                process_job("pod-1");
            } else {
                println!("pod-1 is not leader and does nothing");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };

    let waiting = async {
        // Returns when leading, and never after leadership is gone again.
        let leadership = two.wait_for_leadership().await?;
        // A job that runs when leadership ends is dropped at the await where it stands; the office is handed on only then.
        let jobs = leadership.while_held(async {
            for _ in 0..3 {
                process_job("pod-2");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        jobs.await
    };

    let stopping = async {
        tokio::time::sleep(Duration::from_millis(350)).await;
        println!("pod-1 is told to stop");
        // Work stops, the office is given up, then this returns: pod-2 need not wait for a lease.
        one.stop().await
    };

    let ((), waited, stopped) = tokio::join!(polling, waiting, stopping);
    waited.and(stopped)?;
    two.stop().await?;
    println!("both have stopped");
    Ok(())
}

fn process_job(pod: &str) {
    println!("{pod} leads and does a job");
}
