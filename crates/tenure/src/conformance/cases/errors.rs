//! A store that cannot be reached: an answer that is not known is never guessed.

use std::future::Future;
use std::sync::Arc;

use super::super::bench::Bench;
use super::super::case::cases;
use super::super::contender::{Contender, Office};
use crate::Error;
use crate::backend::{Bid, Renewal, Standing};

cases! {
    a_client_that_is_cut_off_hears_errors_and_no_answers, with Sever;
    a_client_that_is_frozen_hears_errors_and_no_answers, with Freeze;
    a_bid_that_surely_failed_did_not_land, with Sever;
    a_cut_ends_no_tenure, with Sever;
    everything_works_again_after_a_cut, with Sever;
    a_bid_that_hung_can_be_withdrawn, with Freeze;
    a_renewal_that_hung_leaves_the_record_ours, with Freeze;
    a_bid_whose_answer_was_lost_is_never_called_failed, with Mute;
    a_bid_whose_answer_was_lost_wins_when_it_is_made_again, with Mute;
    a_renewal_whose_answer_was_lost_leaves_the_record_ours, with Mute;
    a_withdrawal_counts_also_after_a_renewal_whose_answer_was_lost, with Mute;
    a_withdrawal_whose_answer_was_lost_can_be_made_again, with Mute;
}

