//! Looking at an office.

use super::super::bench::Bench;
use super::super::case::cases;
use crate::backend::{Expiry, Held, Sight, Vacancy};

cases! {
    an_office_that_nobody_ever_held_is_free;
    looking_writes_nothing;
    what_is_seen_is_what_a_bid_is_told;
    what_was_written_is_seen_at_once_by_everybody;
}

/// An office of which nothing is known is vacant, and nobody is said to have given it up.
async fn an_office_that_nobody_ever_held_is_free(bench: Bench) {
    let one = bench.contender("one");
    assert_eq!(one.sees(&bench.seat()).await, Sight::Vacant(Vacancy::Free));
    let over = one.wins(&bench.seat()).await.grant.over;
    assert_eq!(over, Vacancy::Free);
}

/// Looking changes neither the version nor what the holder can do with it.
async fn looking_writes_nothing(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    two.sees_nobody(&bench.seat()).await;
    let office = one.wins(&bench.seat()).await;
    for _ in 0..5 {
        one.sees_unchanged(&office).await;
        two.sees_unchanged(&office).await;
    }
    one.keeps(&office).await;
}

/// Whoever loses is told the same as whoever looks.
async fn what_is_seen_is_what_a_bid_is_told(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let holder = bench.contender("holder").advertising(b"10.0.0.7:8080");
    holder.wins(&bench.seat()).await;
    let told = two.is_refused(&bench.seat()).await;
    let seen = one.sees(&bench.seat()).await;
    assert_eq!(timeless(&told), timeless(&seen));
    assert!(seen.held().is_some());
}

/// Apart from what is left of its life, which is less with every look.
fn timeless(sight: &Sight) -> Option<Held> {
    sight.held().map(|held| Held {
        expiry: match held.expiry {
            Expiry::Store { .. } => Expiry::Store { remaining: None },
            expiry => expiry,
        },
        ..held.clone()
    })
}

/// SAFETY 16: reads are linearizable: a read that begins after a write was answered sees it, from whichever client.
async fn what_was_written_is_seen_at_once_by_everybody(bench: Bench) {
    let [one, two, three] = bench.contenders(["one", "two", "three"]);
    for _ in 0..10 {
        let mut office = one.wins(&bench.seat()).await;
        two.sees_unchanged(&office).await;
        if bench.kind().renews_records() {
            office = one.renews(&office).await;
            three.sees_unchanged(&office).await;
        }
        one.withdraw(&office.bid).await;
        two.sees_nobody(&bench.seat()).await;
        three.sees_nobody(&bench.seat()).await;
    }
}
