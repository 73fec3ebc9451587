//! Planted faults: each removes one rule, so that the tests can be seen to fail without it.
//!
//! A mutant without a test of its own is one of the simulated world: simulation kills it.
//!
//! They are compiled only under `--cfg tenure_mutants`, which no ordinary build sets; without it [`planted`] is the constant `false`. With it, one
//! is chosen at run time, by the environment variable `TENURE_MUTANT` or by a simulator that goes through them. `cargo xtask mutants` and
//! `cargo xtask simulate` run them and demand that each is killed.

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
    GraceForgotten, "grace-forgotten", "SAFETY 2e: the deadline lies the grace before expiry", "the_grace_lies_between_the_deadline_and_expiry";
    TooShortBelieved, "too-short-believed", "SAFETY 2a: a grant that does not fit is withdrawn", "a_grant_that_is_too_short_is_withdrawn_and_not_believed,a_renewal_that_grants_too_little_ends_the_tenure";
    LongerTermKept, "longer-term-kept", "SAFETY 2b: what the store grants now counts, also if it is less", "a_renewal_that_grants_less_shortens_the_belief_at_once";
    NoSecondTry, "no-second-try", "SAFETY 2d: a hung renewal is given up in time for a second try", "a_hung_renewal_is_tried_a_second_time_before_the_deadline";
    SkewIgnored, "skew-ignored", "SAFETY 3: what the store's clocks may differ by is taken off", "what_the_clocks_of_the_store_may_differ_by_is_taken_off_every_grant";
    ObservationAlwaysRestarts, "observation-always-restarts", "SAFETY 4: the wait runs from the first sight", "an_unchanged_version_is_waited_for_once_however_often_it_is_seen";
    OverdueWinBelieved, "overdue-win-believed", "SAFETY 7: a win whose time is over is none", "a_win_whose_answer_came_too_late_is_not_believed,a_win_under_a_cover_that_is_over_already_is_not_believed";
    DeadlineByTimerOnly, "deadline-by-timer-only", "SAFETY 5, 7: whatever is heard after the deadline finds the tenure ended", "whatever_comes_after_a_long_stop_finds_the_tenure_ended";
    ReadBackExtends, "read-back-extends", "SAFETY 9: reading back keeps the old deadline", "reading_back_extends_nothing";
    WithdrawnOnce, "withdrawn-once", "SAFETY 9: a withdrawal is repeated until it is confirmed", "a_withdrawal_is_repeated_until_it_is_confirmed_or_a_lease_has_passed";
    GhostLeft, "ghost-left", "SAFETY 9: an own bid that landed late is withdrawn", "an_own_bid_that_landed_late_is_withdrawn_when_it_is_seen";
    StaleVersionRenewed, "stale-version-renewed", "SAFETY 10: a renewal is conditional on the last version", "every_renewal_is_conditional_on_the_version_of_the_last";
    UnaskedWorkStop, "unasked-work-stop", "SAFETY 12: only work that was told to stop has stopped", "an_end_of_work_that_was_not_asked_for_gives_up_nothing";
    AnnouncedUnread, "announced-unread", "SAFETY 13: ownership is read again after waiting", "a_settled_win_under_a_session_is_read_again_before_it_is_announced,a_settled_win_is_announced_only_after_a_renewal_sent_when_settling_was_over";
    NeverSettles, "never-settles", "SAFETY 14: the settle delay", "a_settled_win_is_announced_only_after_a_renewal_sent_when_settling_was_over";
    AnyReleaseSkips, "any-release-skips", "SAFETY 14: a release names the last seen tenure", "settling_is_not_skipped_after_a_release_by_anybody_else";
    LingeringPeersIgnored, "lingering-peers-ignored", "SAFETY 14: beside peers that may linger a winner settles", "beside_peers_that_may_linger_a_winner_settles_for_a_whole_lease,tenure-etcd/server=peers::a_winner_settles_after_a_foreign_leader";
    FencedWithForeignPeers, "fenced-with-foreign-peers", "SAFETY 20: a seat shared with peers without tokens is never fenced", "what_is_shared_is_never_fenced_and_the_most_harmful_peers_count,sharing_with_foreign_peers_promises_a_lease_and_no_more,tenure-redis/server=a_seat_shared_with_lockers_is_never_fenced,tenure-etcd/server=peers::declared_peers_are_promised_a_lease_and_no_more";
    ForeignReleaseSkips, "foreign-release-skips", "SAFETY 14: settling is never skipped after a foreign holder", "settling_is_never_skipped_after_a_foreign_holder";
    FailureIsLoss, "failure-is-loss", "SAFETY 15: a lost connection is no loss", "a_lost_connection_is_neither_leadership_nor_its_loss,three_transient_errors_then_success_keep_leadership";
    CampaignForgets, "campaign-forgets", "SAFETY 18: a candidate remembers tokens from one campaign to the next", "a_candidate_remembers_tokens_from_one_campaign_to_the_next";
    SeenTokenForgotten, "seen-token-forgotten", "SAFETY 18: a token seen in another's hand is remembered", "a_token_that_was_seen_in_anothers_hand_is_remembered";
    ReplacementUnnoticed, "replacement-unnoticed", "SAFETY 18: a store replaced under a leader", "a_store_replaced_under_a_leader_ends_its_tenure";
    CoverWentBack, "cover-went-back", "SAFETY 21: an older heartbeat moves nothing", "a_heartbeat_older_than_the_last_moves_nothing";
    SessionLossIgnored, "session-loss-ignored", "SAFETY 21: a session ends all it carries", "a_lost_session_ends_what_it_carries";
    LostLook, "lost-look", "SAFETY 14, 21: a push during a look is not lost", "a_push_while_the_record_is_read_is_not_lost";
    MismatchRetried, "mismatch-retried", "SEEDS 15: a mismatch loses without a retry", "a_mismatch_with_nothing_unresolved_loses_without_a_further_try";
    ToleranceIgnored, "tolerance-ignored", "SEEDS 16: the first error loses, if so chosen", "the_first_error_loses_where_that_was_chosen,so_many_failures_in_a_row_lose_where_that_was_chosen";
    WinAfterStop, "win-after-stop", "SEEDS 22: a win that races a stop leaves nothing live", "a_win_that_races_a_stop_is_withdrawn_and_never_announced";
    PatienceIgnored, "patience-ignored", "SEEDS 25: a timeout ends the campaign at its deadline", "a_campaign_with_a_timeout_ends_at_its_deadline";
    KilledAlthoughStopped, "killed-although-stopped", "SEEDS 26: no kill once work has stopped", "the_process_is_killed_only_if_work_has_not_stopped_in_time";
    NeverKilled, "never-killed", "SEEDS 26: the kill timer", "the_process_is_killed_only_if_work_has_not_stopped_in_time";
    LostWithoutGained, "lost-without-gained", "SEEDS 32: lost never fires without gained", "a_win_that_was_lost_while_settling_is_never_announced";
    ReclaimUntrusted, "reclaim-untrusted", "SEEDS 34: an own record is taken back only with trust", "an_own_record_of_a_former_life_is_taken_back_only_with_the_trust_that_names_it";
    ConfirmedEarly, "confirmed-early", "SEEDS 35: what confirms a win is sent after settling", "a_renewal_sent_before_settling_was_over_confirms_nothing";
    SplayIgnored, "splay-ignored", "SEEDS 38: the splay", "a_splay_delays_the_first_attempt_and_stopping_during_it_makes_none";
    BackoffUncounted, "backoff-uncounted", "SEEDS 39: backoff takes the count of failed attempts", "backoff_takes_the_count_of_failed_attempts";
    MinimumHoldIgnored, "minimum-hold-ignored", "DESIGN: the minimum hold", "an_office_is_kept_and_renewed_until_its_minimum_is_over";
    MinimumHoldForced, "minimum-hold-forced", "DESIGN: a minimum hold does not bind one who is asked to go", "a_tenure_that_somebody_wants_over_ends_at_once";
    NoSitOut, "no-sit-out", "DESIGN: one who resigned sits out", "one_who_resigned_sits_out_for_a_retry_interval";
    HealthIgnored, "health-ignored", "DESIGN: only a fit candidate runs and leads", "a_leader_that_becomes_unfit_steps_down_and_rests,an_unfit_candidate_does_not_run_until_it_is_fit";
    RequestIgnored, "request-ignored", "DESIGN: a holder that is asked to resign does", "a_tenure_that_somebody_wants_over_ends_at_once,one_who_is_asked_to_resign_hears_it_through_the_watch";
    WindingUnrenewed, "winding-unrenewed", "DESIGN: an office given up freely is kept until work has stopped", "an_office_given_up_freely_is_renewed_until_work_has_stopped_and_a_lost_one_is_not";
    OverrunUntold, "overrun-untold", "I9: work that runs past expiry is alarmed", "work_that_runs_past_expiry_is_alarmed_once";
    TightRetry, "tight-retry", "DESIGN: what fails at once is not repeated at once", "a_renewal_that_fails_at_once_is_not_repeated_in_a_tight_loop";
    CachedFlag, "cached-flag", "SAFETY 7: is_leader compares with the clock on every call", "a_process_that_wakes_from_a_long_stop_is_not_leader";
    PolledWithoutClock, "polled-without-clock", "SAFETY 5: the clock is read at every poll of guarded work", "guarded_work_takes_no_step_after_the_deadline";
    ShortOfficeVouches, "short-office-vouches", "SAFETY 14: a release vouches only by the time its tenure was in office", "a_release_after_a_short_time_in_office_vouches_for_nobody_before";
    FenceOpen, "fence-open", "SAFETY 19: the fence refuses a lower token", "a_former_leader_is_refused_once_its_successor_has_been_there";
    FenceTornBelieved, "fence-torn-believed", "SAFETY 19: a number that was never raised to shuts nobody out", "a_raise_that_was_cut_off_anywhere_tells_of_the_old_token_or_the_new_one";
    PromiseIgnored, "promise-ignored", "SAFETY 20: requiring more than is promised fails closed", "more_than_the_backend_promises_cannot_be_required";
    CloseRacesAcquire, "close-races-acquire", "SEEDS 22: an acquire that races close leaves nothing live", "an_acquire_that_races_close_leaves_nothing_live";
    OrphanHeart, "orphan-heart", "SAFETY 21: a session that carries nothing is left to expire", "a_session_on_which_nobody_depends_is_left_to_expire";
    LateBeatCredited, "late-beat-credited", "SAFETY 21: a late heartbeat's answer moves nothing", "a_late_or_repeated_answer_moves_nothing";
    NewestSendCredited, "newest-send-credited", "SAFETY 21: the oldest unanswered send is credited", "the_oldest_unanswered_send_is_credited";
    TwoSeatsOnOneSession, "two-seats-on-one-session", "SAFETY 21: an election is refused twice on one session", "the_same_election_twice_on_one_session_is_refused";
    EchoWithdrawn, "echo-withdrawn", "SAFETY 9: an answer that comes twice withdraws nothing", "an_answer_that_comes_twice_withdraws_nothing";
    LateWinKept, "late-win-kept", "SAFETY 9: a win that nobody waits for is withdrawn", "a_win_that_nobody_waits_for_is_withdrawn";
    TtlSameWrite, "ttl-same-write", "SAFETY 10: where only values are compared, every write carries a fresh number", "no_two_writes_of_any_tenure_look_the_same,a_renewal_in_between_saves_the_holder_from_displacement";
    TtlValueCompared, "ttl-value-compared", "SAFETY 10: a version names one write", "no_two_writes_of_any_tenure_look_the_same,a_renewal_in_between_saves_the_holder_from_displacement";
    TtlZeroTaken, "ttl-zero-taken", "SEEDS 6: a TTL of 0 is refused", "a_ttl_of_zero_or_beyond_counting_is_refused,a_ttl_of_zero_is_refused_by_insert_and_swap";
    TtlCut, "ttl-cut", "SEEDS 6: 1500 ms are not 1 s", "a_ttl_is_rounded_up_and_never_cut";
    TtlLateExpiry, "ttl-late-expiry", "SEEDS 5: expired at exactly now = expiry", "a_value_is_expired_at_exactly_its_expiry";
    TtlSwapKeepsExpiry, "ttl-swap-keeps-expiry", "SEEDS 2: a swap sets the TTL anew", "a_swap_needs_a_match_and_sets_the_ttl_anew";
    TtlErrorTakenForFalse, "ttl-error-taken-for-false", "SEEDS 4: an error is never taken for false", "an_error_of_the_store_is_never_taken_for_a_loss";
    TtlWinErrorHarmless, "ttl-win-error-harmless", "SAFETY 9: an error after the insert may have won", "an_error_after_the_insert_never_says_that_nothing_was_written";
    TtlUnknownNotResolved, "ttl-unknown-not-resolved", "SAFETY 9: an unknown renewal is resolved", "an_unknown_renewal_is_resolved_by_conditional_writes_alone";
    TtlRenewCreates, "ttl-renew-creates", "SAFETY 9: a renewal never creates a record", "a_renewal_creates_nothing_over_a_ttl_store";
    TtlUnconditionalRelease, "ttl-unconditional-release", "SAFETY 9: withdrawal is conditional on the tenure", "a_withdrawal_touches_no_other_claim";
    TtlVersionConditionalWithdrawal, "ttl-version-conditional-withdrawal", "SAFETY 9: withdrawal is not conditional on the version", "a_withdrawal_finds_a_renewal_that_landed_unknown";
    TtlDisplacesAnyVersion, "ttl-displaces-any-version", "SAFETY 4: one exact version is displaced", "a_renewal_in_between_saves_the_holder_from_displacement";
    TtlTokenBeforeInsert, "ttl-token-before-insert", "SAFETY 18: a number drawn before the insert can be overtaken", "tokens_rise_in_the_order_of_tenures_however_calls_interleave";
    TtlTokenUnverified, "ttl-token-unverified", "SAFETY 18: a number counts once it stands in the claim", "tokens_rise_in_the_order_of_tenures_however_calls_interleave,a_number_drawn_too_late_is_no_token";
    TtlEvictionUnbarred, "ttl-eviction-unbarred", "DESIGN: an evicted office stays barred", "an_evicted_claim_bars_the_office_for_the_rest_of_its_life";
    RegisterSameWrite, "register-same-write", "SAFETY 10: no two writes are equal", "no_write_of_a_record_equals_another";
    RegisterTermKept, "register-term-kept", "SAFETY 18: the term rises at every takeover", "the_term_rises_at_every_takeover_and_only_then";
    RegisterReleaseForgetsTerm, "register-release-forgets-term", "SAFETY 18: a release keeps the term", "a_release_keeps_the_term_and_names_the_tenure,the_term_rises_at_every_takeover_and_only_then";
    RegisterReleaseUnnamed, "register-release-unnamed", "SAFETY 14: a release names its tenure", "a_release_keeps_the_term_and_names_the_tenure";
    RegisterRenewCreates, "register-renew-creates", "SAFETY 9: a renewal never creates a record", "a_renewal_creates_nothing_in_a_register";
    RegisterRenewsAnyVersion, "register-renews-any-version", "SAFETY 9: a renewal is conditional on its version", "a_late_renewal_leaves_a_newer_tenure_alone";
    RegisterUnconditionalRelease, "register-unconditional-release", "SAFETY 9: withdrawal is conditional on the tenure", "a_withdrawal_touches_no_other_record";
    RegisterVersionConditionalWithdrawal, "register-version-conditional-withdrawal", "SAFETY 9: withdrawal is not conditional on the version", "a_withdrawal_follows_a_record_that_changes_under_it";
    RegisterDisplacesAnyVersion, "register-displaces-any-version", "SAFETY 4: one exact version is displaced", "only_the_permitted_version_is_displaced";
    RegisterEvictionUnbarred, "register-eviction-unbarred", "DESIGN: an evicted office stays barred", "a_bar_is_a_holder_of_the_same_kind_and_lease,an_evicted_record_bars_the_office_for_its_lease";
    MemoryRenewCreates, "memory-renew-creates", "SAFETY 9: a renewal never creates a record", "memory::tests::records::a_renewal_never_creates_a_record";
    MemoryRenewsAnyVersion, "memory-renews-any-version", "SAFETY 9: a renewal is conditional on its version", "memory::tests::records::a_renewal_needs_an_unexpired_match_and_sets_the_lease_anew";
    MemoryUnconditionalRelease, "memory-unconditional-release", "SAFETY 9: withdrawal is conditional on the tenure", "memory::tests::records::a_withdrawal_removes_its_own_unexpired_tenure_and_no_other";
    MemoryVersionConditionalWithdrawal, "memory-version-conditional-withdrawal", "SAFETY 9: withdrawal is not conditional on the version", "memory::tests::records::a_withdrawal_finds_a_renewal_whose_answer_was_lost";
    MemoryLateExpiry, "memory-late-expiry", "SEEDS 5: expired at exactly now = expiry", "memory::tests::records::a_record_is_expired_at_exactly_its_expiry,memory::tests::sessions::a_session_is_over_at_exactly_its_expiry";
    MemoryTokenReset, "memory-token-reset", "SAFETY 18: tokens survive the removal of a record", "memory::tests::records::tokens_rise_whatever_becomes_of_the_records";
    MemoryEvictionUnbarred, "memory-eviction-unbarred", "DESIGN: an evicted office stays barred", "memory::tests::administration::an_evicted_office_stays_barred_for_the_rest_of_its_lease,memory::tests::administration::an_evicted_office_with_a_queue_stays_barred";
    MemoryLateBidReplaces, "memory-late-bid-replaces", "I6: a late bid never replaces a newer one of its own session", "memory::tests::sessions::a_bid_that_comes_late_does_not_take_the_place_of_a_newer_one";
    MemoryTwoSeatsOnOneSession, "memory-two-seats-on-one-session", "SAFETY 21: an election is refused twice on one session", "memory::tests::sessions::the_same_election_twice_on_one_client_is_refused";
    MemoryWithdrawalEndsSession, "memory-withdrawal-ends-session", "SAFETY 21: resigning one touches its own key only", "memory::tests::sessions::resigning_one_election_leaves_the_others_on_the_session_alone";
    MemorySessionEndKeeps, "memory-session-end-keeps", "SAFETY 21: a session ends all it carries", "memory::tests::sessions::a_session_ends_all_that_it_carries";
    MemorySessionUnlimited, "memory-session-unlimited", "SAFETY 21: at most 1,000 seats a session", "memory::tests::sessions::the_thousand_and_first_election_opens_a_further_session";
    MemoryHerdWoken, "memory-herd-woken", "DESIGN: only the next in line is told", "memory::tests::watching::only_the_next_in_line_is_told_that_the_office_is_its_own";
    RedisRenewsAnyVersion, "redis-renews-any-version", "SAFETY 9: a renewal is conditional on its version", "tenure-redis/conformance=a_renewal_in_a_past_version_writes_nothing";
    RedisRenewsAnyTenure, "redis-renews-any-tenure", "SAFETY 9: a renewal never touches a newer tenure", "tenure-redis/conformance=a_former_holder_never_renews_over_a_newer_tenure";
    RedisRenewCreates, "redis-renew-creates", "SAFETY 9: a renewal never creates a record", "tenure-redis/conformance=a_renewal_never_creates_a_record_after_a_withdrawal,tenure-redis/server=nothing_renewed_is_a_loss";
    RedisTokenKept, "redis-token-kept", "SAFETY 18: the token rises with every tenure", "tenure-redis/conformance=tokens_rise_over_twenty_tenures";
    RedisTokenWithoutClock, "redis-token-without-clock", "SAFETY 18: the token survives a flush", "tenure-redis/conformance=a_wiped_store_is_another_or_counts_on";
    RedisTokenOvertaken, "redis-token-overtaken", "SAFETY 18: a number that was overtaken is not used", "tenure-redis/server=a_number_that_was_overtaken_is_not_used";
    RedisBidInOneScript, "redis-bid-in-one-script", "SAFETY 18: what a bid writes is not lost in part", "";
    RedisWithdrawsByName, "redis-withdraws-by-name", "SAFETY 9: withdrawal is conditional on the tenure", "tenure-redis/conformance=a_late_withdrawal_never_touches_a_newer_tenure";
    RedisTtlInSeconds, "redis-ttl-in-seconds", "SEEDS 59: TTLs are milliseconds", "tenure-redis/server=ttls_are_milliseconds";
    RedisDisplacesAnyVersion, "redis-displaces-any-version", "SAFETY 4: one exact version is displaced", "tenure-redis/conformance=a_version_that_is_past_displaces_nothing";
    RedisAmendsForEver, "redis-amends-for-ever", "DESIGN: an evicted office is barred for the record's remaining life", "tenure-redis/conformance=an_eviction_bars_the_office_for_what_was_left";
    RedisReplicaRead, "redis-replica-read", "SAFETY 16: reads are linearizable", "tenure-redis/server=a_replica_is_refused";
    RedisPromiseUnchecked, "redis-promise-unchecked", "SAFETY 20: the promise is what the server's settings allow", "tenure-redis/server=fenced_without_persistence_is_refused,only_a_server_that_loses_nothing_is_fenced";
    RedisTimeoutHarmless, "redis-timeout-harmless", "SAFETY 9: what was sent and not answered may have landed", "tenure-redis/server=a_bid_that_was_sent_and_not_answered_may_have_landed";
    RedisLandedCallFailed, "redis-landed-call-failed", "SAFETY 9: what landed is not called failed", "tenure-redis/server=what_landed_is_not_called_failed_when_nobody_can_be_told";
    RedisWatchEndsSilently, "redis-watch-ends-silently", "DESIGN: a watch never ends silently", "tenure-redis/conformance=a_watch_that_is_cut_off_says_so_and_ends";
    LostSessionUnpaced, "lost-session-unpaced", "DESIGN: a store that answers with a dead session is not flooded", "a_candidate_whose_session_died_does_not_stand_at_once_again";
    RegressionWhileSettling, "regression-while-settling", "SAFETY 18: a higher token seen while settling refuses the win", "a_higher_token_seen_while_settling_refuses_the_win";
    BeatsNumberedAnew, "beats-numbered-anew", "SAFETY 21: an answer belongs to one heartbeat", "a_heart_made_anew_takes_no_answer_to_its_predecessors_beat";
    ClientRetries, "client-retries", "SAFETY 9: no client repeats a write that is not idempotent", "";
    OldTokenShown, "old-token-shown", "I10: an observer never sees a token go back", "an_observer_never_sees_a_token_go_back";
    MemorySilentWatchEnd, "memory-silent-watch-end", "DESIGN: a watch never ends silently", "memory::tests::watching::a_watcher_that_does_not_read_is_told_that_it_lags";
    FileDisplacesAnyVersion, "file-displaces-any-version", "SAFETY 4: one exact version is displaced", "only_the_version_that_the_bid_names_is_displaced";
    FileRenewCreates, "file-renew-creates", "SAFETY 9: a renewal never creates a record", "a_renewal_of_a_removed_file_makes_none";
    FileRenewsAnyVersion, "file-renews-any-version", "SAFETY 9: a renewal is conditional on its version", "a_renewal_in_a_past_version_leaves_the_file_alone";
    FileUnconditionalRelease, "file-unconditional-release", "SAFETY 9: withdrawal is conditional on the tenure", "a_withdrawal_leaves_the_file_of_another_tenure_alone";
    FileSameVersion, "file-same-version", "SAFETY 10: every write carries a fresh number", "no_two_writes_of_a_file_have_one_version";
    FileHolderWithoutNonce, "file-holder-without-nonce", "SAFETY 11: the holder field carries the nonce", "a_foreign_peer_of_the_same_name_is_another";
    FileTokenKept, "file-token-kept", "SAFETY 18: the token rises at every takeover", "the_token_rises_whatever_becomes_of_the_file";
    FileTokenWithoutClock, "file-token-without-clock", "SAFETY 18: the token is not below the clock", "the_token_rises_whatever_becomes_of_the_file";
    FileTokenNotMirrored, "file-token-not-mirrored", "SAFETY 18: the token is mirrored in a side file", "a_token_outlives_a_foreign_holder_and_a_clock_that_went_back";
    FileEvictionUnbarred, "file-eviction-unbarred", "DESIGN: an evicted office stays barred", "an_evicted_holder_bars_the_file_for_its_lease";
    FileTokenNotSynced, "file-token-not-synced", "SAFETY 18: a token is on disk before it is used", "a_token_is_on_disk_before_it_stands_in_the_lease_file";
    FileSealIgnored, "file-seal-ignored", "SAFETY 11: a tenure id that a foreign program kept is not its own", "a_program_that_keeps_our_fields_and_writes_its_own_is_still_foreign";
    FileCorruptIsFree, "file-corrupt-is-free", "SEEDS 56: corruption is a clear error", "a_corrupt_truncated_or_empty_file_is_an_error_and_not_a_free_office";
    FileLostHolderIsFree, "file-lost-holder-is-free", "SEEDS 56: a field that was lost frees no office", "a_record_that_lost_its_holder_is_no_free_office";
    FileMendedAnytime, "file-mended-anytime", "SEEDS 56: only a restart of the machine tears a file of ours", "a_lease_file_torn_by_a_power_failure_is_mended_from_its_side_copy";
    FileFollowsLinks, "file-follows-links", "SAFETY security: no link is followed", "a_link_is_not_followed_and_a_second_name_not_shared";
    FileForeignOwnerTaken, "file-foreign-owner-taken", "SAFETY security: the owner is checked", "a_file_of_another_user_is_refused";
    FileLinkedTwiceTaken, "file-linked-twice-taken", "SAFETY security: a second name is refused", "a_link_is_not_followed_and_a_second_name_not_shared";
    FileWritableByAll, "file-writable-by-all", "SAFETY security: others cannot write", "a_file_that_others_may_write_or_its_owner_may_not_is_an_error,a_directory_in_which_anybody_may_replace_files_is_refused";
    FileInodeNotCompared, "file-inode-not-compared", "SAFETY security: the inode is compared again after locking", "a_file_that_was_replaced_while_its_lock_was_waited_for_is_not_written";
    FileUnlocked, "file-unlocked", "SAFETY security: a short lock around each read and write", "a_read_and_the_write_that_follows_it_are_one_step,waiting_for_the_lock_obeys_its_timeout_and_says_who_has_it";
    FileForkKeepsLock, "file-fork-keeps-lock", "DESIGN: the short lock is given back, and not only closed", "a_process_that_was_forked_in_between_does_not_keep_the_lock";
    FileWaitsForEver, "file-waits-for-ever", "SEEDS 56: waiting for the lock obeys its timeout", "waiting_for_the_lock_obeys_its_timeout_and_says_who_has_it";
    FileContenderLocks, "file-contender-locks", "DESIGN: whoever cannot win takes no lock", "waiting_for_the_lock_obeys_its_timeout_and_says_who_has_it";
    FileEverywhereLocal, "file-everywhere-local", "SAFETY 20: an unknown file system promises best effort", "a_file_system_that_is_not_known_is_only_best_effort";
    FileWallTimeTrusted, "file-wall-time-trusted", "SAFETY 3: the recorded wall time decides only where it is trusted", "the_recorded_wall_time_counts_only_where_it_is_trusted";
    FileWorkEndAssumed, "file-work-end-assumed", "SAFETY 4: a free lock counts only where the record says so", "a_liveness_lock_is_had_only_where_it_was_declared";
    FileLivenessUnlocked, "file-liveness-unlocked", "SAFETY 4: a living holder has its liveness lock", "a_free_lock_allows_a_takeover_after_the_time_that_the_record_names";
    FileKillTakesNothing, "file-kill-takes-nothing", "SAFETY 2c: a takeover after the time that a kill takes", "a_free_lock_allows_a_takeover_after_the_time_that_the_record_names";
    FileMissingIsDead, "file-missing-is-dead", "SAFETY 4: a missing liveness file proves nothing", "a_liveness_file_that_is_missing_or_tampered_with_proves_nothing";
    FileEvictedLetsGo, "file-evicted-lets-go", "SAFETY 12: an evicted holder keeps its liveness lock while its work may run", "a_barred_office_is_free_once_the_evicted_work_has_stopped";
    FileRemountUnnoticed, "file-remount-unnoticed", "SAFETY 20: a promise ends with the file system it was made on", "a_disk_that_is_mounted_over_the_directory_is_noticed";
    FileManyInstances, "file-many-instances", "DESIGN: one inotify instance a process", "one_process_has_one_inotify_instance";
    FileSilentWatchEnd, "file-silent-watch-end", "DESIGN: a watch never ends silently", "a_disk_that_was_unmounted_ends_its_watches";
    EtcdFirstByKey, "etcd-first-by-key", "DESIGN: the lowest create revision leads", "rules::whoever_came_first_leads_whatever_its_lease_is_called";
    EtcdNestedNameCounts, "etcd-nested-name-counts", "SEEDS 24: an election whose name goes on is another", "rules::an_election_below_another_is_not_in_its_queue";
    EtcdLateBidReplaces, "etcd-late-bid-replaces", "SAFETY 9: a late bid takes no newer one's place", "rules::a_bid_that_comes_late_takes_no_newer_place";
    EtcdUnconditionalRelease, "etcd-unconditional-release", "SAFETY 9: withdrawal is conditional on the tenure", "seeds::a_record_that_was_written_since_is_not_removed_by_its_old_revision";
    EtcdSecondsCut, "etcd-seconds-cut", "SAFETY 2a: a part of a second is rounded up", "a_part_of_a_second_is_rounded_up_for_etcd";
    EtcdReceiptCredited, "etcd-receipt-credited", "SAFETY 1: a keepalive counts from before it was sent", "rules::a_keepalive_counts_from_before_it_was_sent";
    EtcdDeadSessionReused, "etcd-dead-session-reused", "SAFETY 21: a session that is over by our clock is dead", "a_lease_that_is_over_by_our_own_clock_is_not_used_again";
    EtcdSessionUnlimited, "etcd-session-unlimited", "SAFETY 21: at most 1,000 seats a session", "a_lease_carries_a_thousand_seats_and_no_more";
    EtcdHerdWoken, "etcd-herd-woken", "DESIGN: only the next in line is told", "cost::of_a_hundred_that_wait_one_wakes";
    EtcdSilentWatchEnd, "etcd-silent-watch-end", "DESIGN: a watch never ends silently", "rules::a_watch_whose_connection_breaks_says_so";
    EtcdSilentWatchKept, "etcd-silent-watch-kept", "DESIGN: a watch that is silent while the store moves on is left", "a_stream_that_stays_silent_while_the_store_moves_on_is_given_up";
    EtcdLateLandingForgotten, "etcd-late-landing-forgotten", "SAFETY 9: what lands after it was withdrawn is cleared away", "late::a_bid_that_lands_after_its_withdrawal_is_cleared_by_a_keepalive";
    EtcdOwedCalledUndone, "etcd-owed-called-undone", "SAFETY 9: a withdrawal that is made later all the same is not called undone", "late::a_withdrawal_that_was_refused_may_be_made_later";
    EtcdLandedCalledUndone, "etcd-landed-called-undone", "SAFETY 9: a bid that had its place is not called undone", "late::a_bid_whose_lease_ran_out_as_it_landed_may_have_landed";
    EtcdModRevisionToken, "etcd-mod-revision-token", "SAFETY 18: the token is the create revision", "rules::who_is_asked_to_resign_keeps_its_token";
    EtcdFlawedReleaseAdmitted, "etcd-flawed-release-admitted", "SAFETY 8: servers that extend revoked leases are refused", "releases_that_extend_revoked_leases_are_refused";
    EtcdEvictionUnbarred, "etcd-eviction-unbarred", "DESIGN: an evicted office stays barred", "rules::an_evicted_office_is_barred_for_a_lease";
    GuardianDeafToTime, "guardian-deaf-to-time", "I9: the guardian has a timer of its own", "subreaper::a_frozen_supervisor_loses_its_wild_tree_before_expiry";
    LateExtensionRevives, "late-extension-revives", "I5: a late extension revives nothing that was told to stop", "an_extension_that_comes_late_revives_nothing";
    KillMarginForgotten, "kill-margin-forgotten", "SAFETY 2c: the kill comes a margin before expiry", "the_tree_is_asked_at_the_deadline_and_killed_before_expiry";
    OrphanUnnoticed, "orphan-unnoticed", "I9: a supervisor that is killed takes its tree with it", "subreaper::a_steady_command_of_a_killed_supervisor_is_ended";
    KillsTheCommandOnly, "kills-the-command-only", "I9: the whole tree is killed", "subreaper::a_forking_command_of_a_killed_supervisor_is_ended";
    ShimWithoutClock, "shim-without-clock", "I5: the shim reads the clock again before it executes", "a_shim_that_was_frozen_starts_nothing";
    EnvironmentLeaks, "environment-leaks", "DESIGN: no variable of tenure's but three reaches the command", "the_command_sees_three_variables_of_ours";
    ReleasedBeforeEmpty, "released-before-empty", "SAFETY 12: the office is given up when nothing of the tree is left", "subreaper::a_tree_that_outlives_its_command_keeps_the_office";
    FrozenGuardianTrusted, "frozen-guardian-trusted", "I9: the supervisor acts for a guardian that is frozen", "subreaper::a_frozen_guardian_is_acted_for";
    GuardianDeathIgnored, "guardian-death-ignored", "I9: a guardian that is killed takes the tree with it", "subreaper::a_killed_guardian_takes_a_wild_tree_with_it";
    MinimumHoldAbandoned, "minimum-hold-abandoned", "DESIGN: a guardian that is left alone keeps the office for its minimum", "subreaper::a_minimum_hold_outlives_its_supervisor";
    KeeperDismissed, "keeper-dismissed", "DESIGN: a guardian stays until the office is given up", "subreaper::a_minimum_hold_outlives_its_supervisor_also_without_a_command";
    AbandonedBeforeEmpty, "abandoned-before-empty", "SAFETY 12: a guardian gives the office up when nothing of the tree is left", "subreaper::a_forking_command_of_a_killed_supervisor_is_ended";
    LooserGuardianHired, "looser-guardian-hired", "DESIGN: a guardian that follows another holds the command as firmly", "a_command_that_was_held_firmly_is_not_run_again_more_loosely";
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
    use std::sync::atomic::Ordering;
    match CHOSEN.load(Ordering::Relaxed) {
        UNDECIDED => {
            plant(named_by_environment());
            planted(mutant)
        }
        chosen => chosen == mutant as usize,
    }
}

/// Plants one fault from now on, or none, whatever the environment says.
#[cfg(tenure_mutants)]
pub fn plant(mutant: Option<Mutant>) {
    CHOSEN.store(mutant.map_or(NONE, |mutant| mutant as usize), std::sync::atomic::Ordering::Relaxed);
}

#[cfg(tenure_mutants)]
static CHOSEN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(UNDECIDED);
#[cfg(tenure_mutants)]
const UNDECIDED: usize = usize::MAX;
#[cfg(tenure_mutants)]
const NONE: usize = usize::MAX - 1;

#[cfg(tenure_mutants)]
fn named_by_environment() -> Option<Mutant> {
    let name = std::env::var("TENURE_MUTANT").ok().filter(|name| !name.is_empty() && name != "list")?;
    let found = Mutant::ALL.iter().find(|(_, known, _, _)| *known == name);
    Some(found.unwrap_or_else(|| panic!("TENURE_MUTANT={name} is not a planted mutant")).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_planted_mutants() {
        for (_, name, rule, tests) in Mutant::ALL.iter().filter(|(.., tests)| !tests.is_empty()) {
            println!("mutant {name} | {rule} | {tests}");
        }
    }
}
