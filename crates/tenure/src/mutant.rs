//! Planted faults: each removes one rule, so that the tests can be seen to fail without it.
//!
//! They are compiled only under `--cfg tenure_mutants`, which no ordinary build sets; without it [`planted`] is the constant `false`. With it, one
//! is chosen at run time by the environment variable `TENURE_MUTANT`. `cargo xtask mutants` runs them all and demands that each is killed.

macro_rules! mutants {
    ($($variant:ident, $name:literal, $rule:literal, $tests:literal;)*) => {
        /// A fault that can be planted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(not(tenure_mutants), allow(dead_code))]
        pub enum Mutant {
            $(#[doc = concat!("Removes ", $rule, ".")] $variant,)*
        }

        #[cfg(any(test, tenure_mutants))]
        impl Mutant {
            /// All of them: the mutant, its name, the rule it removes, the tests that kill it.
            pub const ALL: &[(Mutant, &str, &str, &str)] = &[$((Mutant::$variant, $name, $rule, $tests),)*];
        }
    };
}

mutants! {
    ReceiptTimeDeadline, "receipt-time-deadline", "SAFETY 1: a holder stamps before sending", "a_holder_counts_from_the_instant_before_sending";
    SendTimeObservation, "send-time-observation", "SAFETY 1: an observer stamps after receiving", "an_observer_counts_from_the_receipt_of_its_first_sight";
    DriftIgnored, "drift-ignored", "SAFETY 2: the clock-rate bound", "the_deadline_leaves_room_for_clocks_that_differ";
    AskedNotGranted, "asked-not-granted", "SAFETY 2a: the lease is what the store granted", "the_deadline_follows_what_was_granted";
    OwnLeaseObserved, "own-lease-observed", "SAFETY 4: the holder's recorded duration is waited", "a_rival_is_displaced_after_its_own_recorded_lease";
    ForeignNotStretched, "foreign-not-stretched", "SAFETY 4: a foreign holder is waited for longer", "a_foreign_holder_is_waited_for_longer";
    ObservationNeverRestarts, "observation-never-restarts", "SAFETY 4: a changed version restarts the wait", "a_changed_version_restarts_the_wait";
    RevivedTenure, "revived-tenure", "SAFETY 9: an answer after the deadline never revives a tenure", "an_answer_after_the_deadline_revives_nothing";
    StaleAnswerAccepted, "stale-answer-accepted", "SAFETY 9: answers of given-up attempts count for nothing", "the_answer_of_an_attempt_that_was_given_up_counts_for_nothing";
    UnknownWinNotWithdrawn, "unknown-win-not-withdrawn", "SAFETY 9: an unknown attempt to win is withdrawn", "an_unknown_attempt_to_win_is_withdrawn_and_bid_anew";
    MismatchBelievedUnresolved, "mismatch-believed-unresolved", "SAFETY 9: a mismatch with an attempt unresolved is read back", "a_mismatch_with_an_attempt_unresolved_is_read_back_first";
    NoNonce, "no-nonce", "SAFETY 11: a nonce of the incarnation", "two_processes_with_one_name_never_both_lead";
    ReleasedBeforeWorkStopped, "released-before-work-stopped", "SAFETY 12: work stops, then the office is given up", "work_stops_before_the_office_is_given_up";
    SettleSkippedOnDeletion, "settle-skipped-on-deletion", "SAFETY 14: a deleted key is no release", "a_deleted_record_is_no_release";
    BaseIgnored, "base-ignored", "SAFETY 18: the operator's base", "the_token_is_the_base_plus_the_number_of_the_store";
    TokenRegressionIgnored, "token-regression-ignored", "SAFETY 18: tokens never go back", "a_token_that_went_back_is_refused_and_alarmed";
    IncarnationIgnored, "incarnation-ignored", "SAFETY 18: another incarnation of the store", "another_incarnation_of_the_store_is_refused_and_alarmed";
    PhantomWin, "phantom-win", "SAFETY 21: no win from a dead session", "a_waiting_candidate_whose_session_died_withdraws";
    LostWakeUp, "lost-wake-up", "DESIGN: a push during a bid is not lost", "a_push_while_a_bid_is_in_flight_is_not_lost";
    CachedFlag, "cached-flag", "SAFETY 7: is_leader compares with the clock on every call", "a_process_that_wakes_from_a_long_stop_is_not_leader";
    PolledWithoutClock, "polled-without-clock", "SAFETY 5: the clock is read at every poll of guarded work", "guarded_work_takes_no_step_after_the_deadline";
    NewestSendCredited, "newest-send-credited", "SAFETY 21: the oldest unanswered send is credited", "the_oldest_unanswered_send_is_credited";
    TwoSeatsOnOneSession, "two-seats-on-one-session", "SAFETY 21: an election is refused twice on one session", "the_same_election_twice_on_one_session_is_refused";
    LateWinKept, "late-win-kept", "SAFETY 9: a win that nobody waits for is withdrawn", "a_win_that_nobody_waits_for_is_withdrawn";
}

/// Whether this fault is planted.
#[cfg(not(tenure_mutants))]
#[inline(always)]
pub const fn planted(_: Mutant) -> bool {
    false
}

/// Whether this fault is planted.
#[cfg(tenure_mutants)]
pub fn planted(mutant: Mutant) -> bool {
    chosen() == Some(mutant)
}

#[cfg(tenure_mutants)]
fn chosen() -> Option<Mutant> {
    use std::sync::OnceLock;
    static CHOSEN: OnceLock<Option<Mutant>> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("TENURE_MUTANT").ok().filter(|name| !name.is_empty() && name != "list")?;
        let found = Mutant::ALL.iter().find(|(_, known, _, _)| *known == name);
        Some(found.unwrap_or_else(|| panic!("TENURE_MUTANT={name} is not a planted mutant")).0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_planted_mutants() {
        for (_, name, rule, tests) in Mutant::ALL {
            println!("mutant {name} | {rule} | {tests}");
        }
    }
}
