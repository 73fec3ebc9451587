//! Whole elections, with the machine and the real driver over the backend.

use std::time::Duration;

use super::super::bench::Bench;
use super::super::case::cases;
use super::super::fleet::Fleet;
use crate::Election;

cases! {
    of_three_candidates_one_leads;
    one_process_leads_many_offices_on_one_client;
    a_store_that_is_away_at_first_is_tried_until_it_is_there, with Sever;
    ten_members_whose_record_is_removed_never_announce_two, with Remove;
    ten_members_whose_record_is_overwritten_never_announce_two, with Overwrite;
    an_election_goes_on_after_a_restart, with Restart;
    after_a_wipe_no_number_is_used_again if has_tokens, with Wipe;
    after_a_wipe_two_never_lead_with_settling, with Wipe;
    observers_see_tokens_only_rise if has_tokens;
}

/// I1, I8: one leads, and never two, for some leases on end.
async fn of_three_candidates_one_leads(bench: Bench) {
    let fleet = Fleet::start(&bench, 3, bench.lease(), |candidate| candidate);
    fleet.leader().await;
    bench.pass(bench.lease() * 2).await;
    fleet.leader().await;
    let beliefs = fleet.beliefs();
    assert!(!beliefs.is_empty());
}

/// SEEDS 24, SAFETY 21: one client serves many offices, whose renewals the driver makes together.
async fn one_process_leads_many_offices_on_one_client(bench: Bench) {
    const OFFICES: usize = 20;
    let (_, client) = bench.client();
    let campaigns: Vec<_> = (0..OFFICES)
        .map(|number| {
            let seat = bench.seat_named(&format!("office-{number}"));
            let election = Election::over(client.clone(), seat.as_str()).expect("a seat is a seat");
            let mut candidate = election.candidate("one").lease(bench.lease());
            if bench.has_own_clock() {
                candidate = candidate.clock(bench.clock());
            }
            candidate.build().expect("the suite's own timing is safe").start().expect("it does not run yet")
        })
        .collect();
    let patience = (bench.lease() + bench.stretch()) * 2 + Duration::from_secs(2);
    for _ in 0..2 {
        let all_lead = || std::future::ready(campaigns.iter().all(|campaign| campaign.is_leader()).then_some(()));
        bench.eventually(patience, "one process leads all its offices", all_lead).await;
        bench.pass(bench.lease()).await;
    }
}

/// SEEDS 43: a store that cannot be reached when the candidate starts is tried until it can.
async fn a_store_that_is_away_at_first_is_tried_until_it_is_there(bench: Bench) {
    let client = bench.client();
    let number = client.0;
    bench.sever(number).await;
    let fleet = Fleet::of(&bench, vec![client], bench.lease(), |candidate| candidate);
    bench.pass(bench.lease() / 2).await;
    assert!(!fleet.member(0).campaign.is_leader(), "nobody was asked, and yet it leads");
    bench.heal(number).await;
    fleet.leader().await;
}

/// SEEDS 42, SAFETY 14: with settling, a key that is deleted again and again never gives two announced leaders.
async fn ten_members_whose_record_is_removed_never_announce_two(bench: Bench) {
    let lease = bench.lease();
    let fleet = Fleet::start(&bench, 10, lease, |candidate| candidate.settle(lease));
    for _ in 0..3 {
        let former = fleet.leadership().await;
        bench.pass(lease.mul_f64(fastrand::f64() * 0.5)).await;
        bench.remove(fleet.seat()).await;
        // Once more while the next one settles.
        bench.pass(lease.mul_f64(fastrand::f64() * 0.5)).await;
        bench.remove(fleet.seat()).await;
        fleet.ended(&former).await;
    }
    fleet.leader().await;
    let beliefs = fleet.beliefs();
    assert!(beliefs.len() > 1, "the removals changed nothing: {beliefs:?}");
}

/// SEEDS 42, 60: the same for a key that a foreign program writes over; it blocks the office until its time is over.
async fn ten_members_whose_record_is_overwritten_never_announce_two(bench: Bench) {
    let lease = bench.lease();
    let fleet = Fleet::start(&bench, 10, lease, |candidate| candidate.settle(lease));
    for _ in 0..2 {
        let former = fleet.leadership().await;
        bench.pass(lease.mul_f64(fastrand::f64() * 0.5)).await;
        bench.overwrite(fleet.seat()).await;
        fleet.ended(&former).await;
    }
    fleet.leader().await;
    let beliefs = fleet.beliefs();
    assert!(beliefs.len() > 1, "overwriting changed nothing: {beliefs:?}");
}

/// I2, I8: a store that restarts on its data has a leader again, the old one or another, with no number used twice.
async fn an_election_goes_on_after_a_restart(bench: Bench) {
    let fleet = Fleet::start(&bench, 3, bench.lease(), |candidate| candidate);
    fleet.leader().await;
    bench.restart().await;
    bench.pass(bench.lease() * 2).await;
    fleet.leader().await;
    fleet.beliefs();
}

/// SAFETY 14, 18: across a wipe, candidates that remember never lead with a number that is not above those they saw.
async fn after_a_wipe_no_number_is_used_again(bench: Bench) {
    let fleet = Fleet::start(&bench, 3, bench.lease(), |candidate| candidate);
    fleet.leader().await;
    // Those who wait must have seen the holder, or they have nothing to remember.
    bench.pass(bench.lease()).await;
    bench.wipe().await;
    bench.pass(bench.lease() * 4).await;
    fleet.beliefs_of_all();
}

/// SAFETY 14: a wipe makes two believers possible until the deadline of the first, but not with settling: neither a candidate that is refused for
/// its number nor one that gives up while it settles vouches for the holder before it.
async fn after_a_wipe_two_never_lead_with_settling(bench: Bench) {
    let lease = bench.lease();
    let fleet = Fleet::start(&bench, 3, lease, |candidate| candidate.settle(lease));
    fleet.leader().await;
    bench.wipe().await;
    bench.pass(lease * 4).await;
    fleet.beliefs();
}

/// I10: whoever observes sees holders come and go, and their tokens only rise.
async fn observers_see_tokens_only_rise(bench: Bench) {
    let (_, client) = bench.client();
    let election = Election::over(client, bench.seat().as_str()).expect("a seat is a seat");
    let mut observation = election.observe_every(bench.lease() / 20).expect("the driver runs");
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let reader = tokio::spawn(async move {
        while let Some(incumbent) = observation.next().await {
            if let Some(token) = incumbent.and_then(|incumbent| incumbent.token()) {
                let _ = sender.send(token);
            }
        }
    });
    let fleet = Fleet::start(&bench, 3, bench.lease(), |candidate| candidate);
    let mut tokens = Vec::new();
    for _ in 0..4 {
        let leader = fleet.leader().await;
        let token =
            bench.eventually(fleet.patience(), "the leader is observed", || std::future::ready(seen.try_recv().ok()));
        tokens.push(token.await);
        let _ = fleet.member(leader).campaign.resign().await;
    }
    reader.abort();
    while let Ok(token) = seen.try_recv() {
        tokens.push(token);
    }
    assert!(tokens.is_sorted(), "an observer saw tokens go back: {tokens:?}");
    tokens.dedup();
    assert!(tokens.len() > 1, "an observer saw one tenure only: {tokens:?}");
    fleet.beliefs();
}
