//! A slice of the worlds, for every run of the tests.

use tenure_sim::{Fact, Family, Faults, run};

const SEEDS: u64 = 300;

#[test]
fn nothing_breaks_inside_the_assumptions_and_the_faults_bite() {
    for family in Family::ALL {
        let mut met = [0u32; Fact::ALL.len()];
        for seed in 0..SEEDS {
            let history = run(seed, family, Faults::ALL);
            assert_eq!(history.violation(), None, "{} seed {seed}", family.name());
            for fact in Fact::ALL {
                met[fact as usize] += history.count(fact);
            }
        }
        let mut expected = vec![
            Fact::LeaderChanged,
            Fact::Expired,
            Fact::RenewalFailed,
            Fact::MessageLost,
            Fact::Paused,
            Fact::Crashed,
            Fact::LateWrite,
            Fact::UnfencedUpdateLost,
            Fact::Withdrawn,
        ];
        if matches!(family, Family::Register | Family::PushedRegister) {
            expected.push(Fact::Displaced);
        }
        for fact in expected {
            assert!(met[fact as usize] > 0, "{} never met {fact:?}: the faults do not bite", family.name());
        }
    }
}

#[test]
fn beyond_the_assumptions_fencing_still_holds() {
    for family in Family::ALL {
        let mut broken = 0;
        for seed in 0..SEEDS {
            let history = run(seed, family, Faults::BEYOND);
            assert_eq!(history.violation(), None, "{} seed {seed}", family.name());
            broken += history.count(Fact::Overlapped);
        }
        assert!(
            broken > 0,
            "{}: with clocks far off and records removed by hand two must believe at times",
            family.name()
        );
    }
}

#[test]
fn a_seed_replays_to_the_same_story() {
    for family in Family::ALL {
        let (once, again) = (run(7, family, Faults::ALL), run(7, family, Faults::ALL));
        assert!(!once.lines().is_empty());
        assert_eq!(once.lines(), again.lines());
    }
}

#[test]
fn seeds_that_once_broke_hold() {
    // The echo of a winning answer; a late bid on a shared session; a late heartbeat.
    for (seed, family) in [(31, Family::Ttl), (2131, Family::Session), (2973, Family::Session), (5103, Family::Session)]
    {
        assert_eq!(run(seed, family, Faults::ALL).violation(), None, "{} seed {seed}", family.name());
    }
}
