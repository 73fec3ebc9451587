//! Watching an office.

use super::super::bench::Bench;
use super::super::case::cases;
use crate::backend::{Hint, Sight, Standing, Watch};

cases! {
    the_first_hint_says_that_the_watch_is_armed if pushes;
    a_release_is_pushed_to_observers if pushes;
    a_release_is_pushed_to_candidates if pushes;
    a_removal_is_pushed if pushes, with Remove;
    an_expiry_is_pushed_or_foretold if pushes_expiry;
    a_watch_hears_only_of_its_own_office if pushes;
    a_watch_that_is_cut_off_says_so_and_ends if pushes, with Sever;
    a_watch_can_be_had_again_after_it_was_cut_off if pushes, with Sever;
    a_hundred_watches_are_all_told if pushes;
}

fn says_vacant(hint: &Hint) -> bool {
    matches!(hint, Hint::Vacant | Hint::Changed | Hint::Seen(Sight::Vacant(_)))
}

/// Waits for a hint upon which a candidate looks at the office again.
async fn told_to_look(bench: &Bench, watch: &mut Watch, what: &str) {
    let end = bench.now().after(bench.stretch());
    loop {
        match bench.hint(watch, end.until_from(bench.now())).await {
            Some(Some(hint)) if says_vacant(&hint) => return,
            Some(Some(Hint::Lagged) | None) => panic!("{what}: the watch ended instead"),
            Some(Some(_)) => {}
            None => panic!("{what}: nothing was pushed within {:?}", bench.stretch()),
        }
    }
}

/// SAFETY 13: one stands only after the subscription does, or a vacancy between the two is missed.
async fn the_first_hint_says_that_the_watch_is_armed(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    drop(one.watches(&bench.seat(), None).await);
    one.wins(&bench.seat()).await;
    drop(two.watches(&bench.seat(), None).await);
    let bid = two.bid(&bench.seat());
    two.stand(&bid).await;
    drop(two.watches(&bench.seat(), Some(&bid)).await);
}

/// SEEDS 20, 58: whoever observes hears of a release that comes after the watch is armed.
async fn a_release_is_pushed_to_observers(bench: Bench) {
    let [one, observer] = bench.contenders(["one", "observer"]);
    let office = one.wins(&bench.seat()).await;
    let mut watch = observer.watches(&bench.seat(), None).await;
    one.withdraw(&office.bid).await;
    told_to_look(&bench, &mut watch, "a release").await;
    observer.sees_nobody(&bench.seat()).await;
}

/// SEEDS 20: a candidate that waits hears of it, and wins.
async fn a_release_is_pushed_to_candidates(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let office = one.wins(&bench.seat()).await;
    let bid = two.bid(&bench.seat());
    assert!(!matches!(two.stand(&bid).await, Standing::Elected(_)), "the office is held");
    let mut watch = two.watches(&bench.seat(), Some(&bid)).await;
    one.withdraw(&office.bid).await;
    told_to_look(&bench, &mut watch, "a release").await;
    two.wins_with(&bid).await;
}

/// A record that is removed by hand leaves a vacancy like any other.
async fn a_removal_is_pushed(bench: Bench) {
    let [one, observer] = bench.contenders(["one", "observer"]);
    one.wins(&bench.seat()).await;
    let mut watch = observer.watches(&bench.seat(), None).await;
    bench.remove(&bench.seat()).await;
    told_to_look(&bench, &mut watch, "a removal").await;
}

