//! Offices with different names are different offices.

use super::super::bench::Bench;
use super::super::case::cases;
use super::super::contender::Office;
use crate::backend::Standing;
use crate::{ErrorKind, Seat};

cases! {
    offices_do_not_disturb_each_other;
    similar_names_are_different_offices;
    long_names_are_told_apart_to_their_last_letter;
}

/// SEEDS 24: what happens to one office leaves the others as they are.
async fn offices_do_not_disturb_each_other(bench: Bench) {
    let [one, two] = bench.contenders(["one", "two"]);
    let kept = one.wins(&bench.seat_named("kept")).await;
    let given_up = one.wins(&bench.seat_named("given-up")).await;
    let others = two.wins(&bench.seat_named("others")).await;
    one.withdraw(&given_up.bid).await;
    one.sees_unchanged(&kept).await;
    two.sees_unchanged(&others).await;
    two.sees_nobody(given_up.bid.seat()).await;
    two.wins(given_up.bid.seat()).await;
    let kept = one.keeps(&kept).await;
    one.sees_unchanged(&kept).await;
    two.is_refused(kept.bid.seat()).await;
}

/// No office is the victim of another whose name is a prefix of its own, or looks like it once it is encoded.
async fn similar_names_are_different_offices(bench: Bench) {
    let names = ["a", "a/b", "a.b", "a-b", "a_b", "ab", "A", "a/b/c", "a.b.c", "a--b", "a2fb"];
    held_apart(&bench, names.iter().map(|name| bench.seat_named(name)).collect()).await;
}

/// A name may have 200 bytes, and every one of them counts.
async fn long_names_are_told_apart_to_their_last_letter(bench: Bench) {
    let long = |last: &str| {
        let start = bench.seat_named("long-name/with.parts-");
        let filled = format!("{start}{}", "x".repeat(Seat::MAX_BYTES - start.as_str().len() - last.len()));
        Seat::new(&format!("{filled}{last}")).expect("200 bytes are allowed")
    };
    held_apart(&bench, vec![long("y"), long("z"), long("/z"), long(".z")]).await;
}

/// All of these are held at once by holders of their own, and are given up one by one.
async fn held_apart(bench: &Bench, seats: Vec<Seat>) {
    let [one, two] = bench.contenders(["one", "two"]);
    let mut offices: Vec<Office> = Vec::new();
    for (number, seat) in seats.iter().enumerate() {
        let holder = if number % 2 == 0 { &one } else { &two };
        let bid = holder.bid(seat);
        match holder.try_stand(&bid).await {
            Ok((Standing::Elected(grant), sent)) => offices.push(Office { bid, grant, sent }),
            Ok((other, _)) => panic!("{seat} is taken for another office: {other:?}"),
            // A backend may narrow what names it takes, and says so; what it takes it keeps apart.
            Err(refused) if refused.kind() == ErrorKind::InvalidName => {}
            Err(error) => panic!("{seat}: {error:?}"),
        }
    }
    assert!(offices.len() > 1, "hardly any name is taken");
    while let Some(given_up) = offices.pop() {
        for office in &offices {
            one.sees_unchanged(office).await;
        }
        one.sees_unchanged(&given_up).await;
        two.withdraw(&given_up.bid).await;
        one.sees_nobody(given_up.bid.seat()).await;
    }
}
