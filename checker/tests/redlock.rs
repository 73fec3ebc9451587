//! Redlock's token, and what becomes of it without its rules.

use tenure_checker::examine::{Until, examine};
use tenure_checker::redlock::{RISING, RedlockModel, UNDER_LOCK, UNIQUE, Variant};

#[track_caller]
fn breaks(variant: Variant, property: &'static str) {
    let findings = examine(RedlockModel::new(variant, 3, 2), Until::Breaks(property), 2);
    assert!(findings.broken().contains(&property), "{}: {findings:#?}", variant.name);
    let story = findings.always.iter().find(|(name, _)| *name == property).and_then(|(_, story)| story.as_ref());
    assert!(story.expect("it broke").contains("attempt 1 begins"));
}

#[test]
fn two_rounds_give_tokens_that_are_unique_and_rise() {
    let findings = examine(RedlockModel::new(Variant::SOUND, 3, 2), Until::Exhausted, 2);
    assert!(findings.exhaustive);
    assert_eq!(findings.broken(), Vec::<&str>::new());
    assert_eq!(findings.missed(), Vec::<&str>::new());
}

#[test]
fn one_round_or_one_master_is_not_enough() {
    for variant in [Variant::ONE_MASTER, Variant::FIRST_ROUND] {
        breaks(variant, UNIQUE);
        breaks(variant, RISING);
    }
}

#[test]
fn without_both_conditions_a_token_is_given_twice() {
    breaks(Variant::UNCONDITIONAL, UNIQUE);
}

#[test]
fn without_the_condition_on_the_counter_a_repeated_request_gives_a_token_twice() {
    breaks(Variant::NOT_BELOW, UNIQUE);
}

#[test]
fn where_nothing_is_repeated_the_lock_alone_keeps_tokens_apart() {
    let findings = examine(RedlockModel::new(Variant::NOT_BELOW_ONCE, 3, 2), Until::Exhausted, 2);
    assert!(findings.exhaustive);
    assert_eq!(findings.broken(), Vec::<&str>::new());
}

#[test]
fn without_the_condition_on_the_lock_one_wins_that_does_not_hold_it() {
    breaks(Variant::NOT_LOCKED, UNDER_LOCK);
}

#[test]
fn an_unused_master_or_an_old_nonce_gives_a_token_twice_once_the_counter_is_not_looked_at() {
    breaks(Variant::UNUSED_NOT_BELOW, UNIQUE);
    breaks(Variant::STALE_NONCE_NOT_BELOW, UNIQUE);
}

#[test]
fn one_nonce_for_two_attempts_lets_one_win_under_the_lock_of_the_other() {
    breaks(Variant::STALE_NONCE, UNDER_LOCK);
}

#[test]
fn a_master_that_forgets_gives_a_token_twice() {
    breaks(Variant::FORGETFUL, UNIQUE);
    breaks(Variant::FORGETFUL, RISING);
}
