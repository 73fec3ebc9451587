//! Whatever can happen to a machine, as values that proptest makes and shrinks.

use proptest::prelude::*;

use super::*;

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) struct Move {
    pub(super) wait: Wait,
    pub(super) what: What,
    pub(super) random: u64,
}

/// How much time passes before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    None,
    ToTheWake,
    JustBeforeTheWake,
    Millis(u32),
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Input(Input),
    /// The call in flight is answered.
    Answer(Reply),
    /// A call that nobody waits for any more is answered.
    Late(Reply),
    /// The session was extended by a heartbeat of so many milliseconds ago.
    Beat {
        ago: u32,
        ttl: u32,
    },
}

/// What a store answers; what the words mean depends on the call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reply {
    /// Won or extended, for so many milliseconds, with an office that fell vacant like that.
    Good {
        ttl: u32,
        shared: bool,
        asked: bool,
        over: u8,
    },
    /// Ours, but the version is another one; or queued.
    Ours,
    /// Another holds it.
    Others {
        version: u8,
        kind: u8,
    },
    /// An earlier bid of ours holds it.
    Ghost {
        queued: bool,
    },
    Vacant,
    Transient,
    Refused,
    Unknown,
    /// An answer to another question.
    Nonsense,
    /// A grant of another life of the store, or with a token that went back.
    Barred {
        replaced: bool,
    },
}

/// Answers a call as `reply` says. `serial` makes versions and tokens that rise.
pub(super) fn outcome(reply: Reply, call: &Ordered, serial: u64, now: Moment) -> Outcome {
    let granted = |ttl: u32, shared: bool| Grant {
        cover: match shared {
            true => Cover::Shared { session: SessionId(1), from: call.attempt.sent, ttl: millis(ttl) },
            false => Cover::Own { ttl: millis(ttl) },
        },
        ..grant(call.tenure, serial)
    };
    let ours = || Sight::Held(Held { tenure: Some(call.tenure), ..held(serial) });
    let covered = Cover::Shared { session: SessionId(1), from: now, ttl: LEASE };
    let sight = match reply {
        Reply::Transient => return TRANSIENT,
        Reply::Refused => return REFUSED,
        Reply::Unknown => return UNKNOWN,
        Reply::Nonsense => match call.op {
            Op::Withdraw => return extended(granted(15_000, false)),
            _ => return Outcome::Withdrew,
        },
        _ if call.op == Op::Withdraw => return Outcome::Withdrew,
        Reply::Good { ttl, shared, asked, over: over_kind } => {
            let over = [Vacancy::Free, Vacancy::Removed, Vacancy::Released { by: TenureId::new(0xbad, 1) }]
                [over_kind as usize % 3];
            let incarnation = over_kind.is_multiple_of(2).then_some(Incarnation::new(1));
            let grant = Grant { over, incarnation, asked_to_resign: asked, ..granted(ttl, shared) };
            match call.op {
                Op::Stand { .. } => return elected(grant),
                Op::Renew { .. } => return extended(grant),
                _ => Sight::Held(Held { asked_to_resign: asked, tenure: Some(call.tenure), ..held(serial) }),
            }
        }
        Reply::Barred { replaced } => {
            let grant = match replaced {
                true => Grant { incarnation: Some(Incarnation::new(2)), ..granted(15_000, false) },
                false => Grant { token: Some(1), ..granted(15_000, false) },
            };
            match call.op {
                Op::Stand { .. } => return elected(grant),
                Op::Renew { .. } => return extended(grant),
                _ => ours(),
            }
        }
        Reply::Ours => match call.op {
            Op::Stand { .. } => {
                return Outcome::Stood(Standing::Queued(
                    Sight::Held(held(1)),
                    serial.is_multiple_of(2).then_some(covered),
                ));
            }
            _ => ours(),
        },
        Reply::Others { version, kind } => Sight::Held(other(version, kind)),
        Reply::Ghost { queued } => {
            let ghost = TenureId::new(call.tenure.nonce(), 1_000_000);
            let sight = Sight::Held(Held { tenure: Some(ghost), ..held(serial) });
            match call.op {
                Op::Stand { .. } if queued => return Outcome::Stood(Standing::Queued(sight, None)),
                _ => sight,
            }
        }
        Reply::Vacant => Sight::Vacant(Vacancy::Removed),
    };
    match call.op {
        Op::Stand { .. } => Outcome::Stood(Standing::Held(sight)),
        Op::Renew { .. } => mismatch(sight),
        Op::Inspect => Outcome::Inspected(sight),
        Op::Withdraw => Outcome::Withdrew,
    }
}

fn other(version: u8, kind: u8) -> Held {
    let expiry = match kind % 4 {
        0 => Expiry::Store { remaining: None },
        1 => Expiry::Store { remaining: Some(secs(f64::from(version))) },
        2 => Expiry::Observe { recorded: secs(f64::from(version)) },
        _ => Expiry::Dead { after: secs(f64::from(version) / 2.0) },
    };
    let tenure = if kind < 128 { held(0).tenure } else { None };
    Held { expiry, tenure, ..held(u64::from(version)) }
}

