//! One session for many offices: SAFETY 21.

use super::*;

const SESSION: SessionId = SessionId(7);

fn covered(from: f64) -> Cover {
    Cover::Shared { session: SESSION, from: at(from), ttl: LEASE }
}

fn shared() -> Setup {
    Setup::new().pushed().traits(|traits| traits.shares_sessions = true)
}

/// Leads under a session since 1 s, whose heartbeat of 0.5 s covers it; the watch stands.
fn leading() -> Rig {
    leading_with(&shared())
}

fn leading_with(setup: &Setup) -> Rig {
    let mut rig = setup.rig();
    rig.start(1.0);
    let won = Grant { cover: covered(0.5), ..grant(rig.standing(), 1) };
    let seen = rig.answer(1.0, elected(won));
    assert!(seen.began());
    assert_eq!(seen.term().unwrap().deadline, at(0.5).after(DEADLINE), "from the heartbeat, not from the stand");
    assert_eq!(rig.machine.session(), Some(SESSION));
    rig.hint(1.0, Hint::Armed);
    rig.answer(1.0, Outcome::Inspected(own(&rig)));
    rig
}

fn own(rig: &Rig) -> Sight {
    Sight::Held(Held { tenure: rig.machine.tenure(), holder: "me".into(), ..held(1) })
}

/// Waits in a queue under a session, with a bid for the vacancy in flight.
fn queued() -> Rig {
    let mut rig = shared().rig();
    rig.start(0.0);
    let answer = || Outcome::Stood(Standing::Queued(Sight::Held(held(1)), Some(covered(0.0))));
    rig.answer(0.0, answer());
    rig.hint(0.0, Hint::Armed);
    rig.answer(0.0, answer());
    assert_eq!(rig.machine.session(), Some(SESSION));
    rig
}

fn moved(from: f64) -> Input {
    Input::CoverMoved { from: at(from), ttl: LEASE }
}

#[test]
fn a_heartbeat_moves_the_deadline_and_no_renewal_is_sent() {
    // SAFETY 21
    let mut rig = leading();
    for beat in 1..50 {
        let sent = f64::from(beat) * 5.0;
        let quiet = rig.hang_until(sent);
        assert!(quiet.calls().is_empty(), "one heartbeat is for all");
        let seen = rig.step(sent + 0.5, moved(sent));
        assert_eq!(seen.term().unwrap().deadline, at(sent).after(DEADLINE));
    }
}

#[test]
fn a_heartbeat_older_than_the_last_moves_nothing() {
    // SAFETY 21: answers may come out of order.
    let mut rig = leading();
    rig.step(6.0, moved(5.0));
    for from in [4.0, 5.0] {
        rig.step(6.5, moved(from)).is_nothing();
    }
    let seen = rig.hang_until(15.28);
    assert_eq!(seen.ended(), Some(Ending::Expired));
}

#[test]
fn without_a_heartbeat_the_deadline_ends_it() {
    let mut rig = leading();
    let seen = rig.hang_until(11.0);
    assert_eq!(seen.ended(), Some(Ending::Expired));
    // A late heartbeat revives nothing.
    assert_eq!(rig.step(11.0, moved(10.9)).term(), None);
}

#[test]
fn a_heartbeat_is_never_credited_beyond_now() {
    let mut rig = leading();
    let seen = rig.step(2.0, moved(3600.0));
    assert_eq!(seen.term().unwrap().deadline, at(2.0).after(DEADLINE));
}

#[test]
fn a_session_that_grants_less_shortens_the_belief_and_too_little_ends_it() {
    // SAFETY 2a
    let mut rig = leading();
    let seen = rig.step(5.5, Input::CoverMoved { from: at(5.0), ttl: secs(13.0) });
    assert!(seen.term().unwrap().deadline < at(5.0).after(DEADLINE));
    let seen = rig.step(6.5, Input::CoverMoved { from: at(6.0), ttl: secs(5.0) });
    assert_eq!(seen.ended(), Some(Ending::GrantTooShort));
    assert_eq!(seen.alarms(), [Alarm::GrantTooShort]);
    // Further ones are no news, and what is stopping is not stopped again.
    rig.step(7.5, Input::CoverMoved { from: at(7.0), ttl: secs(5.0) }).is_nothing();
}

