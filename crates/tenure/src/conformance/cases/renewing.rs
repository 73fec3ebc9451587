//! Extending a record that one holds.

use super::super::bench::Bench;
use super::super::case::cases;
use super::super::contender::{Contender, Office};
use crate::backend::Renewal;

cases! {
    a_renewed_record_outlives_its_first_lease;
    a_bid_made_again_extends_the_record if renews_records;
    every_renewal_has_a_version_of_its_own if renews_records;
    a_renewal_keeps_tenure_token_and_name if renews_records;
    a_renewal_in_a_past_version_writes_nothing if renews_records;
    a_version_seen_of_another_renews_nothing;
    a_renewal_never_creates_a_record_after_a_withdrawal;
    a_renewal_never_creates_a_record_after_its_expiry if expires;
    a_renewal_never_creates_a_record_after_its_removal, with Remove;
    a_former_holder_never_renews_over_a_newer_tenure;
    many_renewals_are_answered_in_their_order if renews_records;
}

/// Wins an office and extends it again and again until its first lease is long over. Gives it as it was first, and as it is then.
async fn outlived(bench: &Bench, one: &Contender, extend: impl AsyncFn(&Office) -> Office) -> (Office, Office) {
    'attempts: for _ in 0..5 {
        let first = one.wins(&bench.seat()).await;
        let mut office = first.clone();
        while bench.now() < first.kept_until().after(bench.lease() / 2) {
            bench.pass(bench.lease() / 4).await;
            if bench.now() >= office.kept_until() {
                // The machine slept for a whole lease. That proves nothing: once more.
                one.withdraw(&first.bid).await;
                continue 'attempts;
            }
            office = extend(&office).await;
        }
        return (first, office);
    }
    panic!("the machine is too slow for a lease of {:?}", bench.lease());
}

/// SEEDS 2: a renewal gives the record a full lease anew.
async fn a_renewed_record_outlives_its_first_lease(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let (first, office) = outlived(&bench, &one, async |office| one.keeps(office).await).await;
    assert_kept(&bench, &two, &first, &office).await;
}

/// SAFETY 9: a bid that is made again gives its own record a full lease.
async fn a_bid_made_again_extends_the_record(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let (first, office) = outlived(&bench, &one, async |office| one.wins_with(&office.bid).await).await;
    assert_kept(&bench, &two, &first, &office).await;
}

/// The office is still held, also from one with leave to displace its first version: where contenders judge, that leave is void by now.
async fn assert_kept(bench: &Bench, two: &Contender, first: &Office, office: &Office) {
    let leave = bench.kind().renews_records().then(|| first.grant.version.clone());
    let elected = two.runs(&two.bid_displacing(&bench.seat(), leave)).await;
    let in_time = bench.now() < office.kept_until();
    assert!(elected.is_none() || !in_time, "the record ended though it was renewed: {elected:?}");
}

/// SAFETY 10: every write gives a version that the record never had.
async fn every_renewal_has_a_version_of_its_own(bench: Bench) {
    let one = bench.contender("one");
    let mut office = one.wins(&bench.seat()).await;
    let mut versions = vec![office.grant.version.clone()];
    for _ in 0..10 {
        office = one.renews(&office).await;
        assert!(!versions.contains(&office.grant.version), "{:?} was there before: {versions:?}", office.grant.version);
        versions.push(office.grant.version.clone());
    }
    // Nor when the office is held a second time.
    one.withdraw(&office.bid).await;
    let anew = one.wins(&bench.seat()).await;
    assert!(!versions.contains(&anew.grant.version), "{:?} was there before: {versions:?}", anew.grant.version);
}

/// SAFETY 9: the tenure id and the token stay for a whole tenure.
async fn a_renewal_keeps_tenure_token_and_name(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let first = one.wins(&bench.seat()).await;
    let before = two.sees_holder(&bench.seat()).await;
    let renewed = one.renews(&first).await;
    assert_eq!(renewed.grant.token, first.grant.token);
    assert_eq!(renewed.grant.incarnation, first.grant.incarnation);
    let after = two.sees_holder(&bench.seat()).await;
    assert_eq!(
        (after.tenure, &after.holder, &after.advertise, after.token),
        (before.tenure, &before.holder, &before.advertise, before.token)
    );
    two.sees_unchanged(&renewed).await;
}

