//! Giving an office up.

use super::super::bench::Bench;
use super::super::case::cases;
use crate::backend::{Sight, Vacancy};

cases! {
    after_a_withdrawal_another_wins_at_once;
    a_withdrawal_needs_no_version;
    a_withdrawal_by_another_process_of_the_tenure_counts;
    a_withdrawal_made_twice_is_harmless;
    withdrawing_what_never_was_changes_nothing;
    a_late_withdrawal_never_touches_a_newer_tenure;
    an_office_that_was_given_up_says_by_whom if names_releases;
    a_removed_record_is_no_release, with Remove;
    an_expired_record_is_no_release if expires;
}

/// SEEDS 20: the next one need not wait for the lease to end.
async fn after_a_withdrawal_another_wins_at_once(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let office = one.wins(&bench.seat()).await;
    two.is_refused(&bench.seat()).await;
    one.withdraw(&office.bid).await;
    two.sees_nobody(&bench.seat()).await;
    two.wins(&bench.seat()).await;
}

/// SAFETY 9: a withdrawal is conditional on the tenure id alone; which of its versions is in the store need not be known.
async fn a_withdrawal_needs_no_version(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let office = one.wins(&bench.seat()).await;
    if bench.kind().renews_records() {
        one.renews(&one.renews(&office).await).await;
    }
    one.withdraw(&office.bid).await;
    two.wins(&bench.seat()).await;
}

/// DESIGN: a guardian withdraws for a process that is gone; it knows nothing but the tenure id.
async fn a_withdrawal_by_another_process_of_the_tenure_counts(bench: Bench) {
    let [one, guardian, two] = bench.contenders(["one", "one", "two"]);
    let office = one.wins(&bench.seat()).await;
    if bench.kind().renews_records() {
        one.renews(&office).await;
    }
    guardian.withdraw(&office.bid).await;
    two.wins(&bench.seat()).await;
}

/// SEEDS 19: releasing twice is a harmless no-op.
async fn a_withdrawal_made_twice_is_harmless(bench: Bench) {
    let one = bench.contender("one");
    let office = one.wins(&bench.seat()).await;
    one.withdraw(&office.bid).await;
    one.withdraw(&office.bid).await;
    one.sees_nobody(&bench.seat()).await;
}

/// SEEDS 3, 19: releasing an office that one does not hold is a harmless no-op, whether it is vacant or another's.
async fn withdrawing_what_never_was_changes_nothing(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let seat = bench.seat();
    one.withdraw(&one.bid(&seat)).await;
    one.sees_nobody(&seat).await;
    let office = one.wins(&seat).await;
    two.withdraw(&two.bid(&seat)).await;
    // Another tenure of the same incarnation is another tenure.
    one.withdraw(&one.bid(&seat)).await;
    one.sees_unchanged(&office).await;
}

/// I6, SEEDS 23: whoever comes late to give up what it held long ago leaves the newer tenure alone.
async fn a_late_withdrawal_never_touches_a_newer_tenure(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let first = one.wins(&bench.seat()).await;
    let (second, _) = two.succeeds(&first).await;
    one.withdraw(&first.bid).await;
    two.sees_unchanged(&second).await;
    two.keeps(&second).await;
}

/// SAFETY 14: a release in due form names the tenure that gave the office up, to those who look and to the next who wins.
async fn an_office_that_was_given_up_says_by_whom(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let office = one.wins(&bench.seat()).await;
    one.withdraw(&office.bid).await;
    let released = Vacancy::Released { by: office.bid.tenure() };
    assert_eq!(two.sees(&bench.seat()).await, Sight::Vacant(released));
    assert_eq!(two.wins(&bench.seat()).await.grant.over, released);
}

/// SAFETY 14: a deleted key alone is no release, and an earlier word of release is not one of the holder that was deleted.
async fn a_removed_record_is_no_release(bench: Bench) {
    let [one, two, three] = bench.contenders(["one", "two", "three"]);
    let earlier = one.wins(&bench.seat()).await;
    one.withdraw(&earlier.bid).await;
    two.wins(&bench.seat()).await;
    bench.remove(&bench.seat()).await;
    let sight = three.sees(&bench.seat()).await;
    assert!(!matches!(sight, Sight::Vacant(Vacancy::Released { .. })), "nobody gave it up: {sight:?}");
    let over = three.wins(&bench.seat()).await.grant.over;
    assert!(!matches!(over, Vacancy::Released { .. }), "nobody gave it up: {over:?}");
}

/// SAFETY 14: neither is an expiry.
async fn an_expired_record_is_no_release(bench: Bench) {
    let [one, three] = bench.contenders(["one", "three"]);
    let two = bench.brief("two");
    let earlier = one.wins(&bench.seat()).await;
    one.withdraw(&earlier.bid).await;
    let silent = two.wins(&bench.seat()).await;
    let (next, _) = three.succeeds(&silent).await;
    let over = next.grant.over;
    assert!(!matches!(over, Vacancy::Released { .. }), "nobody gave it up: {over:?}");
}
