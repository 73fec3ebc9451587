//! What an operator can do from outside, where the backend offers it.

use super::super::bench::Bench;
use super::super::case::cases;
use super::super::contender::{Contender, Office};
use crate::ErrorKind;
use crate::backend::{Evicted, Renewal};

cases! {
    a_list_names_the_offices_with_a_prefix if administers;
    a_holder_that_is_asked_to_resign_finds_that_at_its_next_renewal if administers;
    asking_changes_neither_holder_nor_lease if administers;
    nobody_is_asked_where_nobody_holds if administers;
    an_evicted_holder_cannot_renew if administers;
    an_eviction_bars_the_office_for_what_was_left if administers;
    evicting_nobody_says_so if administers;
}

/// Every office that is held, by its name, and no other. A store that cannot list says that it does not support it.
async fn a_list_names_the_offices_with_a_prefix(bench: Bench) {
    let one = bench.contender("one");
    for name in ["list/b", "list/a", "list.c", "other"] {
        one.wins(&bench.seat_named(name)).await;
    }
    let prefix = format!("{}/", bench.seat_named("list"));
    match one.administer().list(&prefix).await {
        Ok(found) => {
            let names: Vec<_> = found.iter().map(|(seat, _)| seat.clone()).collect();
            assert_eq!(names, [bench.seat_named("list/a"), bench.seat_named("list/b")], "by name, with {prefix:?}");
            assert!(found.iter().all(|(_, sight)| sight.held().is_some()), "{found:?}");
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}"),
    }
}

/// The holder's next renewal, as the driver makes it: a mismatch that shows our own record is renewed in the version that is there.
async fn asked_at_the_next_renewal(bench: &Bench, holder: &Contender, office: &Office) -> bool {
    if bench.kind().shares_sessions() {
        return holder.sees_holder(office.bid.seat()).await.asked_to_resign;
    }
    match holder.try_renew(office).await {
        Ok(Renewal::Extended(grant)) => grant.asked_to_resign,
        Ok(Renewal::Mismatch(sight)) if sight.is_of(office.bid.tenure()) => {
            let mut office = office.clone();
            office.grant.version = holder.sees_holder(office.bid.seat()).await.version;
            holder.renews(&office).await.grant.asked_to_resign
        }
        other => panic!("a holder that is asked still holds the office: {other:?}"),
    }
}

/// A holder is not removed: it is asked, and finds that where it looks anyway.
async fn a_holder_that_is_asked_to_resign_finds_that_at_its_next_renewal(bench: Bench) {
    let [holder, operator] = bench.contenders(["holder", "operator"]);
    let office = holder.wins(&bench.seat()).await;
    let office = holder.keeps(&office).await;
    assert!(!office.grant.asked_to_resign, "nobody asked yet");
    assert!(operator.administer().ask_to_resign(&bench.seat()).await.expect("it is supported"));
    assert!(asked_at_the_next_renewal(&bench, &holder, &office).await, "the holder does not hear of it");
    // The next holder was not asked.
    holder.withdraw(&office.bid).await;
    let next = operator.wins(&bench.seat()).await;
    assert!(!next.grant.asked_to_resign && !holder.sees_holder(&bench.seat()).await.asked_to_resign);
}

/// Until it resigns, the holder that was asked holds the office: nobody else gets in, and everybody sees that it was asked.
async fn asking_changes_neither_holder_nor_lease(bench: Bench) {
    let [holder, operator] = bench.contenders(["holder", "operator"]);
    let office = holder.wins(&bench.seat()).await;
    assert!(operator.administer().ask_to_resign(&bench.seat()).await.expect("it is supported"));
    assert!(operator.administer().ask_to_resign(&bench.seat()).await.expect("it is supported"), "asking twice is fine");
    let held = operator.sees_holder(&bench.seat()).await;
    assert_eq!((held.tenure, held.token), (Some(office.bid.tenure()), office.grant.token));
    assert!(held.asked_to_resign);
    operator.is_refused(&bench.seat()).await;
}

/// `false` when nobody holds the office: nothing is left there for the next one.
async fn nobody_is_asked_where_nobody_holds(bench: Bench) {
    let [one, operator] = bench.contenders(["one", "operator"]);
    assert!(!operator.administer().ask_to_resign(&bench.seat()).await.expect("it is supported"));
    assert!(!one.wins(&bench.seat()).await.grant.asked_to_resign);
}

/// An evicted holder finds that out at its next renewal, and can neither renew nor remove the bar.
async fn an_evicted_holder_cannot_renew(bench: Bench) {
    let [holder, operator] = bench.contenders(["holder", "operator"]);
    let office = holder.wins(&bench.seat()).await;
    let evicted = operator.administer().evict(&bench.seat()).await.expect("it is supported");
    assert!(matches!(evicted, Evicted::Barred { .. }), "{evicted:?}");
    let sight = holder.cannot_renew(&office.bid, &office.grant.version).await;
    assert!(!sight.is_of(office.bid.tenure()), "{sight:?}");
    holder.withdraw(&office.bid).await;
    operator.is_refused(&bench.seat()).await;
}

/// I1, I4: nobody is elected while the evicted holder may still believe; after that, where the store keeps the time, somebody is.
async fn an_eviction_bars_the_office_for_what_was_left(bench: Bench) {
    let (holder, operator) = (bench.brief("holder"), bench.contender("operator"));
    let office = holder.wins(&bench.seat()).await;
    let evicted = operator.administer().evict(&bench.seat()).await.expect("it is supported");
    let Evicted::Barred { remaining } = evicted else { panic!("{evicted:?}") };
    if bench.kind().contenders_judge() {
        assert!(remaining >= office.ttl(), "whoever first sees the bar now waits a whole lease: {remaining:?}");
        let sight = operator.is_refused(&bench.seat()).await;
        let version = sight.held().map(|held| held.version.clone());
        operator.wins_with(&operator.bid_displacing(&bench.seat(), version)).await;
        return;
    }
    let (_, elected) = operator.succeeds(&office).await;
    let early = office.ttl() / 20;
    assert!(elected.after(early) >= office.kept_until(), "another was elected while the evicted holder may believe");
}

/// Evicting nobody is no error and bars nothing.
async fn evicting_nobody_says_so(bench: Bench) {
    let one = bench.contender("one");
    assert_eq!(one.administer().evict(&bench.seat()).await.expect("it is supported"), Evicted::WasVacant);
    one.wins(&bench.seat()).await;
}
