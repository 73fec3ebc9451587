//! Fencing tokens: they rise with every tenure and are never used twice.

use std::sync::{Arc, Mutex, PoisonError};

use super::super::bench::{Bench, all};
use super::super::case::cases;
use super::super::contender::Office;
use crate::FencingToken;

cases! {
    tokens_rise_over_twenty_tenures if has_tokens;
    tokens_rise_after_an_expiry if has_tokens;
    tokens_rise_after_a_removal if has_tokens, with Remove;
    tokens_rise_in_the_order_of_tenures_however_many_contend if has_tokens;
    tokens_rise_across_a_restart if has_tokens, with Restart;
    a_restart_keeps_the_incarnation if has_tokens, with Restart;
    a_wiped_store_is_another_or_counts_on if has_tokens, with Wipe;
}

/// SAFETY 18: either tokens rise, or it can be seen that they are of another life of the store.
#[track_caller]
fn assert_rises_or_tells(before: &Office, after: &Office) {
    let (old, new) = (before.grant.incarnation, after.grant.incarnation);
    let told = matches!((old, new), (Some(old), Some(new)) if old != new);
    assert!(
        told || after.token() > before.token(),
        "the token went from {} to {}, and the incarnation from {old:?} to {new:?} does not tell",
        before.token(),
        after.token()
    );
}

/// I2: tokens rise strictly per election, whoever holds it; and they are numbers that every database can keep.
async fn tokens_rise_over_twenty_tenures(bench: Bench) {
    let contenders = bench.contenders(["one", "two", "three"]);
    let mut last = 0;
    for round in 0..20 {
        let contender = &contenders[round % contenders.len()];
        let office = contender.wins(&bench.seat()).await;
        let token = office.token();
        assert!(token > last, "tenure {round} has the token {token}, and the one before had {last}");
        assert!(FencingToken::new(token).is_some(), "{token} is outside 1 to i64::MAX");
        last = token;
        contender.withdraw(&office.bid).await;
    }
}

/// I2: also when a tenure ended because nobody renewed it.
async fn tokens_rise_after_an_expiry(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let first = one.wins(&bench.seat()).await;
    let (second, _) = two.succeeds(&first).await;
    assert!(second.token() > first.token(), "{first:?} {second:?}");
    two.withdraw(&second.bid).await;
    let third = one.wins(&bench.seat()).await;
    assert!(third.token() > second.token(), "{second:?} {third:?}");
}

/// SAFETY 14: I2 also holds when a record was deleted by hand.
async fn tokens_rise_after_a_removal(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let mut last = one.wins(&bench.seat()).await;
    for contender in [&two, &one] {
        bench.remove(&bench.seat()).await;
        let next = contender.wins(&bench.seat()).await;
        assert_rises_or_tells(&last, &next);
        last = next;
    }
}

/// I2: also when many bid, win, and give up at the same time. Whoever holds the office writes its token down, so they stand in the order of tenures.
async fn tokens_rise_in_the_order_of_tenures_however_many_contend(bench: Bench) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let tasks = (0..6).map(|number| {
        let contender = bench.contender(&format!("contender-{number}"));
        let (bench, written) = (bench.clone(), written.clone());
        tokio::spawn(async move {
            for _ in 0..10 {
                let bid = contender.bid(&bench.seat());
                let mut elected = contender.runs(&bid).await;
                // In a queue everybody's turn comes; whoever does not wait for it is hardly ever elected.
                while elected.is_none() && bench.kind().queues() {
                    elected = contender.runs(&bid).await;
                }
                if let Some(office) = elected {
                    written.lock().unwrap_or_else(PoisonError::into_inner).push(office.token());
                }
                contender.withdraw(&bid).await;
            }
        })
    });
    all(tasks.collect()).await;
    let tokens = written.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(tokens.len() > 1, "somebody wins now and then");
    assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "tokens did not rise: {tokens:?}");
}

/// I2: across restarts of the store, too.
async fn tokens_rise_across_a_restart(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let first = one.wins(&bench.seat()).await;
    bench.restart().await;
    let (second, _) = two.succeeds(&first).await;
    assert!(second.token() > first.token(), "{first:?} {second:?}");
}

/// SAFETY 18: a restart on the same data is no other store; leaders would be barred for nothing.
async fn a_restart_keeps_the_incarnation(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let first = one.wins(&bench.seat()).await;
    bench.restart().await;
    let (second, _) = two.succeeds(&first).await;
    assert_eq!(first.grant.incarnation, second.grant.incarnation);
}

/// SAFETY 18: a store that lost everything says so by its incarnation, or counts on as if it had not.
async fn a_wiped_store_is_another_or_counts_on(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    for _ in 0..3 {
        let office = one.wins(&bench.seat()).await;
        one.withdraw(&office.bid).await;
    }
    let before = one.wins(&bench.seat()).await;
    bench.wipe().await;
    let after = two.wins(&bench.seat()).await;
    assert_rises_or_tells(&before, &after);
}
