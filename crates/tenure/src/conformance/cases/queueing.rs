//! Waiting in a queue that the store keeps.

use super::super::bench::Bench;
use super::super::case::cases;
use crate::backend::Hint;

cases! {
    those_who_wait_are_served_in_order if queues;
    a_newcomer_does_not_overtake_those_who_wait if queues;
    a_bid_that_waits_keeps_its_place_when_it_is_made_again if queues;
    a_bid_that_waits_can_be_withdrawn if queues;
    a_new_bid_of_a_candidate_replaces_its_old_one if queues_on_sessions;
    a_release_wakes_only_the_next_in_line if pushes_to_queues;
    a_bid_whose_session_ended_is_out_of_the_queue if queues_on_sessions;
}

/// First come, first served.
async fn those_who_wait_are_served_in_order(bench: Bench) {
    let [holder, one, two, three] = bench.contenders(["holder", "one", "two", "three"]);
    let seat = bench.seat();
    let office = holder.wins(&seat).await;
    let bids = [one.is_queued(&seat).await, two.is_queued(&seat).await, three.is_queued(&seat).await];
    holder.withdraw(&office.bid).await;
    // Asked the wrong way round, so that it is not the order of asking that counts.
    three.is_still_queued(&bids[2]).await;
    two.is_still_queued(&bids[1]).await;
    let first = one.wins_with(&bids[0]).await;
    one.withdraw(&first.bid).await;
    three.is_still_queued(&bids[2]).await;
    let second = two.wins_with(&bids[1]).await;
    if bench.kind().has_tokens() {
        assert!(second.token() > first.token(), "{first:?} {second:?}");
    }
    two.withdraw(&second.bid).await;
    three.wins_with(&bids[2]).await;
}

/// Whoever comes when the office was just given up goes to the end of the queue.
async fn a_newcomer_does_not_overtake_those_who_wait(bench: Bench) {
    let [holder, waiting, newcomer] = bench.contenders(["holder", "waiting", "newcomer"]);
    let seat = bench.seat();
    let office = holder.wins(&seat).await;
    let bid = waiting.is_queued(&seat).await;
    holder.withdraw(&office.bid).await;
    newcomer.is_queued(&seat).await;
    holder.is_queued(&seat).await;
    waiting.wins_with(&bid).await;
}

/// To ask is not to queue again.
async fn a_bid_that_waits_keeps_its_place_when_it_is_made_again(bench: Bench) {
    let [holder, one, two] = bench.contenders(["holder", "one", "two"]);
    let seat = bench.seat();
    let office = holder.wins(&seat).await;
    let first = one.is_queued(&seat).await;
    let second = two.is_queued(&seat).await;
    for _ in 0..3 {
        one.is_still_queued(&first).await;
    }
    holder.withdraw(&office.bid).await;
    two.is_still_queued(&second).await;
    one.wins_with(&first).await;
}

/// SAFETY 9: a withdrawal removes a place in the queue as it does a record, and the others move up.
async fn a_bid_that_waits_can_be_withdrawn(bench: Bench) {
    let [holder, one, two] = bench.contenders(["holder", "one", "two"]);
    let seat = bench.seat();
    let office = holder.wins(&seat).await;
    let first = one.is_queued(&seat).await;
    let second = two.is_queued(&seat).await;
    one.withdraw(&first).await;
    holder.sees_unchanged(&office).await;
    holder.withdraw(&office.bid).await;
    two.wins_with(&second).await;
}

/// There is one place a session and seat: an earlier bid of the same candidate, given up on unheard, does not win later.
async fn a_new_bid_of_a_candidate_replaces_its_old_one(bench: Bench) {
    let [holder, one, two] = bench.contenders(["holder", "one", "two"]);
    let seat = bench.seat();
    let office = holder.wins(&seat).await;
    one.is_queued(&seat).await;
    let new = one.is_queued(&seat).await;
    holder.withdraw(&office.bid).await;
    let won = one.wins_with(&new).await;
    one.withdraw(&won.bid).await;
    two.sees_nobody(&seat).await;
    two.wins(&seat).await;
}

/// No herd: a thousand who wait are not all told of each release.
async fn a_release_wakes_only_the_next_in_line(bench: Bench) {
    let [holder, one, two, three] = bench.contenders(["holder", "one", "two", "three"]);
    let seat = bench.seat();
    let office = holder.wins(&seat).await;
    let mut waiting = Vec::new();
    for contender in [&one, &two, &three] {
        let bid = contender.is_queued(&seat).await;
        waiting.push(contender.watches(&seat, Some(&bid)).await);
    }
    holder.withdraw(&office.bid).await;
    let told = bench.hint(&mut waiting[0], bench.stretch()).await;
    assert!(matches!(told, Some(Some(Hint::Vacant | Hint::Changed | Hint::Seen(_)))), "the next in line: {told:?}");
    for watch in &mut waiting[1..] {
        let told = bench.hint(watch, bench.lease() / 8).await;
        assert_eq!(told, None, "those behind are not told");
    }
}

/// SAFETY 21: a place is kept by a session, and goes with it; a dead candidate is not elected.
async fn a_bid_whose_session_ended_is_out_of_the_queue(bench: Bench) {
    let [holder, two] = bench.contenders(["holder", "two"]);
    let seat = bench.seat();
    let office = holder.wins(&seat).await;
    let silent = bench.brief("silent");
    silent.is_queued(&seat).await;
    let second = two.is_queued(&seat).await;
    bench.pass(bench.lease()).await;
    holder.withdraw(&office.bid).await;
    let served = || async { two.runs(&second).await };
    bench.eventually(bench.lease() + bench.stretch(), "those behind a dead candidate are served", served).await;
}
