//! What an election over a TTL store does, call by call.

mod campaign;
mod tokens;
mod unknown;

use std::sync::{Arc, Barrier};
use std::time::Duration;

use super::*;
use crate::ManualClock;
use crate::adapter::MemoryTtl;
use crate::adapter::rig::{
    ATTEMPT, Call, Fault, Faulty, LEASE, at_once, bid, displacing, elected, extended, held, mismatched, seat,
};
use crate::backend::{TenureId, Vacancies};

type Shelf = MemoryTtl<Seat, Claim<Claimant>>;
type Seeing = TtlBackend<Faulty<Shelf>>;

fn shelf() -> (ManualClock, Shelf) {
    let clock = ManualClock::new();
    (clock.clone(), MemoryTtl::with_clock(clock))
}

/// One process that runs elections on this shelf.
fn process(shelf: &Shelf) -> Seeing {
    TtlBackend::new(Faulty::new(shelf.clone()))
}

/// The same over a store that has the three functions and nothing else.
fn blind_process(shelf: &Shelf) -> Seeing {
    TtlBackend::new(Faulty::blind(shelf.clone()))
}

fn withdrawn(backend: &Seeing, bid: &Bid) {
    at_once(backend.withdraw(bid)).unwrap();
}

fn holder(shelf: &Shelf) -> Option<TenureId> {
    shelf.value(&seat()).map(|claim| claim.tenure())
}

#[test]
fn a_free_office_is_won_and_shows_its_holder() {
    // SEEDS 8
    let (_, shelf) = shelf();
    let backend = process(&shelf);
    let grant = elected(&backend, &bid("a", 1, 1));
    assert_eq!((grant.tenure, grant.token), (TenureId::new(1, 1), Some(1)));
    assert_eq!(grant.cover, Cover::Own { ttl: LEASE });
    let sight = at_once(backend.inspect(&seat())).unwrap();
    let held = sight.held().expect("it is held");
    assert_eq!((&*held.holder, held.tenure, held.token), ("a", Some(TenureId::new(1, 1)), Some(1)));
    assert_eq!((&held.version, &*held.advertise), (&grant.version, &b"10.0.0.1"[..]));
    assert_eq!(held.expiry, Expiry::Store { remaining: Some(LEASE) });
    assert!(held.since.is_some() && !held.asked_to_resign);
}

#[test]
fn of_many_processes_that_stand_at_once_exactly_one_wins() {
    // SEEDS 1
    for _ in 0..50 {
        let (_, shelf) = shelf();
        let barrier = Barrier::new(8);
        let wins = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..=8)
                .map(|nonce| {
                    let (shelf, barrier) = (&shelf, &barrier);
                    scope.spawn(move || {
                        let (backend, bid) = (process(shelf), bid("a", nonce, 1));
                        barrier.wait();
                        matches!(at_once(backend.stand(&bid, ATTEMPT)).unwrap(), Standing::Elected(_))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|won| *won).count()
        });
        assert_eq!(wins, 1);
    }
}

#[test]
fn a_held_office_says_at_once_by_whom() {
    // SEEDS 9
    let (clock, shelf) = shelf();
    let grant = elected(&process(&shelf), &bid("a", 1, 1));
    clock.advance(LEASE / 3);
    let other = process(&shelf);
    let sight = held(&other, &bid("b", 2, 1));
    assert!(sight.is_of(grant.tenure));
    assert_eq!(sight.held().unwrap().expiry, Expiry::Store { remaining: Some(LEASE - LEASE / 3) });
    assert_eq!(other.ledger.len(), 0, "nothing of it is in the store, so nothing needs remembering");
    clock.advance(LEASE - LEASE / 3);
    assert_eq!(at_once(other.inspect(&seat())).unwrap(), Sight::Vacant(Vacancy::Free));
    assert_eq!(elected(&other, &bid("b", 2, 1)).over, Vacancy::Free);
}

