//! How long a holder believes, and how it renews: SAFETY 1, 2, 5, 7, 15; SEEDS 11, 13, 14, 16, 17, 28.

use super::*;

/// The deadline and expiry of a cover that counts from `from`.
fn term(from: f64, ttl: Duration) -> Term {
    let timing = Timing::default();
    Term {
        deadline: at(from).after(timing.deadline_after(ttl).unwrap()),
        expiry: at(from).after(timing.expiry_after(ttl)),
    }
}

#[test]
fn a_holder_counts_from_the_instant_before_sending() {
    // SAFETY 1
    let mut rig = Rig::new();
    rig.start(10.0);
    assert_eq!(rig.in_flight().attempt.sent, at(10.0));
    assert_eq!(rig.elect(12.0, 1).term(), Some(term(10.0, LEASE)));
    rig.wake(15.0);
    assert_eq!(rig.renewing().1, 1);
    assert_eq!(rig.extend(17.5, 2).term(), Some(term(15.0, LEASE)));
}

#[test]
fn the_deadline_leaves_room_for_clocks_that_differ() {
    // SAFETY 2: D + G ≤ L·(1−ρ)/(1+ρ), also where the store's clock is as fast and ours as slow as may be.
    for (percent, expiry) in [(0, 15.0), (8, 15.0 * 0.92 / 1.08), (10, 15.0 * 0.9 / 1.1)] {
        let setup = Setup::new().timing(|timing| timing.rate = RateBound::percent(percent));
        let mut rig = setup.rig();
        rig.start(0.0);
        let term = rig.elect(1.0, 1).term().unwrap();
        assert!(term.expiry <= at(expiry + 1e-9), "{percent} %: {term:?}");
        assert_eq!(term.deadline, term.expiry.before(secs(2.0)));
    }
}

#[test]
fn the_deadline_follows_what_was_granted() {
    // SAFETY 2a: the store may grant more or less than was asked, and every grant anew.
    for ttl in [secs(13.0), LEASE, secs(30.0)] {
        let mut rig = Rig::new();
        rig.start(0.0);
        let won = Grant { cover: Cover::Own { ttl }, ..grant(rig.standing(), 1) };
        assert_eq!(rig.answer(0.5, elected(won)).term(), Some(term(0.0, ttl)));
    }
}

#[test]
fn a_renewal_that_grants_less_shortens_the_belief_at_once() {
    // SAFETY 2b: what the store now grants is what it will expire by, so the longer term is not kept.
    let mut rig = Rig::new();
    rig.start(0.0);
    let won = Grant { cover: Cover::Own { ttl: secs(30.0) }, ..grant(rig.standing(), 1) };
    assert_eq!(rig.answer(0.0, elected(won)).term(), Some(term(0.0, secs(30.0))));
    rig.wake(5.0);
    let less = Grant { cover: Cover::Own { ttl: secs(13.0) }, ..grant(rig.renewing().0, 2) };
    let shorter = rig.answer(5.5, extended(less)).term().unwrap();
    assert_eq!(shorter, term(5.0, secs(13.0)));
    assert!(shorter.deadline < term(0.0, secs(30.0)).deadline);
    // Every renewal asks for the lease of the plan; nothing shrinks it from our side.
    assert_eq!(rig.machine.plan().timing().lease(), LEASE);
}

#[test]
fn a_grant_that_is_too_short_is_withdrawn_and_not_believed() {
    // SAFETY 2a
    let mut rig = Rig::new();
    rig.start(0.0);
    let bid = rig.standing();
    let short = Grant { cover: Cover::Own { ttl: secs(12.0) }, ..grant(bid, 1) };
    let seen = rig.answer(0.5, elected(short));
    assert_eq!(seen.alarms(), [Alarm::GrantTooShort]);
    assert!(!seen.began() && seen.noted(Note::Unusable));
    assert_eq!(rig.withdrawing(), bid);
    // It runs again, after the pace of a failed attempt and under another id.
    rig.answer(1.0, Outcome::Withdrew);
    rig.idle();
    rig.hang_until(2.0);
    assert_ne!(rig.standing(), bid);
}

