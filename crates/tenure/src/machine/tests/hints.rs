//! Waiting for a push: no polling, no lost wake-up, no flood.

use super::*;

/// Waits behind a holder, with an armed watch, since 1 s.
fn watching(sight: Held) -> Rig {
    let mut rig = Setup::new().pushed().rig();
    rig.start(0.0);
    rig.answer(0.0, occupied(sight.clone()));
    assert!(rig.watch);
    rig.idle();
    rig.hint(1.0, Hint::Armed);
    rig.standing();
    rig.answer(1.0, occupied(sight));
    rig
}

#[test]
fn a_watch_is_asked_for_once_another_holds_and_only_where_the_store_pushes() {
    let mut rig = Rig::new();
    rig.start(0.0);
    rig.answer(0.0, occupied(held(1)));
    assert!(!rig.watch);
    watching(held(1));
}

#[test]
fn what_happened_before_the_watch_stood_is_looked_into_once() {
    // SAFETY 13: the answer may be older than the subscription.
    let mut rig = Setup::new().pushed().rig();
    rig.start(0.0);
    rig.answer(0.0, occupied(held(1)));
    rig.hint(0.2, Hint::Armed);
    assert!(rig.elect(0.3, 2).began());
}

#[test]
fn a_candidate_whose_watch_stands_asks_nothing_for_nine_leases_and_then_looks() {
    let mut rig = watching(held(1));
    let seen = rig.hang_until(1.0 + 9.0 * 15.0);
    assert!(seen.calls().is_empty(), "{:?}", seen.calls());
    rig.hang_until(1.0 + 10.0 * 15.0);
    rig.standing();
}

#[test]
fn a_candidate_without_a_watch_asks_at_its_pace() {
    let mut rig = Rig::new();
    rig.random = MIDDLE;
    rig.start(0.0);
    let seen = rig.live_until(20.0, |_| Some(occupied(held(1))));
    assert_eq!(seen.calls().len(), 10, "every 2 s");
}

#[test]
fn a_vacancy_that_is_pushed_is_stood_for_at_once() {
    for hint in [Hint::Vacant, Hint::Changed, Hint::Seen(Sight::Vacant(Vacancy::Free))] {
        let mut rig = watching(held(1));
        rig.hint(2.0, hint);
        assert_eq!(rig.in_flight().attempt.sent, at(2.0));
        assert!(rig.elect(2.1, 2).began());
    }
}

#[test]
fn a_push_alone_wins_nothing() {
    // SAFETY 13: only the answer of the store to a stand does.
    let mut rig = watching(held(1));
    let own = rig.machine.tenure();
    for hint in [Hint::Vacant, Hint::Seen(Sight::Held(Held { tenure: own, ..held(2) }))] {
        let mut rig = rig.clone();
        assert!(!rig.hint(2.0, hint).began());
        rig.standing();
    }
    rig.hint(2.0, Hint::Eta(Duration::ZERO));
    rig.standing();
}

#[test]
fn a_queued_bid_that_is_seen_in_office_is_claimed_at_once() {
    let mut rig = Setup::new().pushed().rig();
    rig.start(0.0);
    let bid = rig.standing();
    let queued = || Outcome::Stood(Standing::Queued(Sight::Held(held(1)), None));
    rig.answer(0.0, queued());
    rig.hint(0.5, Hint::Armed);
    rig.answer(0.5, queued());
    rig.hint(1.0, Hint::Seen(Sight::Held(Held { tenure: Some(bid), ..held(2) })));
    assert_eq!(rig.standing(), bid);
    assert!(rig.elect(1.1, 2).began());
}

#[test]
fn a_push_while_a_bid_is_in_flight_is_not_lost() {
    // Its answer may be older than the news.
    for hint in [Hint::Vacant, Hint::Changed, Hint::Seen(Sight::Vacant(Vacancy::Free)), Hint::Armed] {
        let mut rig = watching(held(1));
        rig.hint(2.0, Hint::Changed);
        let first = rig.in_flight().attempt.id;
        rig.hint(2.1, hint.clone()).is_nothing();
        rig.answer(2.2, occupied(held(1)));
        assert_ne!(rig.in_flight().attempt.id, first, "{hint:?}");
        rig.answer(2.3, occupied(held(1)));
        rig.idle();
    }
}

#[test]
fn an_expected_vacancy_is_stood_for_when_it_is_due() {
    let mut rig = watching(held(1));
    rig.hint(2.0, Hint::Eta(secs(3.0))).is_nothing();
    assert_eq!(rig.wakes_at(), at(5.0));
    rig.hint(2.0, Hint::Eta(secs(30.0))).is_nothing();
    assert_eq!(rig.wakes_at(), at(5.0), "no push postpones what is due sooner");
    rig.hint(2.0, Hint::Lagged);
    rig.hint(2.0, Hint::Eta(secs(30.0))).is_nothing();
    assert_eq!(rig.wakes_at(), at(3.0));
    // Also if it was told while a bid was in flight.
    let mut rig = watching(held(1));
    rig.hint(2.0, Hint::Changed);
    rig.hint(2.1, Hint::Eta(secs(3.0)));
    rig.answer(2.2, occupied(held(1)));
    assert_eq!(rig.wakes_at(), at(5.1));
}

