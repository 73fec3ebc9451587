//! Without a runtime: every call blocks its thread, and renewals go on whatever these threads do.
//!
//! `cargo run --example blocking`

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tenure::backend::memory::MemoryBackend;
use tenure::{Change, Election, Error, blocking};

fn candidate(store: &MemoryBackend, name: &str) -> Result<blocking::Candidate, Error> {
    let candidate = Election::new(store.client(), "backup")?.candidate(name).lease(Duration::from_secs(1));
    Ok(blocking::Candidate::new(candidate.build()?))
}

fn main() -> Result<(), Error> {
    let store = MemoryBackend::new();

    let tenure = candidate(&store, "host-1")?.campaign()?;
    println!("host-1 leads with token {}", tenure.token().expect("the memory store has tokens"));

    let other = thread::spawn({
        let two = candidate(&store, "host-2")?;
        move || -> Result<(), Error> {
            // Blocks until host-1 has resigned.
            let tenure = two.campaign()?;
            println!("host-2 leads with token {}", tenure.token().expect("the memory store has tokens"));
            tenure.resign()
        }
    });

    // This thread sleeps for longer than the lease. Another one renews meanwhile.
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(600));
        println!("host-1 leads: {}", tenure.is_held());
    }
    println!("host-1 resigns");
    tenure.resign()?;
    other.join().expect("it does not panic")?;

    // In the background, with a callback. It runs on a thread of its own, for which nobody waits: not even the end of this program does.
    let (heard, changes) = channel();
    let campaign = candidate(&store, "host-3")?.start()?;
    campaign.on_change(move |change| heard.send(change).expect("main hears"));
    campaign.wait_for_leadership()?;
    campaign.stop()?;
    for change in changes.iter().take(2) {
        match change {
            Change::Gained { .. } => println!("host-3 hears: leader"),
            Change::Lost { ending } => println!("host-3 hears: not leader, {ending}"),
        }
    }
    println!("nobody leads");
    Ok(())
}
