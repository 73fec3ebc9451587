//! The suite itself under test: an honest backend passes, and one that breaks a rule fails in the cases of that rule and in no others.

mod faulty;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::Completion;

use super::suite::not_run;
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

/// Cases with the driver say of a broken store no more than that it is broken, if they notice at all.
fn is_at_the_seam(case: &str) -> bool {
    !case.starts_with("elections::") && !case.starts_with("handover::")
}

fn failed(fault: Fault, wanted: impl Fn(&str) -> bool) -> (Vec<String>, Report) {
    let report = Suite::new("faulty", move || Rig::new(fault)).run_those(wanted);
    (report.failed().iter().map(|broken| broken.case.clone()).collect(), report)
}

/// Mutants of the store: `name: fault => cases` where exactly these cases fail of all at the seam, `fault >= cases` where much depends on what is
/// broken and these are among them, and `fault | cases` for what whole elections find of it.
macro_rules! found {
    ($($name:ident: $fault:ident $kind:tt $($case:literal),+;)*) => {$(
        #[test]
        fn $name() {
            found!(@ $kind $fault [$($case),+])
        }
    )*};
    (@ => $fault:ident $cases:expr) => {{
        let (failed, report) = failed(Fault::$fault, is_at_the_seam);
        let mut expected = $cases.to_vec();
        expected.sort_unstable();
        assert_eq!(failed, expected, "{report}");
    }};
    (@ >= $fault:ident $cases:expr) => {{
        let (failed, report) = failed(Fault::$fault, is_at_the_seam);
        for case in $cases {
            assert!(failed.iter().any(|failed| failed == case), "{case} found nothing: {report}");
        }
    }};
    (@ | $fault:ident $cases:expr) => {{
        let (failed, report) = failed(Fault::$fault, |case| $cases.contains(&case));
        assert_eq!(failed.len(), $cases.len(), "{report}");
    }};
}

found! {
    a_renewal_that_creates_a_record: RenewalCreates =>
        "renewing::a_renewal_never_creates_a_record_after_a_withdrawal",
        "renewing::a_renewal_never_creates_a_record_after_its_expiry",
        "renewing::a_renewal_never_creates_a_record_after_its_removal",
        "renewing::many_renewals_are_answered_in_their_order";
    a_renewal_that_takes_any_version: RenewalTakesAnyVersion =>
        "renewing::a_renewal_in_a_past_version_writes_nothing";
    a_withdrawal_that_takes_anything: WithdrawalTakesAnything >=
        "administering::an_evicted_holder_cannot_renew",
        "displacing::a_displaced_holder_can_neither_renew_nor_withdraw",
        "standing::two_candidates_of_one_name_are_two",
        "withdrawing::a_late_withdrawal_never_touches_a_newer_tenure",
        "withdrawing::an_office_that_was_given_up_says_by_whom",
        "withdrawing::withdrawing_what_never_was_changes_nothing";
    a_withdrawal_that_needs_a_version: WithdrawalNeedsVersion >=
        "errors::a_withdrawal_counts_also_after_a_renewal_whose_answer_was_lost",
        "withdrawing::a_withdrawal_by_another_process_of_the_tenure_counts",
        "withdrawing::a_withdrawal_needs_no_version";
    a_withdrawal_that_is_forgotten: WithdrawalIsForgotten >=
        "withdrawing::after_a_withdrawal_another_wins_at_once",
        "watching::a_release_is_pushed_to_candidates",
        "errors::a_bid_that_hung_can_be_withdrawn";
    a_handover_that_waits_for_the_lease: WithdrawalIsForgotten |
        "handover::a_resignation_hands_over_before_the_lease_ends",
        "handover::stopping_a_campaign_hands_over_before_the_lease_ends",
        "handover::dropping_a_campaign_hands_over_before_the_lease_ends";
    a_bid_that_displaces_by_any_version: AnyVersionDisplaces =>
        "displacing::a_version_that_is_past_displaces_nothing",
        "displacing::a_version_that_never_was_displaces_nothing",
        "displacing::leave_to_displace_changes_nothing_for_the_holder_itself",
        "renewing::a_bid_made_again_extends_the_record",
        "renewing::a_renewed_record_outlives_its_first_lease";
    a_bid_that_displaces_nothing: LeaveIsIgnored =>
        "displacing::a_displaced_holder_can_neither_renew_nor_withdraw",
        "displacing::the_exact_version_is_displaced";
    a_bid_that_cannot_be_made_twice: BidIsNotIdempotent =>
        "displacing::leave_to_displace_changes_nothing_for_the_holder_itself",
        "errors::a_bid_whose_answer_was_lost_wins_when_it_is_made_again",
        "renewing::a_bid_made_again_extends_the_record",
        "standing::a_bid_made_twice_wins_once";
    tokens_that_are_used_twice: TokensAreUsedTwice =>
        "tokens::tokens_rise_after_a_removal",
        "tokens::tokens_rise_after_an_expiry",
        "tokens::tokens_rise_in_the_order_of_tenures_however_many_contend",
        "tokens::tokens_rise_over_twenty_tenures";
    errors_that_are_taken_for_answers: ErrorsAreAnswers =>
        "errors::a_bid_that_surely_failed_did_not_land",
        "errors::a_bid_whose_answer_was_lost_is_never_called_failed",
        "errors::a_client_that_is_cut_off_hears_errors_and_no_answers";
    errors_that_say_not_to_try_again: ErrorsAreForGood =>
        "errors::a_client_that_is_cut_off_hears_errors_and_no_answers";
    a_win_that_is_called_failed: WinsAreCalledFailed =>
        "errors::a_bid_whose_answer_was_lost_is_never_called_failed";
    a_watch_on_which_nothing_comes: NothingIsPushed =>
        "watching::a_hundred_watches_are_all_told",
        "watching::a_release_is_pushed_to_candidates",
        "watching::a_release_is_pushed_to_observers",
        "watching::a_removal_is_pushed",
        "watching::a_watch_can_be_had_again_after_it_was_cut_off",
        "watching::an_expiry_is_pushed_or_foretold";
    a_handover_that_nobody_hears_of: NothingIsPushed |
        "handover::stopping_a_campaign_hands_over_before_the_lease_ends";
    a_watch_that_is_never_armed: WatchIsNeverArmed >=
        "watching::the_first_hint_says_that_the_watch_is_armed";
    a_watch_that_ends_silently: WatchEndsSilently =>
        "watching::a_watch_that_is_cut_off_says_so_and_ends";
    seconds_that_are_cut: SecondsAreCut =>
        "expiring::a_part_of_a_second_is_never_cut";
    records_that_end_before_their_lease: RecordsEndEarly =>
        "administering::an_eviction_bars_the_office_for_what_was_left",
        "expiring::a_part_of_a_second_is_never_cut",
        "expiring::a_record_is_kept_for_a_lease_from_its_last_renewal",
        "expiring::a_record_is_kept_for_its_whole_lease";
    two_leaders_where_records_end_before_their_lease: RecordsEndEarly |
        "handover::a_leader_that_is_cut_off_steps_down_before_another_leads";
    records_that_never_end: RecordsNeverEnd >=
        "expiring::a_silent_holder_is_succeeded_after_its_lease",
        "expiring::bids_and_looks_of_others_extend_nothing",
        "watching::an_expiry_is_pushed_or_foretold";
    looks_that_write: LooksWrite >=
        "looking::looking_writes_nothing";
    looks_that_are_stale: LooksAreStale >=
        "looking::what_was_written_is_seen_at_once_by_everybody";
    names_that_are_mixed_up: NamesAreMixed =>
        "seats::similar_names_are_different_offices";
    bytes_that_are_taken_for_text: BytesAreText =>
        "standing::advertised_bytes_come_back_as_they_were";
    releases_that_name_nobody: ReleasesAreUnnamed =>
        "withdrawing::an_office_that_was_given_up_says_by_whom";
    removals_that_are_called_releases: RemovalsAreReleases =>
        "withdrawing::a_removed_record_is_no_release";
    requests_to_resign_that_are_lost: RequestsToResignAreLost =>
        "administering::a_holder_that_is_asked_to_resign_finds_that_at_its_next_renewal";
}

