//! Calls whose outcome is not known, and calls that arrive late (SAFETY 9).

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::*;

#[test]
fn an_unknown_renewal_is_resolved_by_conditional_writes_alone() {
    for landed in [true, false] {
        for times in 1..=3 {
            let (clock, shelf) = shelf();
            let backend = blind_process(&shelf);
            let bid = bid("a", 1, 1);
            let grant = elected(&backend, &bid);
            for _ in 0..times {
                clock.advance(LEASE / 8);
                // The last swap of the call is the one that is lost: all before it say that they found another claim.
                let fault = if landed { Fault::AnswerLost } else { Fault::RequestLost };
                let found = backend.store.inner.value(&seat()).unwrap();
                let swaps_before = found.write() - 1;
                for _ in 0..swaps_before {
                    backend.store.meanwhile(Call::Swap, || ());
                }
                backend.store.inflict(Call::Swap, fault);
                assert!(at_once(backend.renew(&bid, &grant.version, ATTEMPT)).unwrap_err().is_indeterminate());
            }
            let again = extended(&backend, &bid, &grant.version);
            clock.advance(LEASE - Duration::from_nanos(1));
            assert_eq!(shelf.value(&seat()).map(|claim| claim.version()), Some(again.version.clone()));
            extended(&backend, &bid, &again.version);
        }
    }
}

#[test]
fn a_withdrawal_finds_a_renewal_that_landed_unknown() {
    let (_, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        for landed in [true, false] {
            let bid = bid("a", 1, 1);
            let grant = elected(&backend, &bid);
            backend.store.inflict(Call::Swap, if landed { Fault::AnswerLost } else { Fault::RequestLost });
            at_once(backend.renew(&bid, &grant.version, ATTEMPT)).unwrap_err();
            withdrawn(&backend, &bid);
            assert_eq!((holder(&shelf), backend.ledger.len()), (None, 0));
        }
    }
}

#[test]
fn a_win_that_is_not_known_is_withdrawn_by_its_tenure() {
    let (_, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        backend.store.inflict(Call::Insert, Fault::AnswerLost);
        at_once(backend.stand(&bid("a", 1, 1), ATTEMPT)).unwrap_err();
        assert_eq!(holder(&shelf), Some(TenureId::new(1, 1)));
        withdrawn(&backend, &bid("a", 1, 1));
        assert_eq!((holder(&shelf), backend.ledger.len()), (None, 0));
    }
}

#[test]
fn a_bid_whose_first_try_landed_unknown_finds_its_own_claim() {
    let (_, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        backend.store.inflict(Call::Insert, Fault::AnswerLost);
        at_once(backend.stand(&bid("a", 1, 1), ATTEMPT)).unwrap_err();
        let grant = elected(&backend, &bid("a", 1, 1));
        extended(&backend, &bid("a", 1, 1), &grant.version);
        withdrawn(&backend, &bid("a", 1, 1));
    }
}

#[test]
fn an_error_after_the_insert_never_says_that_nothing_was_written() {
    for call in [Call::Draw, Call::Swap] {
        let (_, shelf) = shelf();
        let backend = process(&shelf);
        backend.store.inflict(call, Fault::Refused);
        let error = at_once(backend.stand(&bid("a", 1, 1), ATTEMPT)).unwrap_err();
        assert!(error.is_indeterminate(), "{call:?}: {error:?}");
        withdrawn(&backend, &bid("a", 1, 1));
        assert_eq!(holder(&shelf), None);
    }
}

#[tokio::test]
async fn a_win_that_lands_after_its_withdrawal_can_be_withdrawn_again() {
    let (_, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        let bid = bid("a", 1, 1);
        let (arrive, arrival) = oneshot::channel();
        backend.store.inflict(Call::Insert, Fault::Delayed(arrival));
        let mut stand = backend.stand(&bid, ATTEMPT);
        assert!((&mut stand).now_or_never().is_none(), "it is on its way");
        withdrawn(&backend, &bid);
        arrive.send(()).unwrap();
        assert!(matches!(stand.await.unwrap(), Standing::Elected(_)));
        assert_eq!(holder(&shelf), Some(bid.tenure()));
        withdrawn(&backend, &bid);
        assert_eq!((holder(&shelf), backend.ledger.len()), (None, 0));
    }
}

#[tokio::test]
async fn a_renewal_that_is_on_its_way_escapes_no_withdrawal() {
    let (_, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        let bid = bid("a", 1, 1);
        let grant = elected(&backend, &bid);
        let (arrive, arrival) = oneshot::channel();
        backend.store.inflict(Call::Swap, Fault::Delayed(arrival));
        let mut renewal = backend.renew(&bid, &grant.version, ATTEMPT);
        assert!((&mut renewal).now_or_never().is_none(), "it is on its way");
        withdrawn(&backend, &bid);
        elected(&process(&shelf), &super::bid("b", 2, 1));
        arrive.send(()).unwrap();
        assert!(matches!(renewal.await.unwrap(), Renewal::Mismatch(_)));
        assert_eq!(holder(&shelf), Some(TenureId::new(2, 1)), "I6");
        shelf.remove(&seat());
    }
}

