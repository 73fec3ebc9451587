//! When the record of a silent holder ends.

use std::time::Duration;

use super::super::bench::Bench;
use super::super::case::cases;
use super::super::contender::Office;
use crate::backend::{Expiry, Standing};
use crate::{Election, ErrorKind, Moment, Timing};

cases! {
    a_record_is_kept_for_its_whole_lease if expires;
    a_silent_holder_is_succeeded_after_its_lease if expires;
    bids_and_looks_of_others_extend_nothing if expires;
    a_record_is_kept_for_a_lease_from_its_last_renewal if expires;
    a_silent_holder_stays_until_its_version_is_displaced if contenders_judge;
    a_part_of_a_second_is_never_cut;
    leases_that_the_store_does_not_take_are_refused;
    an_expired_tenure_is_not_revived_by_its_own_bid if expires;
}

/// How much earlier than granted a record may end for the roughness of clocks: the clock-rate bound allows twice as much.
fn early(office: &Office) -> Duration {
    office.ttl() / 20
}

fn assert_not_early(office: &Office, elected: Moment) {
    let kept = office.kept_until();
    assert!(
        elected.after(early(office)) >= kept,
        "another was elected {:?} before the {:?} that were granted had passed",
        kept.since(elected),
        office.ttl()
    );
}

/// I4, SEEDS 5: until its end nobody else is elected. The clock is read after the answer, so a slow machine does no harm.
async fn a_record_is_kept_for_its_whole_lease(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let office = one.wins(&bench.seat()).await;
    assert!(office.ttl() > Duration::ZERO, "a lease of nothing was granted");
    let (_, elected) = two.succeeds(&office).await;
    assert_not_early(&office, elected);
}

/// I8: after it, within the stretch that the harness states, somebody is.
async fn a_silent_holder_is_succeeded_after_its_lease(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let office = one.wins(&bench.seat()).await;
    bench.pass_until(office.kept_until()).await;
    let (next, _) = two.succeeds(&office).await;
    one.sees_unchanged(&next).await;
}

/// Only the holder extends its record: neither bids of others nor looks at it do.
async fn bids_and_looks_of_others_extend_nothing(bench: Bench) {
    let [two, three] = bench.contenders(["two", "three"]);
    let one = bench.brief("one");
    let office = one.wins(&bench.seat()).await;
    let what = "the record of a silent holder ends, though others bid and look";
    let ended = || async {
        let sight = two.sees(&bench.seat()).await;
        if bench.kind().queues() {
            return (!sight.is_of(office.bid.tenure())).then_some(());
        }
        three.runs(&three.bid(&bench.seat())).await.map(drop)
    };
    bench.eventually(office.ttl() + bench.stretch(), what, ended).await;
}

/// SEEDS 2: the lease counts from the last renewal, in full.
async fn a_record_is_kept_for_a_lease_from_its_last_renewal(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let first = one.wins(&bench.seat()).await;
    bench.pass(first.ttl() / 2).await;
    let renewed = one.keeps(&first).await;
    let (_, elected) = two.succeeds(&renewed).await;
    assert_not_early(&renewed, elected);
}

/// SAFETY 4: where contenders judge, time alone ends nothing: the store gives the record away only to whoever names its version.
async fn a_silent_holder_stays_until_its_version_is_displaced(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let office = one.wins(&bench.seat()).await;
    bench.pass_until(office.kept_until().after(bench.lease() / 2)).await;
    two.is_refused(&bench.seat()).await;
    one.sees_unchanged(&office).await;
    let bid = two.bid_displacing(&bench.seat(), Some(office.grant.version.clone()));
    two.wins_with(&bid).await;
}

/// SEEDS 6, SAFETY 2a: 1500 ms are never cut to 1 s. A store that knows only seconds rounds up, or refuses.
async fn a_part_of_a_second_is_never_cut(bench: Bench) {
    let traits = bench.kind().traits;
    let lease = [Duration::from_millis(1500), traits.shortest_lease + Duration::from_millis(500)];
    let lease = lease.into_iter().max().unwrap_or_default();
    let one = bench.contender("one").asking_for(lease);
    let bid = one.bid(&bench.seat());
    let office = match one.try_stand(&bid).await {
        Ok((Standing::Elected(grant), sent)) => Office { bid, grant, sent },
        Ok((other, _)) => panic!("the office is free: {other:?}"),
        Err(refused) => {
            return assert!(!refused.is_transient(), "a lease that is not taken is refused for good: {refused:?}");
        }
    };
    assert!(office.ttl() >= lease, "{lease:?} were asked for and {:?} granted", office.ttl());
    let two = bench.contender("two");
    match two.sees_holder(&bench.seat()).await.expiry {
        Expiry::Observe { recorded } => assert!(recorded >= lease, "{lease:?} were asked for, {recorded:?} recorded"),
        _ => assert_not_early(&office, two.succeeds(&office).await.1),
    }
}

/// SEEDS 6, 40: a lease of 0 cannot even be asked for, nor can one that the backend does not take.
async fn leases_that_the_store_does_not_take_are_refused(bench: Bench) {
    let traits = bench.kind().traits;
    let (_, client) = bench.client();
    let election = Election::over(client, bench.seat().as_str()).expect("a seat is a seat");
    let nano = Duration::from_nanos(1);
    let mut refused = vec![Duration::ZERO, traits.longest_lease + nano];
    refused.extend(traits.shortest_lease.checked_sub(nano));
    for lease in refused {
        let error = election.candidate("one").lease(lease).build().expect_err("such a lease is refused");
        assert_eq!(error.kind(), ErrorKind::UnsafeTiming, "{lease:?}: {error}");
    }
    for lease in [traits.shortest_lease.max(Timing::SHORTEST_LEASE), bench.lease()] {
        let taken = election.candidate("one").lease(lease).build();
        assert!(taken.is_ok() || traits.store_skew > Duration::ZERO, "{lease:?}: {taken:?}");
    }
}

/// SAFETY 9: a tenure whose record ended can at most begin anew, and that is a new tenure: another may have led in between.
async fn an_expired_tenure_is_not_revived_by_its_own_bid(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let office = one.wins(&bench.seat()).await;
    let vacant = || async { two.sees(&bench.seat()).await.held().is_none().then_some(()) };
    bench.eventually(office.ttl() + bench.stretch(), "the record of a silent holder ends", vacant).await;
    if let Some(again) = one.runs(&office.bid).await
        && bench.kind().has_tokens()
    {
        assert!(again.token() > office.token(), "a token was used twice: {office:?} {again:?}");
    }
}