#[test]
fn a_heartbeat_whose_shorter_cover_is_over_already_ends_the_tenure_at_once() {
    // SAFETY 7: no deadline of the past is published.
    let setup = shared().timing(|timing| timing.call_timeout = Some(secs(1.0)));
    let leading = leading_with(&setup);
    let over = at(0.6).after(setup.timing.build().unwrap().deadline_after(secs(12.0)).unwrap());
    for now in [over, at(9.0)] {
        let mut rig = leading.clone();
        let seen = rig.step_at(now, Input::CoverMoved { from: at(0.6), ttl: secs(12.0) });
        assert_eq!(seen.ended(), Some(Ending::Expired));
        assert_eq!(seen.term(), None);
    }
}

#[test]
fn a_lost_session_ends_what_it_carries() {
    // SAFETY 21: the record is gone with it, so work stops at once and there is nothing to withdraw.
    let mut rig = leading();
    let seen = rig.step(5.0, Input::CoverLost);
    assert_eq!(seen.ended(), Some(Ending::SessionLost));
    assert_eq!(seen.stop_work_by(), Some(at(5.0)));
    let seen = rig.step(6.0, Input::WorkStopped);
    assert!(seen.calls().is_empty());
    assert!(!rig.watch, "the watch was for a tenure that is no more");
    rig.hang_until(7.0);
    rig.standing();
    let mut rig = shared().rig();
    rig.start_for(0.0, Goal::OneTenure, None);
    let won = Grant { cover: covered(0.0), ..grant(rig.standing(), 1) };
    rig.answer(0.0, elected(won));
    assert!(rig.watch);
    rig.step(1.0, Input::CoverLost);
    assert_eq!(rig.step(1.0, Input::WorkStopped).finished(), Some(Finish::TenureEnded));
    assert!(!rig.watch);
}

#[test]
fn a_session_lost_while_work_stops_stops_it_at_once_and_is_told_no_second_time() {
    let mut rig = leading();
    assert_eq!(rig.step(5.0, Input::Resign).stop_work_by(), Some(at(7.0)));
    let seen = rig.step(5.5, Input::CoverLost);
    assert_eq!((seen.ended(), seen.stop_work_by()), (None, Some(at(5.5))));
    assert!(rig.step(5.5, Input::CoverLost).orders().is_empty());
    // Nor by a look that was under way.
    let mut looks = leading();
    looks.hint(5.0, Hint::Changed);
    looks.step(5.1, Input::Resign);
    looks.step(5.2, Input::CoverLost);
    assert!(looks.answer(5.3, Outcome::Inspected(Sight::Vacant(Vacancy::Free))).orders().is_empty());
    let seen = rig.step(6.0, Input::WorkStopped);
    assert!(seen.calls().is_empty(), "nothing of ours is left in the store");
}

#[test]
fn a_session_lost_after_the_tenure_was_moves_no_kill() {
    // SEEDS 26
    let setup = shared().timing(|timing| timing.kill_after = Some(secs(4.0)));
    let mut rig = leading_with(&setup);
    assert_eq!(rig.hang_until(11.0).ended(), Some(Ending::Expired));
    rig.step(12.0, Input::CoverLost);
    assert!(rig.hang_until(14.8).killed());
    assert!(!rig.hang_until(30.0).killed());
}

#[test]
fn a_session_lost_in_the_minimum_hold_ends_the_hold() {
    let setup = shared().timing(|timing| timing.at_least = secs(60.0));
    let mut rig = leading_with(&setup);
    rig.step(5.0, Input::Resign);
    rig.step(5.0, Input::WorkStopped);
    assert_eq!(rig.machine.state(), State::SteppingDown);
    let seen = rig.step(5.5, Input::CoverLost);
    assert!(seen.calls().is_empty());
    assert_eq!(rig.machine.state(), State::Candidate);
}

#[test]
fn losing_or_moving_a_session_means_nothing_to_a_record_of_its_own() {
    let mut rig = Rig::leading(&Setup::new());
    rig.step(1.0, Input::CoverLost).is_nothing();
    rig.step(1.0, moved(0.9)).is_nothing();
    assert_eq!(rig.machine.state(), State::Leader);
}

