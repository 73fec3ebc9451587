//! How an office passes from one leader to the next.

use std::time::Duration;

use super::super::bench::Bench;
use super::super::case::cases;
use super::super::fleet::Fleet;
use crate::{Election, Moment};

cases! {
    a_resignation_hands_over_before_the_lease_ends;
    stopping_a_campaign_hands_over_before_the_lease_ends;
    dropping_a_campaign_hands_over_before_the_lease_ends;
    a_leader_that_is_asked_to_resign_does_so if administers;
    a_leader_that_is_cut_off_steps_down_before_another_leads, with Sever;
    a_leader_whose_calls_hang_steps_down_before_another_leads, with Freeze;
}

/// Waits for a leader, and until everybody else has lost and waits for its turn.
async fn in_waiting(bench: &Bench, fleet: &Fleet, lease: Duration) -> usize {
    fleet.leader().await;
    bench.pass(lease / 8).await;
    fleet.leader().await
}

/// A leader renews after a third of its lease, so whoever waited for the end of it waited for two thirds.
fn assert_quick(bench: &Bench, start: Moment, lease: Duration) {
    let took = bench.now().since(start);
    assert!(took < lease * 6 / 10, "the handover took {took:?} of a lease of {lease:?}");
}

/// SEEDS 20: the next tenure begins long before the lease of the last one would have ended.
async fn a_resignation_hands_over_before_the_lease_ends(bench: Bench) {
    // A long lease, so that handing over and waiting it out cannot be confused on a slow machine.
    let lease = bench.lease() * 5;
    let fleet = Fleet::start(&bench, 3, lease, |candidate| candidate);
    let leader = in_waiting(&bench, &fleet, lease).await;
    let campaign = &fleet.member(leader).campaign;
    let former = campaign.leadership().map(|leadership| leadership.id());
    let start = bench.now();
    campaign.resign().await.expect("the store confirms it");
    assert_ne!(campaign.leadership().map(|leadership| leadership.id()), former, "it still leads");
    fleet.leader().await;
    assert_quick(&bench, start, lease);
    fleet.beliefs();
}

/// SEEDS 20, 28: stopping is giving up.
async fn stopping_a_campaign_hands_over_before_the_lease_ends(bench: Bench) {
    let lease = bench.lease() * 5;
    let fleet = Fleet::start(&bench, 3, lease, |candidate| candidate);
    let leader = in_waiting(&bench, &fleet, lease).await;
    let start = bench.now();
    fleet.member(leader).campaign.stop().await.expect("the store confirms it");
    assert!(!fleet.member(leader).campaign.is_leader(), "a campaign that was stopped does not lead");
    fleet.leader_after(leader).await;
    assert_quick(&bench, start, lease);
    fleet.beliefs();
}

/// Whoever forgets to stop does not hold the office for a lease either.
async fn dropping_a_campaign_hands_over_before_the_lease_ends(bench: Bench) {
    let lease = bench.lease() * 5;
    let first = Fleet::start(&bench, 1, lease, |candidate| candidate);
    first.leader().await;
    let second = Fleet::start(&bench, 1, lease, |candidate| candidate);
    bench.pass(lease / 8).await;
    let start = bench.now();
    let believed = first.beliefs();
    second.leader().await;
    assert_quick(&bench, start, lease);
    let next = second.beliefs();
    if let (Some(last), Some(first)) = (believed.last(), next.first())
        && bench.kind().has_tokens()
    {
        assert!(last.token < first.token, "I2: {last:?} {first:?}");
    }
}

/// A holder that was asked gives up by itself, at its next renewal.
async fn a_leader_that_is_asked_to_resign_does_so(bench: Bench) {
    let (_, client) = bench.client();
    let fleet = Fleet::start(&bench, 3, bench.lease(), |candidate| candidate);
    let former = fleet.leadership().await;
    let election = Election::over(client, fleet.seat().as_str()).expect("a seat is a seat");
    assert!(election.ask_to_resign().await.expect("it is supported"));
    fleet.ended(&former).await;
    fleet.leader().await;
    fleet.beliefs();
}

/// I1, I4, I8, SEEDS 14: a leader that cannot reach the store ends by its own deadline, grace included, before anybody else leads; and then
/// somebody does.
async fn a_leader_that_is_cut_off_steps_down_before_another_leads(bench: Bench) {
    let fleet = Fleet::start(&bench, 3, bench.lease(), |candidate| candidate);
    let leader = fleet.leader().await;
    let client = fleet.member(leader).client;
    bench.sever(client).await;
    fleet.follower(leader).await;
    let next = fleet.leader_after(leader).await;
    assert!(!fleet.member(leader).campaign.is_leader(), "a leader that is cut off leads on");
    bench.heal(client).await;
    bench.pass(bench.lease()).await;
    let beliefs = fleet.beliefs();
    let last = beliefs.iter().rfind(|belief| belief.member == leader);
    let first = beliefs.iter().find(|belief| belief.member == next);
    if let (Some(last), Some(first)) = (last, first)
        && last.first_seen < first.first_seen
    {
        assert!(first.first_seen >= last.expiry, "I1: another led before the grace was over: {beliefs:?}");
    }
}

/// SEEDS 17: a storage call that hangs loses leadership no later than the deadline. What it does when it comes back after all harms nobody.
async fn a_leader_whose_calls_hang_steps_down_before_another_leads(bench: Bench) {
    let fleet = Fleet::start(&bench, 3, bench.lease(), |candidate| candidate);
    let leader = fleet.leader().await;
    let former = fleet.member(leader).campaign.leadership();
    let client = fleet.member(leader).client;
    bench.freeze(client).await;
    if let Some(former) = former {
        let ended = || std::future::ready((!former.is_held()).then_some(()));
        bench.eventually(fleet.patience(), "a leader whose calls hang steps down", ended).await;
    }
    bench.pass(bench.lease()).await;
    bench.heal(client).await;
    fleet.leader().await;
    bench.pass(bench.lease()).await;
    fleet.beliefs();
}