#[test]
fn what_is_left_of_a_holders_record_is_the_latest_time_to_look() {
    let live = |remaining| Held { expiry: Expiry::Store { remaining: Some(secs(remaining)) }, ..held(1) };
    let mut rig = Setup::new().timing(|timing| timing.backoff = Some(Backoff::constant(secs(60.0)))).rig();
    rig.start(1.0);
    rig.answer(1.0, occupied(live(6.0)));
    assert_eq!(rig.wakes_at(), at(7.0));
    let seen = rig.live_until(8.0, |_| Some(occupied(live(0.0))));
    assert!(seen.calls().len() <= 11, "nothing is left and yet it is held: {} calls in a second", seen.calls().len());
}

#[test]
fn what_is_left_of_a_record_needs_no_asking_where_its_end_is_pushed() {
    let live = Held { expiry: Expiry::Store { remaining: Some(secs(6.0)) }, ..held(1) };
    assert_eq!(watching(live).wakes_at(), at(151.0));
}

#[test]
fn a_watch_that_may_have_missed_something_is_made_anew() {
    let mut rig = watching(held(1));
    rig.hint(2.0, Hint::Lagged).is_nothing();
    let seen = rig.hang_until(3.0);
    assert!(matches!(seen.calls()[..], [Op::Stand { .. }]));
    let seen = rig.answer(3.0, occupied(held(1)));
    assert!(seen.0.contains(&Action::Watch(true)), "{seen:?}");
    // Until it stands, the pace is that of polling.
    assert!(rig.wakes_at() <= at(5.0));
}

#[test]
fn every_candidacy_has_a_watch_of_its_own() {
    let mut rig = watching(held(1));
    rig.hint(2.0, Hint::Changed);
    assert!(rig.answer(2.0, UNKNOWN).0.contains(&Action::Watch(false)));
    rig.answer(2.0, Outcome::Withdrew);
    rig.hang_until(3.0);
    let seen = rig.answer(3.0, occupied(held(1)));
    assert!(seen.0.contains(&Action::Watch(true)), "{seen:?}");
}

#[test]
fn an_office_that_is_vacant_and_yet_not_won_is_tried_again_soon() {
    // No push need follow: the vacancy itself was told already.
    let mut rig = watching(held(1));
    rig.hint(2.0, Hint::Vacant);
    rig.answer(2.1, Outcome::Stood(Standing::Held(Sight::Vacant(Vacancy::Removed))));
    rig.idle();
    assert!(rig.wakes_at() > at(3.0) && rig.wakes_at() <= at(5.1), "{:?}", rig.wake);
}

#[test]
fn a_record_that_is_pushed_is_observed_without_asking() {
    // SAFETY 4, with Hint::Seen: every renewal of the holder restarts the wait, and nothing is asked meanwhile.
    let mut rig = watching(silent(1, LEASE));
    for count in 0u32..20 {
        rig.hint(5.0 + f64::from(count) * 5.0, Hint::Seen(Sight::Held(silent(2 + u64::from(count), LEASE))));
        rig.idle();
    }
    assert_eq!(rig.wakes_at(), at(100.0).after(LEASE));
    rig.hang_until(115.0);
    assert_eq!(rig.displacing(), Some(21));
}

#[test]
fn a_flood_of_pushes_makes_one_bid_at_a_time() {
    let mut rig = watching(held(1));
    rig.hint(2.0, Hint::Changed);
    for _ in 0..1000 {
        rig.hint(2.0, Hint::Changed).is_nothing();
    }
    rig.answer(2.1, occupied(held(1)));
    rig.answer(2.2, occupied(held(1)));
    rig.idle();
}

#[test]
fn the_ghost_of_an_own_bid_that_is_pushed_is_looked_into() {
    let mut rig = watching(held(1));
    let ghost = TenureId::new(rig.machine.plan().nonce(), 77);
    rig.hint(2.0, Hint::Seen(Sight::Held(Held { tenure: Some(ghost), ..held(2) })));
    rig.standing();
    rig.answer(2.1, occupied(Held { tenure: Some(ghost), ..held(2) }));
    assert_eq!(rig.withdrawing(), ghost);
}

#[test]
fn a_watch_ends_with_the_candidacy_it_was_for() {
    let mut rig = watching(held(1));
    rig.hint(2.0, Hint::Vacant);
    rig.elect(2.1, 2);
    assert!(!rig.watch, "a holder's own renewals tell it everything");
    for hint in [Hint::Vacant, Hint::Changed, Hint::Lagged, Hint::Seen(Sight::Vacant(Vacancy::Removed))] {
        rig.hint(2.2, hint).is_nothing();
    }
    for input in [Input::Stop, Input::Health(false)] {
        let mut rig = watching(held(1));
        rig.step(2.0, input);
        assert!(!rig.watch);
    }
}
