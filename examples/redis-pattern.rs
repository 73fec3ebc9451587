//! The four calls of the usual Redis pattern: try to become leader, am I leader, resign, tell me of changes.
//!
//! What that pattern gets wrong when it is written by hand, and what is right here: the renewal is conditional on what was written last, so
//! a loss is seen; being leader ends by the clock, also while a call hangs; whoever fails to resign does not stay leader; and a
//! listener runs where it can hold nothing up.
//!
//! `REDIS_URL=redis://localhost cargo run --example redis-pattern`

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tenure::{Candidate, Change, Election, Error};
use tenure_redis::RedisBackend;

/// Each has a connection of its own, as on hosts of their own.
fn node(id: &str) -> Result<Candidate, Error> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://localhost".into());
    Election::new(RedisBackend::new(&url)?, "lock/report")?.candidate(id).lease(Duration::from_secs(2)).build()
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    // On change. The callback has a thread of its own and hears gained and lost in turn, beginning with gained.
    let (heard, changes) = channel();
    let one = node("node-1")?.start_with(move |change| heard.send(change).expect("main hears"))?;
    tell("node-1", &changes);

    // Is leader: one load and one look at the clock, so that it can be asked anywhere and as often as one likes.
    println!("node-1 is leader: {}", one.is_leader());

    // Try: once, and at once. That another holds the office is no error; that the store cannot be reached would be one.
    let two = node("node-2")?;
    let attempt = two.try_campaign().await?;
    println!("node-2 tries: {}", attempt.map_or("another leads".into(), |tenure| format!("{tenure:?}")));

    // Resign: the office is given up in the store, and only if it is still ours.
    one.resign().await?;
    tell("node-1", &changes);
    println!("node-1 is leader: {}", one.is_leader());

    // Whoever resigned sits out for a moment, so that another can win.
    let tenure = two.try_campaign().await?.expect("node-1 has just resigned");
    println!("node-2 tries: it leads with token {}", tenure.token().expect("this store has tokens"));
    tenure.resign().await?;

    // node-1 has run for the office all the while.
    tell("node-1", &changes);

    // Stop: work stops, then the office is given up, then it returns.
    one.stop().await?;
    tell("node-1", &changes);
    println!("node-1 is leader: {}", one.is_leader());
    Ok(())
}

fn tell(node: &str, changes: &Receiver<Change>) {
    match changes.recv() {
        Ok(Change::Gained { token: Some(token) }) => println!("{node} hears: leader, token {token}"),
        Ok(Change::Gained { token: None }) => println!("{node} hears: leader"),
        Ok(Change::Lost { ending }) => println!("{node} hears: not leader, {ending}"),
        Err(_) => println!("{node} hears nothing more"),
    }
}
