//! Judging a silent holder, where contenders do that: SAFETY 1, 3, 4, 10, 11; SEEDS 34.

use super::*;

/// When a stand displaces the holder of which this was seen at 2 s, in answer to a stand sent at 0 s; `None` when none does.
fn displaced_at(setup: &Setup, held: Held) -> Option<Moment> {
    let mut rig = setup.rig();
    let mut first = None;
    rig.start(0.0);
    rig.answer(2.0, occupied(held.clone()));
    rig.live_until(700.0, |call| {
        if let Op::Stand { displace: Some(version) } = &call.op {
            assert_eq!(*version, held.version);
            first = first.or(Some(call.attempt.sent));
        }
        Some(occupied(held.clone()))
    });
    first
}

fn contended() -> Setup {
    // One poll a second, so that a displacement can be told from the poll before it.
    Setup::new().timing(|timing| timing.backoff = Some(Backoff::constant(secs(2.0))))
}

#[test]
fn an_observer_counts_from_the_receipt_of_its_first_sight() {
    // SAFETY 1: sent at 0 s, received at 2 s; the holder may have renewed at any instant between.
    assert_eq!(displaced_at(&contended(), silent(7, secs(15.5))), Some(at(17.5)));
}

#[test]
fn a_rival_is_displaced_after_its_own_recorded_lease() {
    // SAFETY 4: the holder's recorded duration counts, whether our own lease is shorter or longer.
    for recorded in [1.0, 15.0, 600.0] {
        assert_eq!(displaced_at(&contended(), silent(7, secs(recorded))), Some(at(2.0 + recorded)));
    }
}

#[test]
fn a_foreign_holder_is_waited_for_longer() {
    // SAFETY 4: a program that does not shrink its own lease is waited for by (1+ρ)/(1−ρ).
    let foreign = Held { tenure: None, ..silent(7, secs(18.0)) };
    assert_eq!(displaced_at(&contended(), foreign), Some(at(2.0 + 18.0 * 1.1 / 0.9)));
}

#[test]
fn no_foreign_wall_time_decides_anything() {
    // SAFETY 3
    let wait = displaced_at(&contended(), silent(7, secs(15.0)));
    let long_ago = SystemTime::UNIX_EPOCH;
    let far_ahead = SystemTime::now() + Duration::from_secs(1 << 32);
    for since in [None, Some(long_ago), Some(SystemTime::now()), Some(far_ahead)] {
        assert_eq!(displaced_at(&contended(), Held { since, ..silent(7, secs(15.0)) }), wait);
    }
}

#[test]
fn a_store_that_judges_expiry_itself_is_never_told_to_displace() {
    for remaining in [None, Some(Duration::ZERO), Some(LEASE)] {
        let live = Held { expiry: Expiry::Store { remaining }, ..held(7) };
        assert_eq!(displaced_at(&contended(), live), None);
    }
}

#[test]
fn a_changed_version_restarts_the_wait() {
    // SAFETY 4, 10: the holder renewed, so its lease runs anew; everything else about the record may be the same.
    let mut rig = contended().rig();
    rig.start(0.0);
    let mut version = 7;
    let seen = rig.live_until(60.0, |call| {
        version = 7 + (call.attempt.sent.as_nanos() / 5_000_000_000);
        Some(occupied(silent(version, LEASE)))
    });
    assert!(!seen.noted(Note::Displacing), "a holder that renews is never displaced");
    // The last change came at 60 s.
    rig.live_until(74.9, |_| Some(occupied(silent(version, LEASE))));
    rig.hang_until(75.0);
    assert_eq!((rig.displacing(), rig.in_flight().attempt.sent), (Some(version), at(75.0)));
}

#[test]
fn an_unchanged_version_is_waited_for_once_however_often_it_is_seen() {
    // SAFETY 4: from the first sight.
    let mut rig = contended().rig();
    rig.start(0.0);
    rig.live_until(14.9, |_| Some(occupied(silent(7, LEASE))));
    rig.hang_until(15.0);
    assert_eq!(rig.displacing(), Some(7));
    assert_eq!(rig.in_flight().attempt.sent, at(15.0));
}

#[test]
fn one_exact_version_may_be_displaced_and_no_other() {
    // SAFETY 4: the holder renewed while the displacing stand was under way; the next stand displaces nothing.
    let mut rig = contended().rig();
    rig.start(0.0);
    rig.live_until(14.9, |_| Some(occupied(silent(7, LEASE))));
    rig.hang_until(15.0);
    rig.answer(15.1, occupied(silent(8, LEASE)));
    rig.hang_until(17.0);
    assert_eq!(rig.displacing(), None);
}