#[test]
fn a_renewal_that_grants_too_little_ends_the_tenure() {
    // SAFETY 2a
    let mut rig = Rig::leading(&Setup::new());
    rig.wake(5.0);
    let short = Grant { cover: Cover::Own { ttl: secs(2.5) }, ..grant(rig.renewing().0, 2) };
    let seen = rig.answer(5.5, extended(short));
    assert_eq!(seen.ended(), Some(Ending::GrantTooShort));
    assert_eq!(seen.alarms(), [Alarm::GrantTooShort]);
    // The store expires the record by what it granted now, so that is how long work may still run; not the grace, nor the old lease.
    assert_eq!(seen.stop_work_by(), Some(at(5.0).after(Timing::default().expiry_after(secs(2.5)))));
    rig.step(6.0, Input::WorkStopped);
    rig.withdrawing();
}

#[test]
fn what_the_clocks_of_the_store_may_differ_by_is_taken_off_every_grant() {
    // SAFETY 3
    let mut rig = Setup::new().traits(|traits| traits.store_skew = secs(1.0)).rig();
    rig.start(0.0);
    assert_eq!(rig.elect(0.5, 1).term(), Some(term(0.0, secs(14.0))));
    rig.wake(5.0);
    assert_eq!(rig.extend(5.5, 2).term(), Some(term(5.0, secs(14.0))));
}

#[test]
fn the_grace_lies_between_the_deadline_and_expiry() {
    // SAFETY 2e
    let mut rig = Rig::new();
    rig.start(0.0);
    let term = rig.elect(0.5, 1).term().unwrap();
    assert_eq!((term.deadline, term.expiry), (at(0.0).after(DEADLINE), at(0.0).after(EXPIRY)));
    let seen = rig.hang_until(11.0);
    assert_eq!(seen.ended(), Some(Ending::Expired));
    assert_eq!(seen.stop_work_by(), Some(term.expiry));
}

#[test]
fn a_hung_renewal_is_tried_a_second_time_before_the_deadline() {
    // SAFETY 2d
    let mut rig = Rig::leading(&Setup::new());
    rig.wake(5.0);
    let first = rig.in_flight().attempt;
    assert_eq!(rig.wakes_at(), at(8.0), "a call is given up after its timeout");
    rig.wake(8.0);
    let second = rig.in_flight().attempt;
    assert_ne!(first.id, second.id);
    assert_eq!(rig.renewing().1, 1, "conditional on the version that is known");
    assert_eq!(rig.extend(9.0, 2).term(), Some(term(8.0, LEASE)));
}

#[test]
fn a_hung_renewal_loses_at_the_deadline() {
    // SEEDS 17: counted from before the last good request, whatever hangs.
    let mut rig = Rig::leading(&Setup::new());
    rig.wake(5.0);
    rig.extend(7.9, 2);
    let deadline = at(5.0).after(DEADLINE);
    let before = rig.live_until(15.27, |_| None);
    assert_eq!(before.ended(), None);
    assert_eq!(rig.wakes_at(), deadline);
    let seen = rig.step_at(deadline, Input::Wake);
    assert_eq!(seen.ended(), Some(Ending::Expired));
    rig.idle();
}

#[test]
fn whatever_comes_after_a_long_stop_finds_the_tenure_ended() {
    // SAFETY 5, 7; I5; SEEDS 28: the process slept for an hour, and anything at all is the first thing it hears.
    let mut sleeper = Rig::leading(&Setup::new());
    sleeper.wake(5.0);
    let (tenure, _) = sleeper.renewing();
    let renewed = Input::Answer { attempt: sleeper.in_flight().attempt.id, outcome: extended(grant(tenure, 2)) };
    let inputs = [
        Input::Wake,
        renewed,
        Input::Hint(Hint::Changed),
        Input::Health(true),
        Input::Resign,
        Input::Stop,
        Input::CoverMoved { from: at(3600.0), ttl: LEASE },
        Input::CoverLost,
        Input::Start { goal: Goal::Forever, patience: None },
    ];
    for input in inputs {
        let mut rig = sleeper.clone();
        let seen = rig.step(3600.0, input.clone());
        assert_eq!(seen.orders()[0], Action::SetDeadline(None), "{input:?}");
        assert_eq!(seen.ended(), Some(Ending::Expired), "{input:?}");
        assert!(!seen.began() && seen.calls().is_empty(), "{input:?}: {seen:?}");
    }
}