#[test]
fn a_waiting_candidate_whose_session_died_withdraws() {
    // SAFETY 21: its place is gone; and a win that is still under way was won by a dead session.
    for bidding in [false, true] {
        let mut rig = queued();
        let bid = rig.machine.tenure().unwrap();
        if bidding {
            rig.hint(1.0, Hint::Vacant);
            rig.standing();
        }
        let stale = rig.ordered.clone().unwrap().attempt.id;
        rig.step(1.5, Input::CoverLost);
        assert_eq!(rig.withdrawing(), bid);
        let phantom = elected(Grant { cover: covered(0.0), ..grant(bid, 2) });
        rig.step(1.6, Input::Answer { attempt: stale, outcome: phantom }).is_nothing();
        rig.answer(1.7, Outcome::Withdrew);
        assert_ne!(rig.standing(), bid);
    }
}

#[test]
fn a_session_that_is_over_again_and_again_floods_no_store() {
    // DESIGN: what fails at once is not repeated at once. Found by the model checker: a bid came late and opened a session in the store; to every
    // bid after it the store named that session, which by the candidate's own clock was over.
    let mut rig = shared().rig();
    let mut bids = 0;
    rig.start(20.0);
    while rig.machine.is_calling() && bids < 10 {
        match rig.in_flight().op {
            Op::Stand { .. } => {
                bids += 1;
                rig.answer(20.0, Outcome::Stood(Standing::Queued(Sight::Held(held(1)), Some(covered(0.0)))));
                rig.step(20.0, Input::CoverLost);
            }
            _ => drop(rig.answer(20.0, Outcome::Withdrew)),
        }
    }
    assert!(bids < 5, "so many bids at one instant: {bids}");
    assert!(rig.wakes_at() > at(20.0), "and it goes on later");
}

#[test]
fn a_win_under_a_cover_that_is_over_already_is_not_believed() {
    // SAFETY 7, 21
    let mut rig = queued();
    let bid = rig.machine.tenure().unwrap();
    rig.hint(10.0, Hint::Vacant);
    let late = Grant { cover: covered(0.0), ..grant(bid, 2) };
    assert!(!rig.answer(10.3, elected(late)).began());
    assert_eq!(rig.withdrawing(), bid);
}

#[test]
fn a_record_that_is_removed_under_a_living_session_is_noticed() {
    // SAFETY 14, 21: the heartbeats go on, so nothing else would ever end it.
    for hint in [Hint::Changed, Hint::Vacant, Hint::Seen(Sight::Vacant(Vacancy::Removed))] {
        let mut rig = leading();
        rig.hint(5.0, hint);
        rig.inspecting();
        let seen = rig.answer(5.1, Outcome::Inspected(Sight::Vacant(Vacancy::Removed)));
        assert_eq!(seen.ended(), Some(Ending::Deposed));
    }
}

#[test]
fn a_push_that_shows_our_own_record_is_no_news() {
    let mut rig = leading();
    let sight = own(&rig);
    rig.hint(5.0, Hint::Seen(sight)).is_nothing();
    rig.hint(5.0, Hint::Eta(secs(1.0))).is_nothing();
    rig.idle();
}

#[test]
fn a_push_while_the_record_is_read_is_not_lost() {
    // The answer may be older than the push; without a second look two would lead for as long as the session lives.
    let mut rig = leading();
    rig.hint(5.0, Hint::Changed);
    let first = rig.in_flight().attempt.id;
    rig.hint(5.05, Hint::Vacant);
    let sight = own(&rig);
    rig.answer(5.1, Outcome::Inspected(sight));
    assert_ne!(rig.in_flight().attempt.id, first);
    rig.inspecting();
    let seen = rig.answer(5.2, Outcome::Inspected(Sight::Held(held(9))));
    assert_eq!(seen.ended(), Some(Ending::Deposed));
}

#[test]
fn a_push_while_the_winning_bid_was_under_way_is_not_lost() {
    let mut rig = queued();
    rig.hint(1.0, Hint::Vacant);
    let bid = rig.standing();
    rig.hint(1.1, Hint::Changed);
    let won = Grant { cover: covered(0.0), ..grant(bid, 2) };
    assert!(rig.answer(1.2, elected(won)).began());
    rig.inspecting();
}

