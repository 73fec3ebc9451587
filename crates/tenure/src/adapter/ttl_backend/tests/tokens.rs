//! Fencing tokens over a store whose values vanish with their keys (SAFETY 18, I2).

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use super::*;

#[test]
fn every_tenure_has_a_higher_token_than_the_last() {
    let (clock, shelf) = shelf();
    let mut last = None;
    for count in 1..=5 {
        let backend = process(&shelf);
        let grant = elected(&backend, &bid("a", 1, count));
        assert!(grant.token > last, "{:?} after {last:?}", grant.token);
        assert_eq!(extended(&backend, &bid("a", 1, count), &grant.version).token, grant.token);
        last = grant.token;
        if count % 2 == 0 { withdrawn(&backend, &bid("a", 1, count)) } else { clock.advance(LEASE) }
    }
}

#[test]
fn a_number_drawn_too_late_is_no_token() {
    let (clock, shelf) = shelf();
    let slow = process(&shelf);
    let (other, rival) = (shelf.clone(), bid("b", 2, 1));
    slow.store.meanwhile(Call::Draw, move || {
        clock.jump(LEASE);
        assert_eq!(elected(&process(&other), &rival).token, Some(1));
    });
    let sight = held(&slow, &bid("a", 1, 1));
    assert!(sight.is_of(TenureId::new(2, 1)), "the slow one drew 2, and would be above the rightful holder");
    assert_eq!(sight.held().unwrap().token, Some(1));
}

#[test]
fn a_displaced_claim_that_was_not_numbered_yet_is_not_granted() {
    let (_, shelf) = shelf();
    let slow = process(&shelf);
    let other = shelf.clone();
    slow.store.meanwhile(Call::Draw, move || {
        let version = other.value(&seat()).unwrap().version();
        elected(&process(&other), &displacing("b", 2, 1, &version));
    });
    assert!(held(&slow, &bid("a", 1, 1)).is_of(TenureId::new(2, 1)));
}

#[test]
fn a_claim_that_somebody_wrote_a_word_on_is_numbered_all_the_same() {
    let (_, shelf) = shelf();
    let backend = process(&shelf);
    let other = shelf.clone();
    backend.store.meanwhile(Call::Swap, move || {
        let operator = process(&other);
        assert!(at_once(operator.administer().unwrap().ask_to_resign(&seat())).unwrap());
    });
    let grant = elected(&backend, &bid("a", 1, 1));
    assert!(grant.asked_to_resign);
    let sight = at_once(backend.inspect(&seat())).unwrap();
    assert_eq!(sight.held().unwrap().token, grant.token);
    assert!(grant.token.is_some());
    extended(&backend, &bid("a", 1, 1), &grant.version);
}

/// Candidates whose every call to the store is a step of its own, in an order that the seed decides, while time passes.
///
/// The order of tenures is the order in which their claims entered the store; the tokens that were granted must rise in that order.
#[test]
fn tokens_rise_in_the_order_of_tenures_however_calls_interleave() {
    let (mut granted, mut missed) = (0, 0);
    for seed in 0..3_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (clock, shelf) = shelf();
        let mut entered = Vec::<TenureId>::new();
        let tokens = RefCell::new(Vec::<(TenureId, u64)>::new());
        let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = (1..=3)
            .map(|nonce| {
                let backend = TtlBackend::new(Faulty::yielding(shelf.clone()));
                let tokens = &tokens;
                Box::pin(async move {
                    for count in 1..=2 {
                        let bid = bid("a", nonce, count);
                        if let Standing::Elected(grant) = backend.stand(&bid, ATTEMPT).await.unwrap() {
                            tokens.borrow_mut().push((grant.tenure, grant.token.unwrap()));
                        }
                        backend.withdraw(&bid).await.unwrap();
                    }
                }) as Pin<Box<dyn Future<Output = ()> + '_>>
            })
            .collect();
        while !tasks.is_empty() {
            let at = random.usize(..tasks.len());
            if tasks[at].as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                drop(tasks.swap_remove(at));
            }
            if let Some(tenure) = holder(&shelf).filter(|tenure| entered.last() != Some(tenure)) {
                entered.push(tenure);
            }
            if random.u8(..8) == 0 {
                clock.jump(LEASE);
            }
        }
        let mut in_order = tokens.take();
        in_order.sort_by_key(|(tenure, _)| entered.iter().position(|other| other == tenure));
        assert!(in_order.is_sorted_by(|(_, one), (_, next)| one < next), "seed {seed}: {in_order:?}");
        granted += in_order.len();
        missed += entered.len() - in_order.len();
    }
    // Both must happen, or nothing was tested.
    assert!(granted > 1_000 && missed > 1_000, "{granted} granted, {missed} lost between insert and token");
}