#[test]
fn a_displacement_that_is_refused_is_not_repeated_in_a_tight_loop() {
    // An evicted holder's record stays barred, for example: the version stays, and displacing it does not work.
    let mut rig = contended().rig();
    rig.start(0.0);
    let seen = rig.live_until(30.0, |_| Some(occupied(silent(7, LEASE))));
    assert!(seen.noted(Note::Displacing));
    assert!(seen.calls().len() <= 31, "{} calls", seen.calls().len());
}

#[test]
fn a_new_process_waits_in_full() {
    // SAFETY 4: what a former life of this candidate saw, or that the record carries our own name, shortens nothing.
    let before = Held { holder: "me".into(), tenure: Some(TenureId::new(0xdead, 3)), ..silent(7, LEASE) };
    assert_eq!(displaced_at(&contended(), before), Some(at(17.0)));
}

#[test]
fn a_proof_of_death_shortens_the_wait() {
    // SAFETY 4: from the first sight of the proof; the full wait may still be over sooner.
    let dead = |after| Held { expiry: Expiry::Dead { after: secs(after) }, ..held(7) };
    assert_eq!(displaced_at(&contended(), dead(0.0)), Some(at(2.0)));
    assert_eq!(displaced_at(&contended(), dead(1.5)), Some(at(3.5)));
    let mut rig = contended().rig();
    rig.start(0.0);
    rig.answer(0.0, occupied(silent(7, LEASE)));
    rig.hang_until(1.0);
    rig.answer(1.0, occupied(dead(0.25)));
    rig.hang_until(1.25);
    assert_eq!((rig.displacing(), rig.in_flight().attempt.sent), (Some(7), at(1.25)));
}

#[test]
fn an_own_record_of_a_former_life_is_taken_back_only_with_the_trust_that_names_it() {
    // SEEDS 34
    let own = || Held { holder: "me".into(), tenure: Some(TenureId::new(0xdead, 3)), ..held(7) };
    assert_eq!(displaced_at(&contended(), own()), None, "the store judges");
    let trusting = Setup { reclaim: Reclaim::TrustingUniqueName, ..contended() };
    assert_eq!(displaced_at(&trusting, own()), Some(at(2.0)));
    assert_eq!(displaced_at(&trusting, Held { holder: "other".into(), ..own() }), None);
    assert_eq!(displaced_at(&trusting, Held { tenure: None, ..own() }), None, "a foreign program writes no tenure");
}

#[test]
fn taking_an_own_record_back_is_a_new_tenure_with_a_new_token() {
    // SEEDS 34: it notifies, renews, and the token rises.
    let mut rig = Setup { reclaim: Reclaim::TrustingUniqueName, ..contended() }.rig();
    let former = TenureId::new(0xdead, 3);
    rig.start(0.0);
    rig.answer(0.0, occupied(Held { holder: "me".into(), tenure: Some(former), token: Some(41), ..held(7) }));
    assert_eq!(rig.displacing(), Some(7));
    assert_ne!(rig.standing(), former);
    let seen = rig.elect(0.1, 42);
    assert_eq!(seen.token(), Some(42));
    rig.hang_until(5.0);
    rig.renewing();
}

#[test]
fn two_processes_with_one_name_never_both_lead() {
    // SAFETY 11: the name is shared by mistake; the nonce of the incarnation is not.
    let twin = |nonce| Setup { nonce, ..Setup::new() };
    for judge in [store::Judge::Store, store::Judge::Contenders] {
        let mut world = store::World::new(judge, &[twin(1), twin(2)]);
        world.start(0.0);
        world.run_until(100.0);
        assert_eq!(world.leaders().len(), 1);
        let first = world.leaders()[0];
        // The one that leads is cut off; the other takes over, once the first has stopped by itself.
        world.cut_off = vec![first];
        world.run_until(200.0);
        assert_eq!(world.leaders(), [1 - first]);
        world.cut_off = vec![];
        world.run_until(300.0);
        assert_eq!(world.leaders(), [1 - first]);
    }
}

#[test]
fn the_wait_is_told_and_kept_by_a_wake() {
    let mut rig = contended().pushed().rig();
    rig.start(0.0);
    rig.answer(0.5, occupied(silent(7, LEASE)));
    rig.hint(0.5, Hint::Armed);
    rig.answer(0.6, occupied(silent(7, LEASE)));
    assert_eq!(rig.wakes_at(), at(15.5), "no poll where the store pushes; then the wait is over");
    let seen = rig.wake(15.5);
    assert!(seen.noted(Note::Displacing));
    assert_eq!(rig.displacing(), Some(7));
}
