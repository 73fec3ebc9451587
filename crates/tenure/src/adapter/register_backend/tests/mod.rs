//! What an election over a register does, call by call.

mod campaign;

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::ErrorKind;
use crate::adapter::rig::{
    ATTEMPT, Call, Fault, Faulty, LEASE, at_once, bid, displacing, elected, extended, held, mismatched, seat,
};
use crate::adapter::{Holder, MemoryRegister};
use crate::backend::{Expiry, Promise, TenureId, Vacancies};

type Process = RegisterBackend<Faulty<MemoryRegister>>;

/// One process that runs elections on this shelf.
fn process(shelf: &MemoryRegister) -> Process {
    RegisterBackend::new(Faulty::new(shelf.clone()))
}

fn withdrawn(backend: &Process, bid: &Bid) {
    at_once(backend.withdraw(bid)).unwrap();
}

fn record(shelf: &MemoryRegister) -> RegisterRecord {
    shelf.record(&seat()).expect("there is a record")
}

/// Writes over the record, whatever its version is.
fn overwrite(shelf: &MemoryRegister, record: &RegisterRecord) {
    let version = at_once(shelf.read(&seat())).unwrap().map(|(_, version)| version);
    assert!(matches!(at_once(shelf.write(&seat(), version.as_ref(), record)).unwrap(), Writing::Written(_)));
}

#[test]
fn a_free_office_is_won_and_shows_its_holder() {
    // SEEDS 8
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    assert_eq!(at_once(backend.inspect(&seat())).unwrap(), Sight::Vacant(Vacancy::Free));
    let grant = elected(&backend, &bid("a", 1, 1));
    assert_eq!((grant.token, grant.over, grant.cover), (Some(1), Vacancy::Free, Cover::Own { ttl: LEASE }));
    let sight = at_once(backend.inspect(&seat())).unwrap();
    let held = sight.held().expect("it is held");
    assert_eq!((&*held.holder, held.tenure, held.token), ("a", Some(TenureId::new(1, 1)), Some(1)));
    assert_eq!((&held.version, &*held.advertise), (&grant.version, &b"10.0.0.1"[..]));
    assert_eq!(held.expiry, Expiry::Observe { recorded: LEASE }, "SAFETY 4");
    assert!(held.since.is_some());
}

#[test]
fn of_two_that_write_at_once_the_slower_is_told_of_the_quicker() {
    // SEEDS 1, 9
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let other = shelf.clone();
    backend.register.meanwhile(Call::Write, move || drop(elected(&process(&other), &bid("b", 2, 1))));
    assert!(held(&backend, &bid("a", 1, 1)).is_of(TenureId::new(2, 1)));
    assert_eq!(backend.register.calls(), [Call::Read, Call::Write, Call::Read]);
    assert_eq!(record(&shelf).term, 1);
}

#[test]
fn a_write_that_conflicted_is_not_repeated() {
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let other = shelf.clone();
    backend.register.meanwhile(Call::Write, move || {
        let rival = process(&other);
        elected(&rival, &bid("b", 2, 1));
        withdrawn(&rival, &bid("b", 2, 1));
    });
    let sight = held(&backend, &bid("a", 1, 1));
    assert_eq!(sight, Sight::Vacant(Vacancy::Released { by: TenureId::new(2, 1) }));
    assert_eq!(backend.register.calls(), [Call::Read, Call::Write, Call::Read]);
}

#[test]
fn to_stand_again_for_a_tenure_extends_it_in_the_same_term() {
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let grant = elected(&backend, &bid("a", 1, 1));
    for backend in [&backend, &process(&shelf)] {
        let again = elected(backend, &bid("a", 1, 1));
        assert_eq!(again.token, grant.token);
        assert_ne!(again.version, grant.version);
        extended(backend, &bid("a", 1, 1), &again.version);
    }
    let other = shelf.clone();
    backend.register.meanwhile(Call::Write, move || drop(elected(&process(&other), &bid("a", 1, 1))));
    assert_eq!(elected(&backend, &bid("a", 1, 1)).token, grant.token, "a conflict with our own write is no loss");
}

#[test]
fn the_term_rises_at_every_takeover_and_only_then() {
    // SAFETY 18, I2
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let first = elected(&backend, &bid("a", 1, 1));
    let renewed = extended(&backend, &bid("a", 1, 1), &first.version);
    assert_eq!((first.token, renewed.token), (Some(1), Some(1)));
    let second = elected(&backend, &displacing("b", 2, 1, &renewed.version));
    assert_eq!((second.token, second.over), (Some(2), Vacancy::Free));
    withdrawn(&backend, &bid("b", 2, 1));
    let third = elected(&backend, &bid("c", 3, 1));
    assert_eq!(third.token, Some(3));
    assert_eq!(third.over, Vacancy::Released { by: TenureId::new(2, 1) }, "SAFETY 14");
    assert_eq!(record(&shelf).released_by, None);
}