/// Makes a call that nothing can come of, and gives what it answered in half a lease. A call is never dropped half-way: it is left behind.
async fn called<T: Send + 'static>(
    bench: &Bench,
    call: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Option<Result<T, Error>> {
    let call = tokio::spawn(call);
    match bench.within(bench.lease() / 2, call).await? {
        Ok(answer) => Some(answer),
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// An error that is worth another try, or nothing at all.
async fn assert_unanswered<T: Send + 'static>(
    bench: &Bench,
    what: &str,
    call: impl Future<Output = Result<T, Error>> + Send + 'static,
) {
    match called(bench, call).await {
        None => {}
        Some(Err(error)) => assert!(error.is_transient(), "{what}: a store that is away may come back: {error:?}"),
        Some(Ok(_)) => panic!("{what}: the store cannot be reached, and yet there was an answer"),
    }
}

/// Every call of a client that cannot reach the store, with an office of its own and one of another.
async fn assert_nothing_is_answered(bench: &Bench, cut: &Arc<Contender>, own: &Office) {
    let seat = bench.seat();
    let new = cut.bid(&seat);
    assert_unanswered(bench, "inspect", {
        let (cut, seat) = (cut.clone(), seat.clone());
        async move { cut.backend().inspect(&seat).await }
    })
    .await;
    assert_unanswered(bench, "stand", bidding(cut, &new)).await;
    assert_unanswered(bench, "renew", {
        let (cut, own) = (cut.clone(), own.clone());
        async move { cut.backend().renew(&own.bid, &own.grant.version, cut.attempt()).await }
    })
    .await;
    if bench.kind().shares_sessions() {
        let (cut, session) = (cut.clone(), own.session());
        assert_unanswered(bench, "heartbeat", async move { cut.backend().heartbeat(session, cut.attempt()).await })
            .await;
    }
    assert_unanswered(bench, "withdraw", {
        let cut = cut.clone();
        async move { cut.backend().withdraw(&new).await }
    })
    .await;
}

/// SEEDS 4, SAFETY 15: an error is never taken for "held", "vacant", "mismatch" or "done", and it says that trying again can help.
async fn a_client_that_is_cut_off_hears_errors_and_no_answers(bench: Bench) {
    let cut = Arc::new(bench.contender("cut"));
    let own = cut.wins(&bench.seat_named("own")).await;
    bench.contender("other").wins(&bench.seat()).await;
    bench.sever(cut.client()).await;
    assert_nothing_is_answered(&bench, &cut, &own).await;
}

/// SEEDS 4, 17: the same for a connection that stands and on which nothing comes.
async fn a_client_that_is_frozen_hears_errors_and_no_answers(bench: Bench) {
    let frozen = Arc::new(bench.contender("frozen"));
    let own = frozen.wins(&bench.seat_named("own")).await;
    bench.contender("other").wins(&bench.seat()).await;
    bench.freeze(frozen.client()).await;
    assert_nothing_is_answered(&bench, &frozen, &own).await;
    bench.heal(frozen.client()).await;
}

/// SAFETY 9: an error that does not say that the write may have landed is a promise that it has not and will not.
async fn a_bid_that_surely_failed_did_not_land(bench: Bench) {
    let [cut, other] = bench.contenders(["cut", "other"]);
    let cut = Arc::new(cut);
    cut.sees_nobody(&bench.seat()).await;
    bench.sever(cut.client()).await;
    let bid = cut.bid(&bench.seat());
    let answer = called(&bench, bidding(&cut, &bid)).await;
    if let Some(Err(error)) = &answer
        && !error.is_indeterminate()
    {
        other.sees_nobody(&bench.seat()).await;
        bench.heal(cut.client()).await;
        bench.pass(bench.lease() / 4).await;
        other.sees_nobody(&bench.seat()).await;
    } else {
        assert!(!matches!(answer, Some(Ok(_))), "the store cannot be reached, and yet there was an answer");
        bench.heal(cut.client()).await;
        withdrawn(&bench, &cut, &bid).await;
        other.wins(&bench.seat()).await;
    }
}

/// SAFETY 15: a lost connection is neither leadership nor its loss. The holder keeps its office for its lease, and everybody else is undisturbed.
async fn a_cut_ends_no_tenure(bench: Bench) {
    let [cut, other] = bench.contenders(["cut", "other"]);
    let office = cut.wins(&bench.seat()).await;
    bench.sever(cut.client()).await;
    assert!(other.is_refused(&bench.seat()).await.is_of(office.bid.tenure()), "it still holds the office");
    let elsewhere = other.wins(&bench.seat_named("elsewhere")).await;
    other.keeps(&elsewhere).await;
    bench.heal(cut.client()).await;
    assert!(other.sees(&bench.seat()).await.is_of(office.bid.tenure()), "it still holds the office");
}

/// I8: a client mends by itself once the store can be reached again; nobody has to make a new one.
async fn everything_works_again_after_a_cut(bench: Bench) {
    let [cut, other] = bench.contenders(["cut", "other"]);
    cut.sees_nobody(&bench.seat()).await;
    bench.sever(cut.client()).await;
    bench.pass(bench.lease() / 4).await;
    bench.heal(cut.client()).await;
    let bid = cut.bid(&bench.seat());
    let answered = || async { cut.try_stand(&bid).await.ok() };
    let (standing, sent) = bench.eventually(bench.lease() + bench.stretch(), "a bid after a cut", answered).await;
    let Standing::Elected(grant) = standing else { panic!("the office is free: {standing:?}") };
    let office = cut.keeps(&Office { bid: bid.clone(), grant, sent }).await;
    other.sees_unchanged(&office).await;
    cut.withdraw(&bid).await;
    other.wins(&bench.seat()).await;
}

/// SAFETY 9, I7: an attempt to win whose outcome is unknown is withdrawn, and then nothing of it is left.
async fn a_bid_that_hung_can_be_withdrawn(bench: Bench) {
    let [frozen, other] = bench.contenders(["frozen", "other"]);
    let frozen = Arc::new(frozen);
    frozen.sees_nobody(&bench.seat()).await;
    bench.freeze(frozen.client()).await;
    let bid = frozen.bid(&bench.seat());
    let call = tokio::spawn(bidding(&frozen, &bid));
    bench.pass(bench.lease() / 4).await;
    bench.heal(frozen.client()).await;
    // Whatever the late answer is; the driver, too, withdraws only once the call has ended.
    let _ = call.await;
    withdrawn(&bench, &frozen, &bid).await;
    other.sees_nobody(&bench.seat()).await;
    other.wins(&bench.seat()).await;
}

/// SAFETY 9: after a renewal whose outcome is unknown, a record with our tenure id is ours, and can be renewed in the version that is there.
async fn a_renewal_that_hung_leaves_the_record_ours(bench: Bench) {
    let [frozen, other] = bench.contenders(["frozen", "other"]);
    let frozen = Arc::new(frozen);
    let office = frozen.wins(&bench.seat()).await;
    bench.freeze(frozen.client()).await;
    let call = tokio::spawn({
        let (frozen, office) = (frozen.clone(), office.clone());
        async move { frozen.try_renew(&office).await.map(drop) }
    });
    bench.pass(bench.lease() / 4).await;
    bench.heal(frozen.client()).await;
    let _ = call.await;
    assert!(other.is_refused(&bench.seat()).await.is_of(office.bid.tenure()));
    found_again(&bench, &frozen, office).await;
}

/// SAFETY 9: an error that does not say that the write may have landed is a lie when it has.
async fn a_bid_whose_answer_was_lost_is_never_called_failed(bench: Bench) {
    let [mute, other] = bench.contenders(["mute", "other"]);
    let mute = Arc::new(mute);
    mute.sees_nobody(&bench.seat()).await;
    bench.mute(mute.client()).await;
    let bid = mute.bid(&bench.seat());
    let answer = called(&bench, bidding(&mute, &bid)).await;
    let landed = other.sees(&bench.seat()).await.is_of(bid.tenure());
    match answer {
        Some(Err(error)) if landed => {
            assert!(error.is_indeterminate(), "the bid won, and was called failed: {error:?}")
        }
        Some(Ok(answer)) => panic!("no answer can have come: {answer:?}"),
        Some(Err(_)) | None => {}
    }
    bench.heal(mute.client()).await;
}

/// I7: the answer of an attempt to win is lost, and the attempt made again: that is one tenure, with the token that is in the record.
async fn a_bid_whose_answer_was_lost_wins_when_it_is_made_again(bench: Bench) {
    let [mute, other] = bench.contenders(["mute", "other"]);
    let mute = Arc::new(mute);
    mute.sees_nobody(&bench.seat()).await;
    bench.mute(mute.client()).await;
    let bid = mute.bid(&bench.seat());
    let call = tokio::spawn(bidding(&mute, &bid));
    bench.pass(bench.lease() / 4).await;
    let seen = other.sees(&bench.seat()).await;
    bench.heal(mute.client()).await;
    let _ = call.await;
    let again = || async { mute.try_stand(&bid).await.ok() };
    bench.eventually(bench.lease() + bench.stretch(), "a bid once answers come again", again).await;
    let office = mute.wins_with(&bid).await;
    if let Some(held) = seen.held()
        && bench.kind().has_tokens()
        && held.token.is_some()
    {
        assert_eq!(held.token, office.grant.token, "one tenure has one token");
    }
    other.sees_unchanged(&office).await;
}

/// SAFETY 9: a renewal that landed unheard has changed the version; the record is ours all the same, and the mismatch shows that.
async fn a_renewal_whose_answer_was_lost_leaves_the_record_ours(bench: Bench) {
    let [mute, other] = bench.contenders(["mute", "other"]);
    let mute = Arc::new(mute);
    let office = mute.wins(&bench.seat()).await;
    renewed_unheard(&bench, &mute, &office).await;
    assert!(other.is_refused(&bench.seat()).await.is_of(office.bid.tenure()));
    let again = || async { mute.try_renew(&office).await.ok() };
    match bench.eventually(bench.lease() + bench.stretch(), "a renewal once answers come again", again).await {
        Renewal::Extended(grant) => assert_eq!(grant.tenure, office.bid.tenure()),
        Renewal::Mismatch(sight) => assert!(sight.is_of(office.bid.tenure()), "our own record is shown: {sight:?}"),
    }
    found_again(&bench, &mute, office).await;
}

/// SAFETY 9: a withdrawal is conditional on the tenure; the version in the store may be one that its holder never heard of.
async fn a_withdrawal_counts_also_after_a_renewal_whose_answer_was_lost(bench: Bench) {
    let [mute, other] = bench.contenders(["mute", "other"]);
    let mute = Arc::new(mute);
    let office = mute.wins(&bench.seat()).await;
    renewed_unheard(&bench, &mute, &office).await;
    withdrawn(&bench, &mute, &office.bid).await;
    other.sees_nobody(&bench.seat()).await;
    other.wins(&bench.seat()).await;
}

/// SEEDS 19: whoever does not know whether it gave up gives up again.
async fn a_withdrawal_whose_answer_was_lost_can_be_made_again(bench: Bench) {
    let [mute, other] = bench.contenders(["mute", "other"]);
    let mute = Arc::new(mute);
    let office = mute.wins(&bench.seat()).await;
    bench.mute(mute.client()).await;
    let call = tokio::spawn({
        let (mute, bid) = (mute.clone(), office.bid.clone());
        async move { mute.backend().withdraw(&bid).await }
    });
    bench.pass(bench.lease() / 4).await;
    bench.heal(mute.client()).await;
    let _ = call.await;
    withdrawn(&bench, &mute, &office.bid).await;
    other.sees_nobody(&bench.seat()).await;
    other.wins(&bench.seat()).await;
}

/// A bid that is left behind whatever comes of it.
fn bidding(contender: &Arc<Contender>, bid: &Bid) -> impl Future<Output = Result<Standing, Error>> + Send + 'static {
    let (contender, bid) = (contender.clone(), bid.clone());
    async move { contender.backend().stand(&bid, contender.attempt()).await }
}

