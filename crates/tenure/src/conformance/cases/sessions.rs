//! One session that covers many offices.

use super::super::bench::Bench;
use super::super::case::cases;
use crate::backend::{Beat, Cover, Sight};

cases! {
    the_offices_of_one_client_share_a_session if shares_sessions;
    clients_have_sessions_of_their_own if shares_sessions;
    a_cover_counts_from_before_its_request if shares_sessions;
    one_heartbeat_extends_everything_it_covers if shares_sessions;
    a_session_ends_everything_it_covers if shares_sessions;
    the_heartbeat_of_a_session_that_ended_says_lost if shares_sessions;
    giving_up_one_office_keeps_the_others if shares_sessions;
    a_client_whose_session_ended_can_win_again if shares_sessions;
}

/// SAFETY 21: one heartbeat is to serve many elections.
async fn the_offices_of_one_client_share_a_session(bench: Bench) {
    let one = bench.contender("one");
    let first = one.wins(&bench.seat_named("first")).await;
    let second = one.wins(&bench.seat_named("second")).await;
    assert_eq!(first.session(), second.session());
}

/// SAFETY 21: and not those of another process.
async fn clients_have_sessions_of_their_own(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let first = one.wins(&bench.seat_named("first")).await;
    let second = two.wins(&bench.seat_named("second")).await;
    assert_ne!(first.session(), second.session());
    one.withdraw(&first.bid).await;
    assert!(matches!(two.beat(second.session()).await, Beat::Extended { .. }));
    two.sees_unchanged(&second).await;
}

/// SAFETY 1: what a session is worth counts from before the request that extended it was sent; never from its answer.
async fn a_cover_counts_from_before_its_request(bench: Bench) {
    let one = bench.contender("one");
    for number in 0..3 {
        bench.pass(bench.lease() / 10).await;
        let office = one.wins(&bench.seat_named(&format!("office-{number}"))).await;
        let Cover::Shared { from, ttl, .. } = office.grant.cover else { panic!("a session covers it") };
        assert!(from <= office.sent, "the cover counts from {from:?}, and the bid was sent at {:?}", office.sent);
        assert!(!ttl.is_zero());
    }
}

/// SAFETY 21: a heartbeat extends every office on the session.
async fn one_heartbeat_extends_everything_it_covers(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    'attempts: for _ in 0..5 {
        let first = one.wins(&bench.seat_named("first")).await;
        let second = one.wins(&bench.seat_named("second")).await;
        let mut kept = second.clone();
        while bench.now() < second.kept_until().after(bench.lease() / 2) {
            bench.pass(bench.lease() / 4).await;
            if bench.now() >= kept.kept_until() {
                // The machine slept for a whole lease. That proves nothing: once more.
                one.withdraw(&first.bid).await;
                one.withdraw(&second.bid).await;
                continue 'attempts;
            }
            kept = one.keeps(&kept).await;
        }
        let [saw_first, saw_second] = [two.sees(first.bid.seat()).await, two.sees(second.bid.seat()).await];
        if bench.now() < kept.kept_until() {
            assert!(saw_first.is_of(first.bid.tenure()), "{saw_first:?}");
            assert!(saw_second.is_of(second.bid.tenure()), "{saw_second:?}");
            return;
        }
    }
    panic!("the machine is too slow for a lease of {:?}", bench.lease());
}

/// SAFETY 21: a session ends all that it carries.
async fn a_session_ends_everything_it_covers(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let first = one.wins(&bench.seat_named("first")).await;
    let second = one.wins(&bench.seat_named("second")).await;
    for office in [first, second] {
        let ended = || async { matches!(two.sees(office.bid.seat()).await, Sight::Vacant(_)).then_some(()) };
        bench.eventually(office.ttl() + bench.stretch(), "an office ends with its session", ended).await;
        two.wins(office.bid.seat()).await;
    }
}

/// SAFETY 21: whoever beats too late learns that nothing is left, and does not bring it back.
async fn the_heartbeat_of_a_session_that_ended_says_lost(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let office = one.wins(&bench.seat()).await;
    let ended = || async { two.sees(&bench.seat()).await.held().is_none().then_some(()) };
    bench.eventually(office.ttl() + bench.stretch(), "an office ends with its session", ended).await;
    assert_eq!(one.beat(office.session()).await, Beat::Lost);
    two.sees_nobody(&bench.seat()).await;
}

/// SAFETY 21: resigning one office touches its own key only.
async fn giving_up_one_office_keeps_the_others(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let first = one.wins(&bench.seat_named("first")).await;
    let second = one.wins(&bench.seat_named("second")).await;
    one.withdraw(&first.bid).await;
    one.sees_unchanged(&second).await;
    assert!(matches!(one.beat(second.session()).await, Beat::Extended { .. }));
    two.wins(first.bid.seat()).await;
    two.is_refused(second.bid.seat()).await;
}

/// I8: the next bid opens a session by itself, and it is another tenure.
async fn a_client_whose_session_ended_can_win_again(bench: Bench) {
    let (one, two) = (bench.brief("one"), bench.contender("two"));
    let first = one.wins(&bench.seat()).await;
    let ended = || async { two.sees(&bench.seat()).await.held().is_none().then_some(()) };
    bench.eventually(first.ttl() + bench.stretch(), "an office ends with its session", ended).await;
    let again = one.wins(&bench.seat()).await;
    assert_ne!(again.session(), first.session());
    assert!(matches!(one.beat(again.session()).await, Beat::Extended { .. }));
    if bench.kind().has_tokens() {
        assert!(again.token() > first.token(), "{first:?} {again:?}");
    }
}