#[test]
fn belief_is_over_at_exactly_the_deadline() {
    // SEEDS 5, 28
    let mut rig = Rig::leading(&Setup::new());
    rig.wake(5.0);
    let mut late = rig.clone();
    let deadline = at(0.0).after(DEADLINE);
    rig.step_at(deadline.before(NANO), Input::Wake);
    assert_eq!(rig.machine.state(), State::Leader);
    // The call in flight is given up at the same instant: that is one ending, and not also a failed renewal.
    let seen = late.step_at(deadline, Input::Wake);
    assert_eq!(seen.ended(), Some(Ending::Expired));
    assert!(!seen.noted(Note::RenewalFailed));
}

#[test]
fn a_win_whose_answer_came_too_late_is_not_believed() {
    // SAFETY 7; I5: with "first error loses" a call may take longer than the deadline leaves.
    let setup = Setup::new().timing(|timing| {
        timing.tolerance = Tolerance::FirstErrorLoses;
        timing.call_timeout = Some(secs(14.0));
    });
    let deadline = at(0.0).after(DEADLINE);
    for (answered, wins) in [(deadline.before(NANO), true), (deadline, false), (at(10.5), false)] {
        let mut rig = setup.rig();
        rig.start(0.0);
        let (bid, attempt) = (rig.standing(), rig.in_flight().attempt.id);
        let won = Input::Answer { attempt, outcome: elected(grant(bid, 1)) };
        assert_eq!(rig.step_at(answered, won).began(), wins);
        if !wins {
            assert_eq!(rig.withdrawing(), bid);
        }
    }
}

#[test]
fn renewal_goes_on_for_a_hundred_intervals() {
    // SEEDS 11
    let mut rig = Rig::leading(&Setup::new());
    let seen = rig.renew_until(505.0);
    assert_eq!(seen.ended(), None);
    assert!(seen.calls().len() >= 100, "{}", seen.calls().len());
    assert_eq!(rig.machine.state(), State::Leader);
}

#[test]
fn renewals_are_spread_over_the_tenth_before_their_time() {
    let mut rig = Rig::new();
    rig.start(0.0);
    rig.random = u64::MAX;
    rig.elect(0.0, 1);
    let (wake, slack) = rig.wake.unwrap();
    assert!(wake > at(4.49) && wake < at(4.51), "{wake:?}");
    // A wake within the slack does the work; an earlier one does not, nor does one that comes early for a renewal that failed.
    assert_eq!(slack, secs(0.05));
    let mut early = rig.clone();
    early.step_at(wake.before(slack * 2), Input::Wake).is_nothing();
    rig.step_at(wake.before(slack), Input::Wake);
    rig.renewing();
    rig.answer(4.6, TRANSIENT);
    assert_eq!(rig.wake.unwrap().1, Duration::ZERO);
}

#[test]
fn three_transient_errors_then_success_keep_leadership() {
    // SEEDS 13
    let mut rig = Rig::leading(&Setup::new());
    let mut failures = 3;
    let seen = rig.live_until(30.0, |call| {
        if failures > 0 {
            failures -= 1;
            return Some(TRANSIENT);
        }
        Some(extended(grant(call.tenure, 2)))
    });
    assert_eq!(seen.ended(), None);
    assert_eq!(rig.machine.state(), State::Leader);
}

#[test]
fn errors_past_the_retry_window_lose_before_the_store_expires_the_record() {
    // SEEDS 14; I4
    for outcome in [TRANSIENT, REFUSED, UNKNOWN] {
        let mut rig = Rig::leading(&Setup::new());
        let kept = rig.live_until(10.27, |_| Some(outcome.clone()));
        assert_eq!(kept.ended(), None, "SAFETY 15: an error is no loss");
        let seen = rig.live_until(10.28, |_| Some(outcome.clone()));
        assert_eq!(seen.ended(), Some(Ending::Expired));
    }
}