#[test]
fn a_store_may_count_by_its_clock_but_never_backwards() {
    // SAFETY 18
    #[derive(Debug)]
    struct Stamping(MemoryRegister, u64);
    impl Register for Stamping {
        async fn read(&self, seat: &Seat) -> Result<Option<(RegisterRecord, Version)>, Error> {
            self.0.read(seat).await
        }
        async fn write(&self, seat: &Seat, at: Option<&Version>, record: &RegisterRecord) -> Result<Writing, Error> {
            self.0.write(seat, at, record).await
        }
        fn next_term(&self, _: u64) -> u64 {
            self.1
        }
    }
    let shelf = MemoryRegister::new();
    let backend = RegisterBackend::new(Stamping(shelf.clone(), 1_000));
    assert_eq!(elected(&backend, &bid("a", 1, 1)).token, Some(1_000));
    at_once(backend.withdraw(&bid("a", 1, 1))).unwrap();
    assert_eq!(elected(&backend, &bid("b", 2, 1)).token, Some(1_001), "its clock went back");
    assert!(backend.place().ends_with("Stamping"), "{}", backend.place());
}

#[test]
fn only_the_permitted_version_is_displaced() {
    // SAFETY 4
    let shelf = MemoryRegister::new();
    let (ours, theirs) = (process(&shelf), process(&shelf));
    let first = elected(&ours, &bid("a", 1, 1));
    assert!(held(&theirs, &bid("b", 2, 1)).is_of(first.tenure));
    let second = extended(&ours, &bid("a", 1, 1), &first.version);
    assert!(held(&theirs, &displacing("b", 2, 1, &first.version)).is_of(first.tenure));

    let late = process(&shelf);
    theirs.register.meanwhile(Call::Write, {
        let version = second.version.clone();
        move || drop(extended(&late, &bid("a", 1, 1), &version))
    });
    let sight = held(&theirs, &displacing("b", 2, 1, &second.version));
    assert!(sight.is_of(first.tenure), "a renewal between the read and the write counts too");

    let taken = elected(&theirs, &displacing("b", 2, 1, &sight.held().unwrap().version));
    assert!(mismatched(&ours, &bid("a", 1, 1), &second.version).is_of(taken.tenure));
}

#[test]
fn a_renewal_is_one_write_and_reads_only_what_it_does_not_remember() {
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let mut version = elected(&backend, &bid("a", 1, 1)).version;
    backend.register.calls();
    for _ in 0..100 {
        let grant = extended(&backend, &bid("a", 1, 1), &version);
        assert_ne!(grant.version, version);
        assert_eq!(backend.register.calls(), [Call::Write]);
        version = grant.version;
    }
    let before = record(&shelf);
    let later = process(&shelf);
    extended(&later, &bid("a", 1, 1), &version);
    assert_eq!(later.register.calls(), [Call::Read, Call::Write]);
    let after = record(&shelf);
    assert_eq!((after.since, after.term, after.lease), (before.since, before.term, LEASE));
}

#[test]
fn an_unknown_renewal_is_told_as_ours_and_goes_on() {
    // SAFETY 9
    for fault in [Fault::AnswerLost, Fault::RequestLost] {
        let shelf = MemoryRegister::new();
        let backend = process(&shelf);
        let grant = elected(&backend, &bid("a", 1, 1));
        let landed = matches!(fault, Fault::AnswerLost);
        backend.register.inflict(Call::Write, fault);
        let error = at_once(backend.renew(&bid("a", 1, 1), &grant.version, ATTEMPT)).unwrap_err();
        assert!(error.is_indeterminate());
        assert_eq!((error.election(), error.operation()), (Some("office"), Some("renew")));
        if landed {
            let sight = mismatched(&backend, &bid("a", 1, 1), &grant.version);
            assert!(sight.is_of(grant.tenure));
            backend.register.calls();
            extended(&backend, &bid("a", 1, 1), &sight.held().unwrap().version);
            assert_eq!(backend.register.calls(), [Call::Write], "what was read is remembered");
        } else {
            extended(&backend, &bid("a", 1, 1), &grant.version);
        }
    }
}

#[test]
fn a_renewal_creates_nothing_in_a_register() {
    // SAFETY 9
    let shelf = MemoryRegister::new();
    for remembers in [true, false] {
        let mut backend = process(&shelf);
        let grant = elected(&backend, &bid("a", 1, 1));
        shelf.remove(&seat());
        if !remembers {
            backend = process(&shelf);
        }
        assert_eq!(mismatched(&backend, &bid("a", 1, 1), &grant.version), Sight::Vacant(Vacancy::Removed));
        assert_eq!((shelf.record(&seat()), backend.ledger.len()), (None, 0));
    }
}

#[test]
fn a_late_renewal_leaves_a_newer_tenure_alone() {
    // SEEDS 15, 23, I6
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let grant = elected(&backend, &bid("a", 1, 1));
    let taken = elected(&process(&shelf), &displacing("b", 2, 1, &grant.version));
    let theirs = record(&shelf);
    assert!(mismatched(&backend, &bid("a", 1, 1), &grant.version).is_of(taken.tenure));
    assert!(
        mismatched(&backend, &bid("a", 1, 1), &taken.version).is_of(taken.tenure),
        "not under their version either"
    );
    assert_eq!((record(&shelf), backend.ledger.len()), (theirs, 0));
}