/// I8: whoever does as the hints say finds the office of a silent holder vacant within the lease and the stretch.
async fn an_expiry_is_pushed_or_foretold(bench: Bench) {
    let (one, observer) = (bench.brief("one"), bench.contender("observer"));
    let office = one.wins(&bench.seat()).await;
    let mut watch = observer.watches(&bench.seat(), None).await;
    let end = bench.now().after(office.ttl() + bench.stretch());
    let mut look_at = end;
    let mut told = false;
    loop {
        match bench.hint(&mut watch, look_at.until_from(bench.now())).await {
            Some(Some(Hint::Eta(span))) => {
                told = true;
                look_at = bench.now().after(span).min(end);
            }
            Some(Some(Hint::Lagged) | None) => panic!("the watch ended"),
            Some(Some(hint)) if !says_vacant(&hint) => {}
            Some(Some(_)) => told = true,
            None => look_at = end,
        }
        if told && observer.sees(&bench.seat()).await.held().is_none() {
            return;
        }
        assert!(bench.now() < end, "the end of the record was neither pushed nor foretold (told anything: {told})");
    }
}

/// SEEDS 24: what happens to another office is none of its business, however similar the name.
async fn a_watch_hears_only_of_its_own_office(bench: Bench) {
    let [one, observer] = bench.contenders(["one", "observer"]);
    let seat = bench.seat();
    let office = one.wins(&seat).await;
    let mut watch = observer.watches(&seat, None).await;
    for other in ["office/x", "office.x", "office-x", "offic"] {
        let other = one.wins(&bench.seat_named(other)).await;
        one.withdraw(&other.bid).await;
    }
    while let Some(hint) = bench.hint(&mut watch, bench.lease() / 8).await {
        match hint {
            Some(Hint::Seen(sight)) => assert!(sight.is_of(office.bid.tenure()), "another's record: {sight:?}"),
            Some(Hint::Vacant) => panic!("an office that is held was called vacant"),
            Some(Hint::Lagged) | None => panic!("the watch ended"),
            Some(Hint::Armed | Hint::Changed | Hint::Eta(_)) => {}
        }
    }
}

/// A stream never ends silently: whoever relied on it would wait for ever.
async fn a_watch_that_is_cut_off_says_so_and_ends(bench: Bench) {
    let [one, observer] = bench.contenders(["one", "observer"]);
    one.wins(&bench.seat()).await;
    let mut watch = observer.watches(&bench.seat(), None).await;
    bench.sever(observer.client()).await;
    let mut last = None;
    loop {
        match bench.hint(&mut watch, bench.stretch() + bench.lease()).await {
            Some(Some(hint)) => last = Some(hint),
            Some(None) => break,
            None => panic!("a watch that is cut off neither spoke nor ended; the last hint was {last:?}"),
        }
    }
    assert_eq!(last, Some(Hint::Lagged), "the last hint says that something may be missed");
}

/// And once the connection stands again, so does a new watch.
async fn a_watch_can_be_had_again_after_it_was_cut_off(bench: Bench) {
    let [one, observer] = bench.contenders(["one", "observer"]);
    let office = one.wins(&bench.seat()).await;
    let watch = observer.watches(&bench.seat(), None).await;
    bench.sever(observer.client()).await;
    drop(watch);
    bench.heal(observer.client()).await;
    let seat = bench.seat();
    let armed = || async {
        let mut watch = observer.backend().watch(&seat, None).await.ok()?;
        let first = bench.hint(&mut watch, bench.stretch()).await?;
        (first == Some(Hint::Armed)).then_some(watch)
    };
    let mut watch = bench.eventually(bench.stretch() + bench.lease(), "a watch after a cut", armed).await;
    // Its office has not ended meanwhile, or its end is what is pushed.
    one.withdraw(&office.bid).await;
    told_to_look(&bench, &mut watch, "a release after a cut").await;
}

/// Every watch is told, not only the first.
async fn a_hundred_watches_are_all_told(bench: Bench) {
    let [one, observer] = bench.contenders(["one", "observer"]);
    let office = one.wins(&bench.seat()).await;
    let mut watches = Vec::new();
    for _ in 0..100 {
        watches.push(observer.watches(&bench.seat(), None).await);
    }
    one.withdraw(&office.bid).await;
    for watch in &mut watches {
        told_to_look(&bench, watch, "a release").await;
    }
}