#[test]
fn to_stand_again_for_a_tenure_extends_it_under_the_same_token() {
    let (clock, shelf) = shelf();
    let first = process(&shelf);
    let bid = bid("a", 1, 1);
    for backend in [&first, &process(&shelf), &blind_process(&shelf)] {
        shelf.remove(&seat());
        let grant = elected(backend, &bid);
        clock.advance(LEASE / 2);
        let again = elected(backend, &bid);
        assert_eq!(again.token, grant.token);
        assert_ne!(again.version, grant.version);
        clock.advance(LEASE - LEASE / 4);
        assert_eq!(holder(&shelf), Some(bid.tenure()), "it was extended");
        extended(backend, &bid, &again.version);
    }
}

#[test]
fn a_tenure_id_that_comes_back_after_its_claim_expired_has_a_new_token() {
    // I2: whatever a caller does with its ids, no token is granted twice.
    let (clock, shelf) = shelf();
    let backend = process(&shelf);
    let first = elected(&backend, &bid("a", 1, 1));
    clock.advance(LEASE);
    let second = elected(&backend, &bid("a", 1, 1));
    assert!(second.token > first.token, "{first:?} {second:?}");
    assert_ne!(second.version, first.version, "SAFETY 10: a version never comes back");
}

#[test]
fn an_error_of_the_store_is_never_taken_for_a_loss() {
    // SEEDS 4
    let (_, shelf) = shelf();
    let backend = process(&shelf);
    backend.store.inflict(Call::Insert, Fault::Refused);
    let error = at_once(backend.stand(&bid("a", 1, 1), ATTEMPT)).unwrap_err();
    assert!(error.is_transient() && !error.is_indeterminate(), "{error:?}");
    assert_eq!((error.election(), error.operation()), (Some("office"), Some("stand")));
    assert_eq!(backend.ledger.len(), 0);

    backend.store.inflict(Call::Insert, Fault::AnswerLost);
    assert!(at_once(backend.stand(&bid("a", 1, 2), ATTEMPT)).unwrap_err().is_indeterminate());
    withdrawn(&backend, &bid("a", 1, 2));

    let grant = elected(&backend, &bid("a", 1, 3));
    backend.store.inflict(Call::Swap, Fault::Refused);
    let error = at_once(backend.renew(&bid("a", 1, 3), &grant.version, ATTEMPT)).unwrap_err();
    assert!(!error.is_indeterminate() && error.operation() == Some("renew"), "{error:?}");
    backend.store.inflict(Call::Delete, Fault::Refused);
    assert_eq!(at_once(backend.withdraw(&bid("a", 1, 3))).unwrap_err().operation(), Some("withdraw"));
    backend.store.inflict(Call::Look, Fault::Refused);
    assert_eq!(at_once(backend.inspect(&seat())).unwrap_err().operation(), Some("inspect"));
    extended(&backend, &bid("a", 1, 3), &grant.version);
}

#[test]
fn a_renewal_in_between_saves_the_holder_from_displacement() {
    // SAFETY 4, 10
    let (_, shelf) = shelf();
    let (ours, theirs) = (process(&shelf), process(&shelf));
    let first = elected(&ours, &bid("a", 1, 1));
    let second = extended(&ours, &bid("a", 1, 1), &first.version);
    let sight = held(&theirs, &displacing("b", 2, 1, &first.version));
    assert!(sight.is_of(first.tenure));

    let late = process(&shelf);
    theirs.store.meanwhile(Call::Swap, move || {
        extended(&late, &bid("a", 1, 1), &second.version);
    });
    let sight = held(&theirs, &displacing("b", 2, 1, sight.held().map(|held| &held.version).unwrap()));
    assert!(sight.is_of(first.tenure), "a renewal between the look and the swap counts too");

    let taken = elected(&theirs, &displacing("b", 2, 1, sight.held().map(|held| &held.version).unwrap()));
    assert!(taken.token > first.token);
    assert!(mismatched(&ours, &bid("a", 1, 1), &first.version).is_of(taken.tenure));
}

#[test]
fn every_renewal_is_one_call_that_extends_by_a_full_lease() {
    // SEEDS 11
    let (clock, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        let bid = bid("a", 1, 1);
        let mut version = elected(&backend, &bid).version;
        backend.store.calls();
        for _ in 0..100 {
            clock.advance(LEASE - Duration::from_nanos(1));
            let grant = extended(&backend, &bid, &version);
            assert_eq!(grant.cover, Cover::Own { ttl: LEASE });
            assert_ne!(grant.version, version);
            assert_eq!(backend.store.calls(), [Call::Swap]);
            version = grant.version;
        }
        withdrawn(&backend, &bid);
    }
}

