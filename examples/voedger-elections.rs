//! Leadership of keys in a store that expires them: acquire, release, close.
//!
//! The store is anything with three operations ([`TtlStore`](tenure::adapter::TtlStore)), generic over key and value; here it is one in
//! memory. Two values of [`Elections`] on one store are what two processes are.
//!
//! `cargo run --example voedger-elections`

use std::time::Duration;

use tenure::adapter::{Claim, MemoryTtl};
use tenure::{Elections, Error, ErrorKind, FencingToken, Leadership};

/// The user's own key and value; the store keeps the value inside a claim, which tells apart two processes that store equal ones.
type Store = MemoryTtl<&'static str, Claim<String>>;

const TTL: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let store = Store::new();
    let here = Elections::new(store.clone());
    // Whatever a candidate can be told can be told to all of them; here, to renew at half the TTL. A second try has to fit before the
    // deadline, so that calls get less time than they have unless set.
    let there = Elections::configured(store.clone(), |candidate| {
        candidate.renew_at_percent(50).call_timeout(Duration::from_millis(500))
    });

    let leadership = here.acquire("billing", "10.0.0.1".into(), TTL).await?.expect("the key is free");
    println!("10.0.0.1 leads billing with token {}.", token(&leadership));

    // An answer, not an error, and at once: nobody waits for a holder here.
    let second = there.acquire("billing", "10.0.0.2".into(), TTL).await?;
    println!("10.0.0.2 acquires billing: {}.", if second.is_some() { "it leads" } else { "held by another" });
    let again = here.acquire("billing", "10.0.0.1".into(), TTL).await?;
    println!("10.0.0.1 acquires billing again: {}.", if again.is_some() { "it leads twice" } else { "held already" });
    // Keys do not disturb each other.
    let mail = there.acquire("mail", "10.0.0.2".into(), TTL).await?.expect("the key is free");

    // The work of a leader: it has a token that is cancelled when leadership ends, and a guard that makes a release wait for it.
    let guard = leadership.guard().expect("it leads");
    let work = tokio::spawn({
        let leadership = leadership.clone();
        async move {
            let _guard = guard;
            leadership.cancellation().cancelled().await;
            println!("The work on billing stops: {}.", leadership.ending().expect("it has ended"));
        }
    });

    // Loss is signalled, the work stops, the key is deleted, then release returns.
    here.release(&"billing").await?;
    println!(
        "Released: the store has {} under billing.",
        if store.value(&"billing").is_none() { "nothing" } else { "something" }
    );
    work.await.expect("it does not panic");
    // A key that is not held is left alone.
    here.release(&"billing").await?;

    let leadership = there.acquire("billing", "10.0.0.2".into(), TTL).await?.expect("nobody waits for a TTL");
    println!("10.0.0.2 leads billing with token {}.", token(&leadership));

    there.close().await?;
    println!("Closed: billing {}, mail {}.", held(leadership.is_held()), held(mail.is_held()));
    let refused = there.acquire("mail", "10.0.0.2".into(), TTL).await.expect_err("it is closed");
    assert_eq!(refused.kind(), ErrorKind::Closed);
    println!("Another acquire: {refused}.");
    here.close().await
}

fn token(leadership: &Leadership) -> FencingToken {
    leadership.token().expect("this store draws numbers, so it has tokens")
}

fn held(held: bool) -> &'static str {
    if held { "is held" } else { "is not held" }
}