/// A renewal lands, and its answer is lost.
async fn renewed_unheard(bench: &Bench, holder: &Arc<Contender>, office: &Office) {
    bench.mute(holder.client()).await;
    let call = tokio::spawn({
        let (holder, office) = (holder.clone(), office.clone());
        async move { holder.backend().renew(&office.bid, &office.grant.version, holder.attempt()).await }
    });
    bench.pass(bench.lease() / 4).await;
    bench.heal(holder.client()).await;
    let _ = call.await;
}

/// The holder reads its record back, and renews it in the version that is there.
async fn found_again(bench: &Bench, holder: &Contender, mut office: Office) {
    let look = || async { holder.try_inspect(&bench.seat()).await.ok() };
    let sight = bench.eventually(bench.lease() + bench.stretch(), "a look once the store answers again", look).await;
    assert!(sight.is_of(office.bid.tenure()), "the record is ours: {sight:?}");
    if let Some(held) = sight.held() {
        office.grant.version = held.version.clone();
    }
    holder.keeps(&office).await;
}

async fn withdrawn(bench: &Bench, contender: &Contender, bid: &Bid) {
    let withdraw = || async { contender.try_withdraw(bid).await.ok() };
    bench.eventually(bench.lease() + bench.stretch(), "a withdrawal once the store can be reached", withdraw).await;
}