#[test]
fn an_honest_backend_passes_on_a_clock_that_the_harness_moves() {
    let report = Suite::new("memory", || Rig::new(Fault::Nothing)).run("");
    assert!(report.is_conformant(), "{report}");
    assert!(report.passed().len() > 90, "{report}");
}

/// A store without any hook.
struct Bare(MemoryBackend);

impl Harness for Bare {
    fn client(&self, _: usize) -> Arc<dyn Backend> {
        Arc::new(self.0.client())
    }
}

fn bare() -> Suite {
    Suite::new("bare", || Bare(MemoryBackend::new()))
}

#[test]
fn a_case_whose_hook_is_missing_did_not_run_and_says_which() {
    let report = bare().run("a_wiped_store_is_another_or_counts_on");
    assert!(report.passed().is_empty() && report.failed().is_empty() && !report.is_conformant());
    let [missed] = report.not_run() else { panic!("{report}") };
    assert_eq!(missed.because, "the harness has no hook `wipe`");
    assert!(report.to_string().contains("did not run: tokens::a_wiped_store_is_another_or_counts_on"));
}

#[test]
fn a_case_that_makes_no_sense_for_a_kind_of_store_is_not_chosen() {
    let report = bare().run("queueing::");
    assert_eq!(report, Report::default());
    assert!(!report.is_conformant(), "nothing ran, so nothing is shown");
}

#[test]
fn what_did_not_run_is_ignored_with_its_reason_and_fails_a_strict_run() {
    let report = bare().needs("a server", false).run("");
    let [missed] = report.not_run() else { panic!("{report}") };
    assert_eq!(missed.case, "every_case");
    let lenient = not_run(&missed.because, false);
    let because = "it needs a server, which is not there";
    assert!(matches!(lenient, Ok(Completion::Ignored { reason: Some(reason) }) if reason == because));
    let strict = not_run(&missed.because, true);
    assert!(strict.is_err_and(|failed| failed.message() == Some(&format!("did not run: {because}"))));
}

#[test]
fn a_harness_that_lacks_a_hook_it_names_fails_the_case() {
    struct Boastful(MemoryBackend);
    impl Harness for Boastful {
        fn hooks() -> &'static [Hook] {
            &[Hook::Wipe]
        }

        fn client(&self, _: usize) -> Arc<dyn Backend> {
            Arc::new(self.0.client())
        }
    }
    let report = Suite::new("boastful", || Boastful(MemoryBackend::new())).run("a_wiped_store_is_another");
    let [broken] = report.failed() else { panic!("{report}") };
    assert!(broken.message.contains("no hook `wipe`"), "{report}");
}

#[test]
fn cases_have_names_of_their_own() {
    let mut titles: Vec<_> = super::cases::all().iter().map(super::case::Case::title).collect();
    titles.sort_unstable();
    let all = titles.len();
    titles.dedup();
    assert_eq!(titles.len(), all);
}