#[test]
fn a_renewal_creates_nothing_over_a_ttl_store() {
    // SAFETY 9
    let (clock, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        let grant = elected(&backend, &bid("a", 1, 1));
        clock.advance(LEASE);
        let sight = mismatched(&backend, &bid("a", 1, 1), &grant.version);
        assert!(!sight.is_of(grant.tenure));
        assert_eq!(holder(&shelf), None);
        let remembered = backend.ledger.len();
        assert_eq!(remembered, if backend.store.blind { 1 } else { 0 }, "the tenure is seen to be over, or may not be");
        withdrawn(&backend, &bid("a", 1, 1));
        assert_eq!(backend.ledger.len(), 0);
    }
}

#[test]
fn a_renewal_of_a_lost_office_leaves_the_new_holder_alone() {
    // SEEDS 15, 23
    let (clock, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        let grant = elected(&backend, &bid("a", 1, 1));
        clock.advance(LEASE);
        elected(&process(&shelf), &bid("b", 2, 1));
        let theirs = shelf.value(&seat());
        let sight = mismatched(&backend, &bid("a", 1, 1), &grant.version);
        assert!(sight.held().is_some() && !sight.is_of(grant.tenure));
        assert_eq!(shelf.value(&seat()), theirs);
        shelf.remove(&seat());
    }
}

#[test]
fn a_withdrawal_touches_no_other_claim() {
    // SAFETY 9, I6
    let (clock, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        elected(&backend, &bid("a", 1, 1));
        clock.advance(LEASE);
        elected(&process(&shelf), &bid("b", 2, 1));
        let theirs = shelf.value(&seat());
        withdrawn(&backend, &bid("a", 1, 1));
        withdrawn(&backend, &bid("c", 3, 1));
        assert_eq!(shelf.value(&seat()), theirs);
        shelf.remove(&seat());
    }
}

#[test]
fn after_a_withdrawal_another_wins_at_once() {
    // SEEDS 19, 20
    let (_, shelf) = shelf();
    for backend in [process(&shelf), blind_process(&shelf)] {
        let first = elected(&backend, &bid("a", 1, 1));
        backend.store.calls();
        withdrawn(&backend, &bid("a", 1, 1));
        assert_eq!(backend.store.calls(), [Call::Delete]);
        assert_eq!((holder(&shelf), backend.ledger.len()), (None, 0));
        withdrawn(&backend, &bid("a", 1, 1));
        let second = elected(&backend, &bid("b", 2, 1));
        assert_eq!(second.token > first.token, backend.store.numbers);
        withdrawn(&backend, &bid("b", 2, 1));
    }
}

#[test]
fn a_store_of_three_functions_promises_a_lease_and_no_more() {
    // SAFETY 20
    let (_, shelf) = shelf();
    let backend = blind_process(&shelf);
    let traits = backend.traits();
    assert_eq!((traits.promise, traits.has_tokens, traits.vacancies), (Promise::LeaseOnly, false, Vacancies::Polled));
    assert!(!traits.contenders_judge && !traits.names_releases);
    assert_eq!(process(&shelf).traits().promise, Promise::Fenced);

    let grant = elected(&backend, &bid("a", 1, 1));
    assert_eq!(grant.token, None);
    let sight = held(&backend, &displacing("b", 2, 1, &grant.version));
    let held = sight.held().expect("somebody holds it");
    assert_eq!((held.tenure, &*held.holder, held.expiry), (None, "", Expiry::Store { remaining: None }));
    assert_eq!(holder(&shelf), Some(grant.tenure), "what cannot be seen is not displaced");
    assert_eq!(at_once(backend.inspect(&seat())).unwrap_err().kind(), ErrorKind::Unsupported);
    let administer = backend.administer().unwrap();
    assert_eq!(at_once(administer.ask_to_resign(&seat())).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(at_once(administer.evict(&seat())).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(at_once(administer.list("")).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(at_once(backend.watch(&seat(), None)).err().unwrap().kind(), ErrorKind::Unsupported);
}
