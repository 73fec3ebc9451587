//! The models of elections within narrow bounds, for every run of the tests.

use tenure_checker::catalogue::{self, Depth, Entry};
use tenure_checker::election::{Bounds, Clocks, Durations, ElectionModel, Fact, Invariant, Setting, StoreKind};
use tenure_checker::examine::{Until, examine};

fn model(name: &str) -> Entry {
    catalogue::all(Depth::Test).into_iter().find(|entry| entry.name == name).expect("it is in the catalogue")
}

/// Every state within the bounds, and nothing but what is expected.
#[track_caller]
fn is_as_expected(name: &str) {
    let entry = model(name);
    let findings = entry.examine(Until::Exhausted, 2);
    assert_eq!(entry.objections(&findings), Vec::<String>::new(), "{name}: {findings:#?}");
    assert!(findings.exhaustive, "{name}");
    assert_eq!(findings.always.len(), Invariant::ALL.len());
}

#[test]
fn one_leads_where_the_store_judges_expiry() {
    is_as_expected("ttl");
    is_as_expected("ttl-patient");
    is_as_expected("ttl-granted");
}

#[test]
fn one_leads_where_contenders_judge_expiry() {
    is_as_expected("register");
    is_as_expected("register-mixed");
}

#[test]
fn one_leads_under_sessions_with_a_queue() {
    is_as_expected("session");
}

#[test]
fn outside_the_clock_bound_two_believe_and_tokens_still_rise() {
    for name in ["ttl-beyond", "register-beyond"] {
        is_as_expected(name);
        let broken = model(name).breaks;
        assert!(broken.iter().all(|name| name.starts_with("I1 ") || name.starts_with("I4 ")), "{broken:?}");
    }
}

#[test]
fn the_same_lease_is_safe_on_the_bound_and_unsafe_a_third_of_a_thousandth_outside_it() {
    // SAFETY 2: the bound is tight, so that one step further breaks it and none before does.
    let on = |clocks: Clocks| {
        let setting = Setting {
            name: "edge",
            about: "",
            store: StoreKind::Ttl { grants: None, flaw: None },
            candidates: vec![Durations { lease: 6_002, ..Durations::SHORT }; 2],
            clocks,
            bounds: Bounds::new(3, 1),
            breaks: &[],
            meets: vec![Fact::Expired],
        };
        examine(ElectionModel::new(setting), Until::Exhausted, 2)
    };
    let (within, beyond) = (on(Clocks::WITHIN), on(Clocks::BEYOND));
    assert!(within.exhaustive && beyond.exhaustive && within.missed().is_empty());
    assert_eq!(within.broken(), Vec::<&str>::new());
    assert_eq!(beyond.broken(), [Invariant::OneBelieves.name(), Invariant::StoreAgrees.name()]);
}

#[test]
fn a_store_that_breaks_the_seam_is_noticed() {
    for name in ["ttl-renew-creates", "ttl-renews-anybody", "ttl-withdraws-anybody", "ttl-counter-forgotten"] {
        is_as_expected(name);
    }
}

#[test]
fn a_counterexample_tells_who_believed_what() {
    let findings = model("ttl-beyond").examine(Until::Breaks(Invariant::OneBelieves.name()), 1);
    assert!(!findings.exhaustive);
    let story = findings.always[0].1.as_ref().expect("two believe");
    let (start, end) = (story.lines().next().unwrap(), story.lines().last().unwrap());
    assert!(start.contains("ada's clock is slow") && start.contains("the store's is fast"), "{story}");
    assert!(end.contains("believing: ada") && end.contains(", bob") && end.contains("token 2"), "{story}");
}