#[test]
fn a_lost_connection_is_neither_leadership_nor_its_loss() {
    // SAFETY 15: the deadline stays where it was, neither moved nor cut, and tries go on.
    let mut rig = Rig::leading(&Setup::new());
    rig.wake(5.0);
    let seen = rig.answer(5.1, TRANSIENT);
    assert!(seen.noted(Note::RenewalFailed));
    seen.is_exactly(&[]);
    assert!(rig.wakes_at() > at(5.1) && rig.wakes_at() < at(7.2), "{:?}", rig.wake);
    let seen = rig.hang_until(6.0);
    assert!(matches!(seen.calls()[..], [Op::Renew { .. }]));
    assert_eq!(rig.machine.state(), State::Leader);
}

#[test]
fn the_first_error_loses_where_that_was_chosen() {
    // SEEDS 16
    let setup = Setup::new().timing(|timing| timing.tolerance = Tolerance::FirstErrorLoses);
    for hangs in [false, true] {
        let mut rig = Rig::leading(&setup);
        rig.wake(5.0);
        let seen = if hangs { rig.wake(8.0) } else { rig.answer(5.1, TRANSIENT) };
        assert_eq!(seen.ended(), Some(Ending::RenewalsFailed));
        rig.step(8.5, Input::WorkStopped);
        rig.withdrawing();
    }
}

#[test]
fn so_many_failures_in_a_row_lose_where_that_was_chosen() {
    // SEEDS 16: in a row, so a good renewal starts the count again.
    let setup = Setup::new().timing(|timing| timing.tolerance = Tolerance::FailuresLose(3));
    let mut rig = Rig::leading(&setup);
    let mut answers = [false, false, true, false, false, false].into_iter();
    let seen = rig.live_until(30.0, |call| match answers.next() {
        Some(true) => Some(extended(grant(call.tenure, 2))),
        Some(false) => Some(TRANSIENT),
        None => None,
    });
    assert_eq!(seen.ended(), Some(Ending::RenewalsFailed));
    assert_eq!(answers.next(), None, "all six were asked for");
}

#[test]
fn a_renewal_that_fails_at_once_is_not_repeated_in_a_tight_loop() {
    for outcome in [TRANSIENT, UNKNOWN] {
        let mut rig = Rig::leading(&Setup::new());
        rig.wake(5.0);
        rig.answer(5.0, outcome.clone());
        rig.idle();
        let seen = rig.live_until(10.0, |_| Some(outcome.clone()));
        assert!(seen.calls().len() < 40, "{} calls in 5 s after {outcome:?}", seen.calls().len());
    }
}

#[test]
fn a_failed_renewal_of_a_very_short_lease_is_tried_again_before_the_deadline() {
    // SAFETY 2d, for every lease that is allowed.
    let setup = Setup::new().timing(|timing| timing.lease = Some(Timing::SHORTEST_LEASE));
    let mut rig = setup.rig();
    rig.start(0.0);
    let ten_millis = Grant { cover: Cover::Own { ttl: Timing::SHORTEST_LEASE }, ..grant(rig.standing(), 1) };
    let term = rig.answer(0.0, elected(ten_millis)).term().unwrap();
    let renew_at = rig.wakes_at();
    rig.step_at(renew_at, Input::Wake);
    let attempt = rig.in_flight().attempt.id;
    rig.step_at(renew_at, Input::Answer { attempt, outcome: TRANSIENT });
    assert!(rig.wakes_at() < term.deadline, "{:?} {term:?}", rig.wake);
    rig.step_at(rig.wakes_at(), Input::Wake);
    rig.renewing();
}

#[test]
fn every_renewal_is_conditional_on_the_version_of_the_last() {
    // SAFETY 9, 10
    let mut rig = Rig::leading(&Setup::new());
    for count in 1..10 {
        rig.hang_until(count as f64 * 5.0);
        assert_eq!(rig.renewing().1, count);
        rig.extend(count as f64 * 5.0, count + 1);
    }
}