#[tokio::test]
async fn a_renewal_overtakes_one_that_is_still_on_its_way() {
    let (_, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        let bid = bid("a", 1, 1);
        let grant = elected(&backend, &bid);
        let (arrive, arrival) = oneshot::channel();
        backend.store.inflict(Call::Swap, Fault::Delayed(arrival));
        let mut slow = backend.renew(&bid, &grant.version, ATTEMPT);
        assert!((&mut slow).now_or_never().is_none(), "it is on its way");
        let quick = extended(&backend, &bid, &grant.version);
        arrive.send(()).unwrap();
        // Nobody waits for the slow one any more; it must not have done harm.
        drop(slow.await.unwrap());
        assert_eq!(holder(&shelf), Some(bid.tenure()));
        extended(&backend, &bid, &quick.version);
        withdrawn(&backend, &bid);
    }
}

#[test]
fn a_process_that_remembers_nothing_looks() {
    let (_, shelf) = shelf();
    let grant = elected(&process(&shelf), &bid("a", 1, 1));
    let later = process(&shelf);
    let renewed = extended(&later, &bid("a", 1, 1), &grant.version);
    assert_eq!(renewed.token, grant.token);
    let sight = mismatched(&process(&shelf), &bid("a", 1, 1), &grant.version);
    assert_eq!(sight.held().map(|held| &held.version), Some(&renewed.version), "our own later write is told as ours");
    withdrawn(&process(&shelf), &bid("a", 1, 1));
    assert_eq!(holder(&shelf), None);
}

#[test]
fn a_claim_that_changes_under_every_try_is_an_error_that_can_be_tried_again() {
    let (_, shelf) = shelf();
    let (backend, operator) = (process(&shelf), shelf.clone());
    elected(&process(&shelf), &bid("a", 1, 1));
    for _ in 0..ROUNDS {
        let operator = operator.clone();
        backend.store.meanwhile(Call::Delete, move || {
            let claim = operator.value(&seat()).unwrap();
            let renewed = claim.renewed();
            assert!(at_once(operator.compare_and_swap(&seat(), &claim, &renewed, LEASE)).unwrap());
        });
    }
    let error = at_once(backend.withdraw(&bid("a", 1, 1))).unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    withdrawn(&backend, &bid("a", 1, 1));
    assert_eq!(holder(&shelf), None);
}

#[test]
fn a_renewal_that_succeeded_unheard_is_no_loss() {
    let (_, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        let bid = bid("a", 1, 1);
        let grant = elected(&backend, &bid);
        // The caller has given this one up before its answer came.
        let unheard = extended(&backend, &bid, &grant.version);
        match at_once(backend.renew(&bid, &grant.version, ATTEMPT)).unwrap() {
            Renewal::Mismatch(sight) => assert_eq!(sight.held().map(|held| &held.version), Some(&unheard.version)),
            Renewal::Extended(_) => assert!(backend.store.blind, "a store that can be looked at is asked first"),
        }
        withdrawn(&backend, &bid);
        assert_eq!(holder(&shelf), None);
    }
}

/// A holder whose calls fail in every way, as often as not: it never takes its own claim for another's, and leaves nothing behind.
#[test]
fn no_storm_of_faults_makes_a_holder_lose_its_own_claim() {
    let (mut resolved, mut unsure) = (0, 0);
    for seed in 0..2_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (_, shelf) = shelf();
        let backend = if random.bool() { blind_process(&shelf) } else { process(&shelf) };
        let bid = bid("a", 1, 1);
        let mut version = elected(&backend, &bid).version;
        for _ in 0..12 {
            for _ in 0..random.usize(..3) {
                let fault = match random.u8(..4) {
                    0 => Fault::Refused,
                    1 => Fault::RequestLost,
                    2 => Fault::AnswerLost,
                    _ => Fault::Meanwhile(Box::new(|| ())),
                };
                backend.store.inflict(Call::Swap, fault);
            }
            match at_once(backend.renew(&bid, &version, ATTEMPT)) {
                Ok(Renewal::Extended(grant)) => {
                    assert_eq!(shelf.value(&seat()).map(|claim| claim.version()), Some(grant.version.clone()));
                    resolved += 1;
                    // An answer that comes too late is one that the caller never hears.
                    version = if random.u8(..4) == 0 { version } else { grant.version };
                }
                Ok(Renewal::Mismatch(sight)) => {
                    assert!(sight.is_of(bid.tenure()), "seed {seed}: {sight:?}");
                    version = sight.held().unwrap().version.clone();
                }
                Err(error) => unsure += u32::from(error.is_indeterminate()),
            }
        }
        backend.store.calm();
        withdrawn(&backend, &bid);
        assert_eq!((holder(&shelf), backend.ledger.len()), (None, 0), "seed {seed}");
    }
    assert!(resolved > 1_000 && unsure > 1_000, "{resolved} resolved, {unsure} unsure");
}
