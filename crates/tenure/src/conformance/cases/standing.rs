//! Standing for an office that is free, or held.

use super::super::bench::{Bench, all};
use super::super::case::cases;
use crate::backend::{Expiry, Sight};

cases! {
    exactly_one_of_many_concurrent_bids_wins;
    a_bid_made_twice_wins_once;
    a_held_office_is_not_won;
    a_holder_is_seen_as_it_wrote_itself;
    advertised_bytes_come_back_as_they_were;
    an_unusual_candidate_name_comes_back_as_it_was;
    the_record_says_who_judges_its_end;
    two_candidates_of_one_name_are_two;
    a_candidate_can_win_again_after_it_gave_up;
}

/// SEEDS 1: of N concurrent bids for a free office exactly one wins, whichever process it comes from.
async fn exactly_one_of_many_concurrent_bids_wins(bench: Bench) {
    const ROUNDS: usize = 4;
    let contenders: Vec<_> =
        (0..8).map(|number| std::sync::Arc::new(bench.contender(&format!("contender-{number}")))).collect();
    for round in 0..ROUNDS {
        let seat = bench.seat_named(&format!("round-{round}"));
        let start = std::sync::Arc::new(tokio::sync::Barrier::new(contenders.len()));
        let bids = contenders.iter().map(|contender| {
            let (contender, bid, start) = (contender.clone(), contender.bid(&seat), start.clone());
            tokio::spawn(async move {
                start.wait().await;
                contender.runs(&bid).await
            })
        });
        let elected: Vec<_> = all(bids.collect()).await.into_iter().flatten().collect();
        assert_eq!(elected.len(), 1, "exactly one wins: {elected:?}");
        let held = contenders[0].sees_holder(&seat).await;
        assert_eq!(held.tenure, Some(elected[0].bid.tenure()), "and it is the one in the record");
    }
}

/// SAFETY 9, I7: a bid whose answer was lost can be made again; it is the same tenure with the same token, not a second one.
async fn a_bid_made_twice_wins_once(bench: Bench) {
    let [one, other] = bench.contenders(["one", "other"]);
    let first = one.wins(&bench.seat()).await;
    let again = one.wins_with(&first.bid).await;
    assert_eq!(again.grant.token, first.grant.token, "one tenure has one token");
    assert_eq!(again.grant.incarnation, first.grant.incarnation);
    other.sees_unchanged(&again).await;
    one.withdraw(&first.bid).await;
    other.wins(&bench.seat()).await;
}

/// SEEDS 9: a held office is "held" at once: a value and not an error.
async fn a_held_office_is_not_won(bench: Bench) {
    let [one, other] = bench.contenders(["one", "other"]);
    let office = one.wins(&bench.seat()).await;
    for _ in 0..3 {
        let sight = other.is_refused(&bench.seat()).await;
        assert!(sight.is_of(office.bid.tenure()), "it is shown who holds the office: {sight:?}");
    }
    one.sees_unchanged(&office).await;
}

/// SEEDS 8, SAFETY 11: who holds an office can be seen: its name, tenure, version and token are those that it was elected with.
async fn a_holder_is_seen_as_it_wrote_itself(bench: Bench) {
    let [one, other] = bench.contenders(["one (pod 1, zone ä)", "other"]);
    let office = one.wins(&bench.seat()).await;
    let Sight::Held(held) = other.is_refused(&bench.seat()).await else {
        panic!("a bid that lost is shown the holder");
    };
    assert_eq!(&*held.holder, "one (pod 1, zone ä)");
    assert_eq!(held.tenure, Some(office.bid.tenure()));
    assert_eq!(held.version, office.grant.version);
    assert_eq!(held.token, office.grant.token);
    assert!(!held.asked_to_resign);
}

/// What a holder advertises comes back byte by byte: nothing, text, bytes that are no text, and the full KiB.
async fn advertised_bytes_come_back_as_they_were(bench: Bench) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let kilobyte: Vec<u8> = (0..1024_u32).map(|n| (n * 7 % 256) as u8).collect();
    let texts: [&[u8]; 5] = [b"", b"10.0.0.7:8080", b"\"quotes\"\n\\ \0 {}", &every_byte, &kilobyte];
    let watcher = bench.contender("watcher");
    for (number, bytes) in texts.into_iter().enumerate() {
        let seat = bench.seat_named(&format!("text-{number}"));
        let holder = bench.contender("holder").advertising(bytes);
        let office = holder.wins(&seat).await;
        assert_eq!(*watcher.sees_holder(&seat).await.advertise, *bytes);
        holder.keeps(&office).await;
        assert_eq!(*watcher.sees_holder(&seat).await.advertise, *bytes, "also after it was renewed");
    }
}

/// A candidate may have any name of up to 200 bytes of UTF-8 without control characters.
async fn an_unusual_candidate_name_comes_back_as_it_was(bench: Bench) {
    let watcher = bench.contender("watcher");
    for (number, name) in ["é".repeat(100), "a/b:c|d \"e\" {f}\\g%00".into(), "☃".into()].into_iter().enumerate() {
        let seat = bench.seat_named(&format!("name-{number}"));
        bench.contender(&name).wins(&seat).await;
        assert_eq!(*watcher.sees_holder(&seat).await.holder, *name);
    }
}

/// SAFETY 4: a record says whether the store ends it or contenders do, and then after which time, never shorter than the holder counts on.
async fn the_record_says_who_judges_its_end(bench: Bench) {
    let [one, other] = bench.contenders(["one", "other"]);
    let office = one.wins(&bench.seat()).await;
    let held = other.sees_holder(&bench.seat()).await;
    match (bench.kind().contenders_judge(), held.expiry) {
        (true, Expiry::Observe { recorded }) => {
            assert!(recorded >= office.ttl(), "{recorded:?} are recorded and {:?} were granted", office.ttl());
        }
        (true, Expiry::Dead { .. }) => panic!("the holder lives, and is called dead"),
        (false, Expiry::Store { .. }) => {}
        (judges, expiry) => panic!("contenders judge: {judges}, and the record says {expiry:?}"),
    }
}

/// SAFETY 11: a name identifies nobody; two processes that share one never both lead.
async fn two_candidates_of_one_name_are_two(bench: Bench) {
    let [one, twin] = bench.contenders(["same", "same"]);
    let office = one.wins(&bench.seat()).await;
    let sight = twin.is_refused(&bench.seat()).await;
    assert!(sight.is_of(office.bid.tenure()), "{sight:?}");
    twin.withdraw(&twin.bid(&bench.seat())).await;
    one.sees_unchanged(&office).await;
}

/// An incarnation may hold an office many times, under a new tenure id each time.
async fn a_candidate_can_win_again_after_it_gave_up(bench: Bench) {
    let one = bench.contender("one");
    for _ in 0..3 {
        let office = one.wins(&bench.seat()).await;
        one.withdraw(&office.bid).await;
    }
    one.sees_nobody(&bench.seat()).await;
}
