//! Every input in every phase.

use super::*;

/// A machine in each phase, with and without a call in flight.
fn phases() -> Vec<(&'static str, Rig)> {
    let session = Cover::Shared { session: SessionId(1), from: Moment::ZERO, ttl: LEASE };
    let started = |setup: Setup| {
        let mut rig = setup.rig();
        rig.random = MIDDLE;
        rig.start(0.0);
        rig
    };
    let won = |setup: Setup, cover: Cover| {
        let mut rig = started(setup);
        let won = Grant { cover, ..grant(rig.standing(), 1) };
        rig.answer(0.0, elected(won));
        rig
    };
    let own = Cover::Own { ttl: LEASE };
    let then = |mut rig: Rig, steps: &[(f64, Input)]| {
        for (seconds, input) in steps {
            rig.step(*seconds, input.clone());
        }
        rig
    };
    let settle = || Setup::new().timing(|timing| timing.settle = Settle::For(secs(4.0)));
    let answered = |mut rig: Rig, outcome: Outcome| {
        rig.answer(rig.now.since(Moment::ZERO).as_secs_f64(), outcome);
        rig
    };
    let queued = Outcome::Stood(Standing::Queued(Sight::Held(held(1)), Some(session)));
    let given_up = |rig| then(rig, &[(0.0, Input::Resign), (0.0, Input::WorkStopped)]);
    vec![
        ("idle", Rig::new()),
        ("splaying", started(Setup::new().timing(|timing| timing.splay = secs(5.0)))),
        ("standing", started(Setup::new())),
        ("waiting", answered(started(Setup::new()), occupied(held(1)))),
        ("queued", answered(started(Setup::new()), queued)),
        ("settling", won(settle(), own)),
        ("confirming", then(won(settle(), own), &[(4.0, Input::Wake)])),
        ("settling under a session", won(settle(), session)),
        ("leading", won(Setup::new(), own)),
        ("renewing", then(won(Setup::new(), own), &[(5.0, Input::Wake)])),
        ("leading under a session", won(Setup::new(), session)),
        ("looking", then(won(Setup::new(), session), &[(1.0, Input::Hint(Hint::Changed))])),
        ("winding", then(won(Setup::new(), own), &[(0.0, Input::Resign)])),
        ("winding, lost", then(won(Setup::new(), own), &[(11.0, Input::Wake)])),
        ("winding, session lost", then(won(Setup::new(), session), &[(1.0, Input::CoverLost)])),
        ("lingering", given_up(won(Setup::new().timing(|timing| timing.at_least = secs(60.0)), own))),
        ("clearing a bid", answered(started(Setup::new()), UNKNOWN)),
        ("clearing a tenure", given_up(won(Setup::new(), own))),
        ("sitting out", answered(given_up(won(Setup::new(), own)), Outcome::Withdrew)),
        (
            "resting",
            then(
                Rig::new(),
                &[(0.0, Input::Health(false)), (0.0, Input::Start { goal: Goal::Forever, patience: None })],
            ),
        ),
        ("done", then(Rig::new(), &[(0.0, Input::Stop)])),
    ]
}

#[test]
fn every_input_in_every_phase_leads_where_it_should() {
    use State::{Candidate as C, Idle as I, Leader as L, Resting as R, Settling as S, SteppingDown as D};
    let inputs = [
        Input::Stop,
        Input::Resign,
        Input::Health(false),
        Input::WorkStopped,
        Input::CoverLost,
        Input::Hint(Hint::Vacant),
        Input::Start { goal: Goal::Forever, patience: None },
        Input::Wake,
    ];
    #[rustfmt::skip]
    let expected = [
        //                            stop resign unfit stopped lost vacant start wake
        ("idle",                     [I, I, I, I, I, I, C, I]),
        ("splaying",                 [I, C, R, C, C, C, C, C]),
        ("standing",                 [C, C, C, C, C, C, C, C]),
        ("waiting",                  [I, C, R, C, C, C, C, C]),
        ("queued",                   [D, C, D, C, D, C, C, C]),
        ("settling",                 [D, D, D, S, S, S, S, S]),
        ("confirming",               [D, D, D, S, S, S, S, S]),
        ("settling under a session", [D, D, D, S, C, S, S, S]),
        ("leading",                  [D, D, D, L, L, L, L, L]),
        ("renewing",                 [D, D, D, L, L, L, L, L]),
        ("leading under a session",  [D, D, D, L, D, L, L, L]),
        ("looking",                  [D, D, D, L, D, L, L, L]),
        ("winding",                  [D, D, D, D, D, D, D, D]),
        ("winding, lost",            [D, D, D, D, D, D, D, D]),
        ("winding, session lost",    [D, D, D, C, D, D, D, D]),
        ("lingering",                [D, D, D, D, D, D, D, D]),
        ("clearing a bid",           [D, D, D, D, D, D, D, D]),
        ("clearing a tenure",        [D, D, D, D, D, D, D, D]),
        ("sitting out",              [I, C, R, C, C, C, C, C]),
        ("resting",                  [I, R, R, R, R, R, R, R]),
        ("done",                     [I, I, I, I, I, I, C, I]),
    ];
    let phases = phases();
    assert_eq!(phases.len(), expected.len());
    for ((name, rig), (named, states)) in phases.iter().zip(expected) {
        assert_eq!(*name, named);
        for (input, state) in inputs.iter().zip(states) {
            let mut rig = rig.clone();
            rig.step_at(rig.now, input.clone());
            assert_eq!(rig.machine.state(), state, "{name}: {input:?}");
        }
    }
}

#[test]
fn any_two_inputs_in_a_row_break_nothing_in_any_phase() {
    // The watchdog of the rig checks every step; two endings in a row are one.
    let inputs = || {
        [
            Input::Stop,
            Input::Resign,
            Input::Health(false),
            Input::Health(true),
            Input::WorkStopped,
            Input::CoverLost,
            Input::CoverMoved { from: at(0.5), ttl: LEASE },
            Input::CoverMoved { from: at(0.5), ttl: secs(1.0) },
            Input::Hint(Hint::Vacant),
            Input::Hint(Hint::Lagged),
            Input::Start { goal: Goal::TryOnce, patience: Some(Duration::ZERO) },
            Input::Wake,
        ]
    };
    for (name, rig) in phases() {
        for (first, second) in inputs().into_iter().flat_map(|first| inputs().map(|second| (first.clone(), second))) {
            for span in [Duration::ZERO, secs(3.0), secs(3600.0)] {
                let mut rig = rig.clone();
                let now = rig.now;
                let mut endings = 0;
                for (when, input) in [(now, first.clone()), (now, second.clone()), (now.after(span), Input::Wake)] {
                    let seen = rig.step_at(when, input);
                    endings += usize::from(seen.ended().is_some());
                }
                assert!(endings <= 1, "{name}: {first:?}, {second:?}");
            }
        }
    }
}