#[test]
fn a_withdrawal_touches_no_other_record() {
    // SAFETY 9, I6
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let grant = elected(&backend, &bid("a", 1, 1));
    elected(&process(&shelf), &displacing("b", 2, 1, &grant.version));
    let theirs = record(&shelf);
    withdrawn(&backend, &bid("a", 1, 1));
    withdrawn(&backend, &bid("c", 3, 1));
    assert_eq!(record(&shelf), theirs);
}

#[test]
fn a_withdrawal_follows_a_record_that_changes_under_it() {
    // SAFETY 9
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let grant = elected(&backend, &bid("a", 1, 1));
    backend.register.inflict(Call::Write, Fault::AnswerLost);
    at_once(backend.renew(&bid("a", 1, 1), &grant.version, ATTEMPT)).unwrap_err();
    withdrawn(&backend, &bid("a", 1, 1));
    assert_eq!(record(&shelf).holder, None, "also the renewal that nobody knew of");

    elected(&backend, &bid("a", 1, 2));
    for _ in 0..ROUNDS {
        let shelf = shelf.clone();
        backend.register.meanwhile(Call::Write, move || overwrite(&shelf, &record(&shelf).asked()));
    }
    let error = at_once(backend.withdraw(&bid("a", 1, 2))).unwrap_err();
    assert!(error.is_transient(), "bounded, and worth another try: {error:?}");
    withdrawn(&backend, &bid("a", 1, 2));
    assert_eq!(record(&shelf).released_by, Some(TenureId::new(1, 2)));
}

#[test]
fn after_a_withdrawal_another_wins_at_once() {
    // SEEDS 19, 20
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    withdrawn(&backend, &bid("a", 1, 1));
    assert_eq!(shelf.record(&seat()), None, "what never was is not made");
    elected(&backend, &bid("a", 1, 1));
    backend.register.calls();
    withdrawn(&backend, &bid("a", 1, 1));
    assert_eq!(backend.register.calls(), [Call::Write]);
    let released = record(&shelf);
    withdrawn(&backend, &bid("a", 1, 1));
    assert_eq!((record(&shelf), backend.ledger.len()), (released, 0), "twice is once");
    elected(&backend, &bid("b", 2, 1));
}

#[test]
fn an_error_is_never_taken_for_a_loss() {
    // SEEDS 4
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    for (call, fault, unsure) in [
        (Call::Read, Fault::Refused, false),
        (Call::Write, Fault::Refused, false),
        (Call::Write, Fault::RequestLost, true),
        (Call::Write, Fault::AnswerLost, true),
        // From here on a record of this very tenure is there, so that no error can mean that nothing is.
        (Call::Write, Fault::Refused, true),
    ] {
        backend.register.inflict(call, fault);
        let error = at_once(backend.stand(&bid("a", 1, 1), ATTEMPT)).unwrap_err();
        assert_eq!(error.is_indeterminate(), unsure, "{call:?}: {error:?}");
    }
    elected(&backend, &bid("a", 1, 1));
}

#[test]
fn a_foreign_holder_is_seen_without_a_tenure_and_displaced_like_any() {
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let foreign = RegisterRecord {
        holder: Some(Holder { name: "go".into(), tenure: None }),
        lease: LEASE * 2,
        term: 41,
        ..RegisterRecord::default()
    };
    overwrite(&shelf, &foreign);
    let sight = held(&backend, &bid("a", 1, 1));
    let found = sight.held().unwrap();
    assert_eq!((found.tenure, found.expiry), (None, Expiry::Observe { recorded: LEASE * 2 }));
    assert_eq!(elected(&backend, &displacing("a", 1, 1, &found.version)).token, Some(42));
}

#[test]
fn a_register_says_what_it_is() {
    let backend = process(&MemoryRegister::new());
    let traits = backend.traits();
    assert_eq!((traits.promise, traits.vacancies), (Promise::Fenced, Vacancies::Polled));
    assert!(traits.contenders_judge && traits.names_releases && traits.has_tokens && !traits.queues);
    assert_eq!(at_once(backend.watch(&seat(), None)).err().unwrap().kind(), ErrorKind::Unsupported);
    assert_eq!(at_once(backend.administer().unwrap().list("")).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn elections_are_listed_by_prefix() {
    let shelf = MemoryRegister::new();
    let backend = RegisterBackend::new(shelf.clone());
    elected(&backend, &bid("a", 1, 1));
    let administer = backend.administer().unwrap();
    let listed = at_once(administer.list("off")).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].0, seat());
    assert!(listed[0].1.is_of(TenureId::new(1, 1)));
    assert_eq!(at_once(administer.list("other")).unwrap(), []);
}
