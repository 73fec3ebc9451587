//! What a machine is: small, cloneable, comparable, and the same for the same inputs.

use std::hash::Hash;

use super::*;

#[test]
fn a_machine_fits_into_256_bytes() {
    // DESIGN: 100,000 elections in one process.
    assert!(size_of::<Machine>() <= 256, "{}", size_of::<Machine>());
}

#[test]
fn a_machine_can_be_cloned_compared_and_hashed() {
    // DESIGN: the simulator and a model checker keep and compare whole states.
    fn is<T: Clone + Eq + Hash + Send + Sync + 'static>() {}
    is::<Machine>();
}

#[test]
fn the_same_inputs_make_the_same_machine_and_the_same_orders() {
    let run = || {
        let mut rig = Rig::leading(&Setup::new());
        let seen = rig.renew_until(33.0);
        (rig.machine, seen.0)
    };
    assert_eq!(run(), run());
}

#[test]
fn an_alarm_says_what_happened() {
    let alarms = [
        Alarm::TokenWentBack { seen: FencingToken::MAX, offered: 3 },
        Alarm::StoreReplaced { seen: FencingToken::new(7) },
        Alarm::StoreReplaced { seen: None },
        Alarm::GrantTooShort,
        Alarm::WorkOverran,
        Alarm::Deposed,
    ];
    for alarm in alarms {
        assert!(alarm.to_string().len() > 20);
    }
    assert_eq!(Ending::Resigned.to_string(), "resigned");
}