#[test]
fn a_record_is_read_now_and_then_where_the_store_pushes_nothing() {
    let setup = Setup::new().traits(|traits| traits.shares_sessions = true);
    let mut rig = setup.rig();
    rig.start(1.0);
    let won = Grant { cover: covered(0.5), ..grant(rig.standing(), 1) };
    rig.answer(1.0, elected(won));
    for beat in 1..5 {
        rig.hang_until(f64::from(beat) * 5.0 + 1.0);
        rig.inspecting();
        let sight = own(&rig);
        rig.answer(f64::from(beat) * 5.0 + 1.0, Outcome::Inspected(sight));
        rig.step(f64::from(beat) * 5.0 + 1.0, moved(f64::from(beat) * 5.0 + 0.9));
    }
}

#[test]
fn a_holders_watch_that_may_have_missed_something_is_made_anew_after_a_look() {
    let mut rig = leading();
    rig.hint(2.0, Hint::Lagged);
    let seen = rig.hang_until(4.0);
    assert!(seen.0.contains(&Action::Watch(true)), "{seen:?}");
    rig.inspecting();
}

#[test]
fn a_settled_win_under_a_session_is_read_again_before_it_is_announced() {
    // SAFETY 13, 14
    let setup = shared().timing(|timing| timing.settle = Settle::For(secs(4.0)));
    let mut rig = setup.rig();
    rig.start(0.0);
    let won = Grant { cover: covered(0.0), ..grant(rig.standing(), 1) };
    assert!(!rig.answer(0.0, elected(won)).began());
    let sight = own(&rig);
    let mut quiet = rig.clone();
    quiet.hang_until(4.0);
    assert!(quiet.answer(4.1, Outcome::Inspected(sight.clone())).began());
    // Read early, because the watch came to stand: that confirms nothing.
    rig.hint(2.0, Hint::Armed);
    assert!(!rig.answer(4.5, Outcome::Inspected(sight.clone())).began());
    rig.inspecting();
    let mut lost = rig.clone();
    assert!(rig.answer(4.6, Outcome::Inspected(sight)).began());
    let seen = lost.answer(4.6, Outcome::Inspected(Sight::Held(held(9))));
    assert!(!seen.began() && seen.ended().is_none());
}

#[test]
fn a_session_lost_while_settling_announces_nothing() {
    let setup = shared().timing(|timing| timing.settle = Settle::For(secs(4.0)));
    let mut rig = setup.rig();
    rig.start(0.0);
    let won = Grant { cover: covered(0.0), ..grant(rig.standing(), 1) };
    rig.answer(0.0, elected(won));
    let mut looks = rig.clone();
    looks.hint(0.5, Hint::Armed);
    looks.inspecting();
    for mut rig in [rig, looks] {
        let seen = rig.step(1.0, Input::CoverLost);
        assert!(!seen.began() && seen.ended().is_none() && seen.calls().is_empty());
        assert_eq!(rig.machine.state(), State::Candidate);
        rig.idle();
    }
}

#[test]
fn one_who_is_asked_to_resign_hears_it_through_the_watch() {
    let mut rig = leading();
    let asked = Sight::Held(Held { tenure: rig.machine.tenure(), asked_to_resign: true, ..held(1) });
    rig.hint(5.0, Hint::Seen(asked.clone()));
    rig.inspecting();
    let seen = rig.answer(5.1, Outcome::Inspected(asked));
    assert_eq!(seen.ended(), Some(Ending::AskedToResign));
}

#[test]
fn a_look_that_failed_is_forgiven_by_one_that_did_not() {
    // SEEDS 16: in a row.
    let setup = shared().timing(|timing| timing.tolerance = Tolerance::FailuresLose(2));
    let mut rig = leading_with(&setup);
    for round in 0..3 {
        let now = 2.0 + f64::from(round) * 2.0;
        rig.hint(now, Hint::Changed);
        assert_eq!(rig.answer(now, TRANSIENT).ended(), None);
        rig.hang_until(now + 1.5);
        let sight = own(&rig);
        rig.answer(now + 1.5, Outcome::Inspected(sight));
    }
    rig.hint(8.0, Hint::Changed);
    rig.answer(8.0, TRANSIENT);
    rig.hang_until(9.0);
    assert_eq!(rig.answer(9.0, TRANSIENT).ended(), Some(Ending::RenewalsFailed));
}