pub(super) fn millis(millis: u32) -> Duration {
    Duration::from_millis(millis.into())
}

pub(super) fn any_reply() -> impl Strategy<Value = Reply> {
    let ttl = prop_oneof![6 => Just(15_000u32), 1 => Just(13_000), 1 => Just(1_000), 1 => Just(30_000)];
    prop_oneof![
        8 => (ttl, any::<bool>(), prop::bool::weighted(0.1), any::<u8>())
            .prop_map(|(ttl, shared, asked, over)| Reply::Good { ttl, shared, asked, over }),
        2 => Just(Reply::Ours),
        3 => (0u8..4, any::<u8>()).prop_map(|(version, kind)| Reply::Others { version, kind }),
        1 => any::<bool>().prop_map(|queued| Reply::Ghost { queued }),
        1 => Just(Reply::Vacant),
        2 => Just(Reply::Transient),
        1 => Just(Reply::Refused),
        2 => Just(Reply::Unknown),
        1 => Just(Reply::Nonsense),
        1 => any::<bool>().prop_map(|replaced| Reply::Barred { replaced }),
    ]
}

fn any_hint() -> impl Strategy<Value = Hint> {
    prop_oneof![
        3 => Just(Hint::Armed),
        2 => Just(Hint::Changed),
        2 => Just(Hint::Vacant),
        1 => Just(Hint::Lagged),
        1 => (0u32..20_000).prop_map(|span| Hint::Eta(millis(span))),
        1 => Just(Hint::Seen(Sight::Vacant(Vacancy::Free))),
        2 => (0u8..4, any::<u8>()).prop_map(|(version, kind)| Hint::Seen(Sight::Held(other(version, kind)))),
        1 => (1u64..4).prop_map(|count| {
            Hint::Seen(Sight::Held(Held { tenure: Some(TenureId::new(Setup::new().nonce, count)), ..held(7) }))
        }),
    ]
}

fn any_what() -> impl Strategy<Value = What> {
    let goal = prop_oneof![3 => Just(Goal::Forever), 1 => Just(Goal::OneTenure), 1 => Just(Goal::TryOnce)];
    let patience = prop_oneof![2 => Just(None), 1 => (0u32..20_000).prop_map(|span| Some(millis(span)))];
    prop_oneof![
        6 => Just(What::Input(Input::Wake)),
        12 => any_reply().prop_map(What::Answer),
        1 => any_reply().prop_map(What::Late),
        3 => (goal, patience).prop_map(|(goal, patience)| What::Input(Input::Start { goal, patience })),
        1 => Just(What::Input(Input::Stop)),
        1 => Just(What::Input(Input::Resign)),
        3 => Just(What::Input(Input::WorkStopped)),
        2 => any::<bool>().prop_map(|healthy| What::Input(Input::Health(healthy))),
        3 => any_hint().prop_map(|hint| What::Input(Input::Hint(hint))),
        2 => (0u32..12_000, prop_oneof![5 => Just(15_000u32), 1 => Just(13_000), 1 => Just(1_000)])
            .prop_map(|(ago, ttl)| What::Beat { ago, ttl }),
        1 => Just(What::Input(Input::CoverLost)),
    ]
}

pub(super) fn any_moves() -> impl Strategy<Value = Vec<Move>> {
    let wait = prop_oneof![
        4 => Just(Wait::None),
        4 => Just(Wait::ToTheWake),
        1 => Just(Wait::JustBeforeTheWake),
        4 => (0u32..4_000).prop_map(Wait::Millis),
        1 => (0u32..60_000).prop_map(Wait::Millis),
    ];
    let random = prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    let one = (wait, any_what(), random).prop_map(|(wait, what, random)| Move { wait, what, random });
    prop::collection::vec(one, 1..80)
}

/// Timings and stores that differ in what a machine makes of them.
pub(super) fn any_setup() -> impl Strategy<Value = Setup> {
    let timing = prop_oneof![
        Just(TimingBuilder::default()),
        Just(TimingBuilder { settle: Settle::For(secs(4.0)), at_least: secs(20.0), ..Default::default() }),
        Just(TimingBuilder { kill_after: Some(secs(3.0)), settle: Settle::For(secs(30.0)), ..Default::default() }),
        Just(TimingBuilder {
            tolerance: Tolerance::FirstErrorLoses,
            call_timeout: Some(secs(12.0)),
            splay: secs(5.0),
            ..Default::default()
        }),
        Just(TimingBuilder {
            tolerance: Tolerance::FailuresLose(2),
            backoff: Some(Backoff::constant(Duration::ZERO)),
            ..Default::default()
        }),
    ];
    (timing, any::<bool>(), any::<bool>()).prop_map(|(timing, pushed, trusting)| {
        let mut setup = Setup { timing, ..Setup::new() };
        setup.traits.vacancies = if pushed { Vacancies::Pushed } else { Vacancies::Polled };
        setup.reclaim = if trusting { Reclaim::TrustingUniqueName } else { Reclaim::OnProof };
        setup
    })
}
