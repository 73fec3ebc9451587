//! Displacing another's record: by its exact version, and in no other way.

use std::sync::Arc;

use super::super::bench::{Bench, all};
use super::super::case::cases;
use crate::backend::Version;

cases! {
    a_version_that_is_past_displaces_nothing;
    a_version_that_never_was_displaces_nothing;
    the_exact_version_is_displaced;
    of_many_who_displace_one_version_one_wins if contenders_judge;
    a_displaced_holder_can_neither_renew_nor_withdraw;
    leave_to_displace_changes_nothing_for_the_holder_itself;
}

/// SAFETY 4, 10: leave to displace is for one version; once the record was written again it is void.
async fn a_version_that_is_past_displaces_nothing(bench: Bench) {
    let [one, two, three] = bench.contenders(["one", "two", "three"]);
    let past = one.wins(&bench.seat()).await;
    one.withdraw(&past.bid).await;
    let office = two.wins(&bench.seat()).await;
    let bid = three.bid_displacing(&bench.seat(), Some(past.grant.version.clone()));
    three.is_refused_with(&bid).await;
    two.sees_unchanged(&office).await;
    if bench.kind().renews_records() {
        let renewed = two.renews(&office).await;
        three.is_refused_with(&three.displacing(&bid, &office.grant.version)).await;
        two.sees_unchanged(&renewed).await;
    }
}

/// SAFETY 10: versions are compared for equality, and only with the record's own.
async fn a_version_that_never_was_displaces_nothing(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let office = one.wins(&bench.seat()).await;
    let mut versions = vec![Version::number(0), Version::number(u64::MAX), Version::text(""), Version::text("*")];
    versions.extend(office.grant.version.as_number().map(|number| Version::number(number + 1)));
    versions.extend(office.grant.version.as_text().map(|text| Version::text(format!("{text}x"))));
    for version in versions {
        two.is_refused_with(&two.bid_displacing(&bench.seat(), Some(version))).await;
        one.sees_unchanged(&office).await;
    }
}

/// SAFETY 4: what the machine permits is done: the record with exactly this version goes, and a new tenure begins.
async fn the_exact_version_is_displaced(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let first = one.wins(&bench.seat()).await;
    let seen = two.is_refused(&bench.seat()).await.held().map(|held| held.version.clone());
    let second = two.wins_with(&two.bid_displacing(&bench.seat(), seen)).await;
    assert_ne!(second.grant.version, first.grant.version);
    if bench.kind().has_tokens() {
        assert!(second.token() > first.token(), "a displacement is a new tenure: {first:?} {second:?}");
    }
    one.sees_unchanged(&second).await;
}

/// SEEDS 1, I1: many may come to displace the same silent holder at the same time.
async fn of_many_who_displace_one_version_one_wins(bench: Bench) {
    let silent = bench.contender("silent").wins(&bench.seat()).await;
    let contenders: Vec<_> = (0..8).map(|number| Arc::new(bench.contender(&format!("contender-{number}")))).collect();
    let start = Arc::new(tokio::sync::Barrier::new(contenders.len()));
    let bids = contenders.iter().map(|contender| {
        let bid = contender.bid_displacing(&bench.seat(), Some(silent.grant.version.clone()));
        let (contender, start) = (contender.clone(), start.clone());
        tokio::spawn(async move {
            start.wait().await;
            contender.runs(&bid).await
        })
    });
    let elected: Vec<_> = all(bids.collect()).await.into_iter().flatten().collect();
    assert_eq!(elected.len(), 1, "exactly one wins: {elected:?}");
}

/// I6: a holder that was displaced while it slept finds that out, and touches nothing.
async fn a_displaced_holder_can_neither_renew_nor_withdraw(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let first = one.wins(&bench.seat()).await;
    let bid = two.bid_displacing(&bench.seat(), Some(first.grant.version.clone()));
    let second = two.wins_with(&bid).await;
    let sight = one.cannot_renew(&first.bid, &first.grant.version).await;
    assert!(sight.is_of(second.bid.tenure()), "{sight:?}");
    one.withdraw(&first.bid).await;
    two.sees_unchanged(&second).await;
}

/// SAFETY 9: a bid that is made again, with leave to displace what by now is its own record, goes on with that record.
async fn leave_to_displace_changes_nothing_for_the_holder_itself(bench: Bench) {
    let one = bench.contender("one");
    let office = one.wins(&bench.seat()).await;
    let again = one.wins_with(&one.displacing(&office.bid, &office.grant.version)).await;
    assert_eq!(again.grant.token, office.grant.token);
    one.sees_unchanged(&again).await;
}
