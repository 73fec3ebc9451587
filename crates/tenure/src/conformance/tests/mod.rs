//! The suite itself under test: an honest backend passes, and one that breaks a rule fails in the cases of that rule and in no others.

mod faulty;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Harness, Hook, Hooked, Report, Suite};
use crate::backend::memory::{Faults, MemoryBackend, Times};
use crate::{Backend, Clock, ManualClock, Seat};
use faulty::{Fault, Faulty};

/// A memory store on a clock that stands still between the waits of a case.
struct Rig {
    clock: ManualClock,
    store: MemoryBackend,
    fault: Fault,
    faults: Mutex<Vec<Faults>>,
}

impl Rig {
    fn new(fault: Fault) -> Self {
        let clock = ManualClock::new();
        Rig { store: MemoryBackend::with_clock(clock.clone()), clock, fault, faults: Mutex::default() }
    }

    fn faults(&self, client: usize) -> Faults {
        self.faults.lock().unwrap()[client].clone()
    }
}

impl Harness for Rig {
    fn hooks() -> &'static [Hook] {
        Hook::ALL
    }

    fn client(&self, _: usize) -> Arc<dyn Backend> {
        let client = self.store.client();
        self.faults.lock().unwrap().push(client.faults());
        match self.fault {
            Fault::Nothing => Arc::new(client),
            fault => Arc::new(Faulty::new(client, fault)),
        }
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn pass(&self, span: Duration) {
        let clock = self.clock.clone();
        // It blocks until those it woke have acted, and one of those may be the case.
        tokio::task::spawn_blocking(move || clock.advance(span)).await.unwrap();
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Some(Arc::new(self.clock.clone()))
    }

    async fn sever(&self, client: usize) -> Hooked {
        self.faults(client).sever();
        Ok(())
    }

    async fn freeze(&self, client: usize) -> Hooked {
        self.faults(client).hang_requests(Times::UntilCleared);
        Ok(())
    }

    async fn mute(&self, client: usize) -> Hooked {
        self.faults(client).lose_answers(Times::UntilCleared);
        Ok(())
    }

    async fn heal(&self, client: usize) -> Hooked {
        self.faults(client).clear();
        Ok(())
    }

    async fn restart(&self) -> Hooked {
        self.store.faults_for_all().sever();
        self.store.faults_for_all().heal();
        Ok(())
    }

    async fn remove(&self, seat: &Seat) -> Hooked {
        self.store.by_hand().remove(seat);
        Ok(())
    }

    async fn overwrite(&self, seat: &Seat) -> Hooked {
        self.store.by_hand().overwrite(seat, "a foreign program", self.lease());
        Ok(())
    }

    async fn wipe(&self) -> Hooked {
        self.store.by_hand().wipe();
        Ok(())
    }
}

/// The cases at the seam; those with the driver say of a broken store no more than that it is broken, if they notice at all.
fn at_the_seam(fault: Fault) -> Report {
    let suite = Suite::new("faulty", move || Rig::new(fault));
    suite.run_those(|case| !case.starts_with("elections::") && !case.starts_with("handover::"))
}

#[track_caller]
fn assert_fails_in(fault: Fault, expected: &[&str]) {
    let report = at_the_seam(fault);
    let failed: Vec<_> = report.failed().iter().map(|broken| broken.case.as_str()).collect();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(failed, expected, "{fault:?}: {report}");
}

/// A store with no hooks at all.
struct Bare(MemoryBackend);

impl Harness for Bare {
    fn client(&self, _: usize) -> Arc<dyn Backend> {
        Arc::new(self.0.client())
    }
}

#[test]
fn an_honest_backend_passes_on_a_clock_that_the_harness_moves() {
    let report = at_the_seam(Fault::Nothing);
    assert!(report.is_conformant(), "{report}");
    assert!(report.passed().len() > 70, "{report}");
}

#[test]
fn print_all() {
    for fault in [
        Fault::RenewalCreates,
        Fault::RenewalTakesAnyVersion,
        Fault::WithdrawalTakesAnything,
        Fault::WithdrawalNeedsVersion,
        Fault::AnyVersionDisplaces,
        Fault::LeaveIsIgnored,
        Fault::BidIsNotIdempotent,
        Fault::TokensAreUsedTwice,
        Fault::ErrorsAreAnswers,
        Fault::ErrorsAreForGood,
        Fault::NothingIsPushed,
        Fault::WatchIsNeverArmed,
        Fault::WatchEndsSilently,
        Fault::SecondsAreCut,
        Fault::RecordsEndEarly,
        Fault::RecordsNeverEnd,
        Fault::LooksWrite,
        Fault::LooksAreStale,
        Fault::NamesAreMixed,
        Fault::BytesAreText,
        Fault::ReleasesAreUnnamed,
        Fault::RemovalsAreReleases,
        Fault::RequestsToResignAreLost,
    ] {
        let t = std::time::Instant::now();
        let report = at_the_seam(fault);
        eprintln!("{fault:?} {:?}", t.elapsed());
        for b in report.failed() {
            eprintln!("    {}: {}", b.case, b.message.chars().take(120).collect::<String>());
        }
    }
}

#[test]
fn print_e2e() {
    let t = std::time::Instant::now();
    let suite = Suite::new("faulty", move || Rig::new(Fault::Nothing));
    eprintln!("{}", suite.run_those(|case| case.starts_with("elections::") || case.starts_with("handover::")));
    eprintln!("{:?}", t.elapsed());
}
