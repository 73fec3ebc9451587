//! A slice of the worlds, for every run of the tests; `cargo xtask simulate` runs many more, and the mutants.

use tenure_sim::{Fact, Family, Faults, run, tell};

const SEEDS: u64 = 25;

#[test]
fn nothing_breaks_inside_the_assumptions_and_the_faults_bite() {
    for family in Family::ALL {
        let mut met = vec![0u32; Fact::ALL.len()];
        for seed in 0..SEEDS {
            let history = run(seed, family, Faults::ALL);
            assert_eq!(history.violation(), None, "{} seed {seed}", family.name());
            for fact in Fact::ALL {
                met[*fact as usize] += history.count(*fact);
            }
        }
        // What must be met in thousands of worlds is asked for there; these happen in any handful.
        for fact in [
            Fact::LeaderChanged,
            Fact::Expired,
            Fact::Resigned,
            Fact::MessageLost,
            Fact::Paused,
            Fact::Crashed,
            Fact::Partitioned,
            Fact::LateWrite,
            Fact::Withdrawn,
        ] {
            assert!(met[fact as usize] > 0, "{} never met {fact:?}: the faults do not bite", family.name());
        }
    }
}

#[test]
fn beyond_the_assumptions_only_what_cannot_be_had_breaks() {
    for (word, faults) in [
        ("clocks", Faults::CLOCKS),
        ("deletions", Faults::DELETIONS),
        ("records", Faults::RECORDS),
        ("beyond", Faults::BEYOND),
    ] {
        let mut overlapped = 0;
        for family in Family::ALL {
            for seed in 0..SEEDS / 2 {
                let history = run(seed, family, faults);
                assert_eq!(history.violation(), None, "{} seed {seed}, faults {word}", family.name());
                overlapped += history.count(Fact::Overlapped);
            }
        }
        assert!(overlapped > 0, "with faults {word} two must believe at times");
    }
}

#[test]
fn a_world_without_faults_has_one_leader_and_no_losses() {
    for family in Family::ALL {
        let history = run(1, family, Faults::NONE);
        assert_eq!(history.violation(), None, "{}", family.name());
        for fact in [Fact::Expired, Fact::Deposed, Fact::SessionLost, Fact::RenewalFailed, Fact::UnfencedUpdateLost] {
            assert_eq!(history.count(fact), 0, "{} {fact:?}", family.name());
        }
    }
}

#[test]
fn a_seed_replays_to_the_same_story() {
    for family in Family::ALL {
        let story = |pause| {
            std::thread::sleep(std::time::Duration::from_millis(pause));
            tell(7, family, Faults::ALL).tale.expect("it is told").text()
        };
        let (once, again) = (story(1), story(2));
        assert!(once.lines().count() > 50, "{}", family.name());
        for (one, other) in once.lines().zip(again.lines()) {
            assert_eq!(one, other, "{}", family.name());
        }
        assert_eq!(once, again, "{}", family.name());
    }
}

#[test]
fn telling_a_world_changes_nothing_in_it() {
    for family in Family::ALL {
        let (quiet, told) = (run(3, family, Faults::BEYOND), tell(3, family, Faults::BEYOND));
        for fact in Fact::ALL {
            assert_eq!(quiet.count(*fact), told.count(*fact), "{} {fact:?}", family.name());
        }
    }
}

/// Seeds that once broke an invariant, with what they found. A world changes when the simulator does; then these are worlds like any other.
#[test]
fn seeds_that_once_broke_hold() {
    for (family, faults, seed) in [
        // A waiting candidate and a store that kept its dead session asked each other hundreds of times a second.
        (Family::Etcd, Faults::ALL, 23),
        // A bid stood under one session while its place was under another.
        (Family::Etcd, Faults::ALL, 1124),
        // A token seen too late, or while settling, was forgotten after a wipe.
        (Family::Etcd, Faults::DELETIONS, 364),
        (Family::Kubernetes, Faults::DELETIONS, 202),
        (Family::ZooKeeper, Faults::RECORDS, 297),
        // An answer to a heartbeat of the heart before was credited to one that was lost.
        (Family::Etcd, Faults::ALL, 1_277_760),
        (Family::ZooKeeper, Faults::ALL, 13_738),
        // A late message of one Redlock attempt unlocked the next.
        (Family::Redlock, Faults::ALL, 497),
    ] {
        assert_eq!(run(seed, family, faults).violation(), None, "{} seed {seed}", family.name());
    }
}