/// SEEDS 2: a renewal on condition of a version that is past fails, shows what is there, and writes nothing.
async fn a_renewal_in_a_past_version_writes_nothing(bench: Bench) {
    let one = bench.contender("one");
    let first = one.wins(&bench.seat()).await;
    let second = one.renews(&first).await;
    let third = one.renews(&second).await;
    for past in [&first, &second] {
        // As another process of the same candidate would, which remembers nothing: a value comparison must not let it pass.
        for renewer in [&one, &bench.contender("one")] {
            let sight = renewer.cannot_renew(&past.bid, &past.grant.version).await;
            assert!(sight.is_of(first.bid.tenure()), "our own record is shown, so that we can tell: {sight:?}");
            assert_eq!(sight.held().map(|held| &held.version), Some(&third.grant.version));
            one.sees_unchanged(&third).await;
        }
    }
    one.renews(&third).await;
}

/// SAFETY 9, I6: a renewal is of one tenure; knowing the version of another's record does not help.
async fn a_version_seen_of_another_renews_nothing(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let office = one.wins(&bench.seat()).await;
    let sight = two.cannot_renew(&two.bid(&bench.seat()), &office.grant.version).await;
    assert!(sight.is_of(office.bid.tenure()), "{sight:?}");
    one.sees_unchanged(&office).await;
}

/// SAFETY 9: a renewal never creates a record; one that was on its way when the office was given up must not take it back.
async fn a_renewal_never_creates_a_record_after_a_withdrawal(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let office = one.wins(&bench.seat()).await;
    one.withdraw(&office.bid).await;
    let sight = one.cannot_renew(&office.bid, &office.grant.version).await;
    assert!(sight.held().is_none(), "nobody holds it: {sight:?}");
    two.sees_nobody(&bench.seat()).await;
    two.wins(&bench.seat()).await;
}

/// SAFETY 9, SEEDS 2: swapping needs a record that has not expired.
async fn a_renewal_never_creates_a_record_after_its_expiry(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let office = one.wins(&bench.seat()).await;
    let what = "the record of a silent holder ends";
    let vacant = || async { two.sees(&bench.seat()).await.held().is_none().then_some(()) };
    bench.eventually(office.ttl() + bench.stretch(), what, vacant).await;
    one.cannot_renew(&office.bid, &office.grant.version).await;
    two.sees_nobody(&bench.seat()).await;
}

/// SAFETY 9, 14: a holder whose record was deleted by hand does not put it back.
async fn a_renewal_never_creates_a_record_after_its_removal(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let office = one.wins(&bench.seat()).await;
    bench.remove(&bench.seat()).await;
    one.cannot_renew(&office.bid, &office.grant.version).await;
    two.sees_nobody(&bench.seat()).await;
    two.wins(&bench.seat()).await;
}

/// I6, SEEDS 15, 23: whoever comes late with a renewal finds the newer tenure, and leaves it alone.
async fn a_former_holder_never_renews_over_a_newer_tenure(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let first = one.wins(&bench.seat()).await;
    let (second, _) = two.succeeds(&first).await;
    let sight = one.cannot_renew(&first.bid, &first.grant.version).await;
    assert!(sight.is_of(second.bid.tenure()), "the newer tenure is shown: {sight:?}");
    two.sees_unchanged(&second).await;
    two.keeps(&second).await;
}

/// Answers to a batch stand in the order of the batch, and one that is lost harms no other.
async fn many_renewals_are_answered_in_their_order(bench: Bench) {
    let one = bench.contender("one");
    let mut offices = Vec::new();
    for number in 0..5 {
        offices.push(one.wins(&bench.seat_named(&format!("office-{number}"))).await);
    }
    one.withdraw(&offices[2].bid).await;
    let renewals = one.renew_many(&offices.iter().collect::<Vec<_>>()).await;
    assert_eq!(renewals.len(), offices.len());
    for (number, (office, renewal)) in offices.iter().zip(&renewals).enumerate() {
        match renewal {
            Renewal::Extended(grant) => {
                assert_ne!(number, 2, "an office that was given up is not renewed");
                assert_eq!(grant.tenure, office.bid.tenure(), "answer {number} is another's");
                assert_eq!(one.sees_holder(office.bid.seat()).await.version, grant.version);
            }
            Renewal::Mismatch(_) => assert_eq!(number, 2, "an office that is held was not renewed"),
        }
    }
}
