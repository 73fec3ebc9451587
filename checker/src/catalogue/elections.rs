//! The models of elections.

use super::Depth;
use crate::election::{Bounds, Clocks, Durations, Fact, Flaw, Invariant, Setting, StoreKind};

const TTL: StoreKind = StoreKind::Ttl { grants: None, flaw: None };

/// What happens in every election that is disturbed enough.
const ALWAYS_MET: &[Fact] = &[
    Fact::LeaderChanged,
    Fact::Expired,
    Fact::PauseOutlivedLease,
    Fact::Restarted,
    Fact::Withdrawn,
    Fact::WinCommittedUnheard,
    Fact::LateWinWithdrawn,
    Fact::LateWriteRefused,
    Fact::Doubled,
    Fact::AnsweredLate,
];

/// Outside the clock bound the lease protects nobody; fencing still does.
const LEASE_ALONE: &[Invariant] = &[Invariant::OneBelieves, Invariant::StoreAgrees];

pub(super) fn all(depth: Depth) -> Vec<Setting> {
    let bounds = |test: (u8, u8), usual: (u8, u8), deep: (u8, u8)| {
        let (ticks, disturbances) = match depth {
            Depth::Test => test,
            Depth::Usual => usual,
            Depth::Deep => deep,
        };
        Bounds::new(ticks, disturbances)
    };
    // With one disturbance the office changes hands twice at most; three tenures and what needs two faults are for the wider bounds.
    let wide = depth != Depth::Test;
    let met = |wider: &[Fact]| {
        let wider = wider.iter().filter(|_| wide);
        ALWAYS_MET.iter().chain(wider).copied().collect::<Vec<_>>()
    };
    let mut session_met = vec![Fact::LeaderChanged, Fact::TurnCame, Fact::StoreExpired, Fact::PauseOutlivedLease];
    session_met.extend(Some(Fact::SessionLost).filter(|_| wide));
    vec![
        Setting {
            name: "ttl",
            about: "a store that expires records by its own clock",
            store: TTL,
            candidates: vec![Durations::SHORT; 3],
            clocks: Clocks::WITHIN,
            bounds: bounds((3, 1), (5, 2), (6, 2)),
            breaks: &[],
            meets: met(&[Fact::ThreeTenures, Fact::StoreExpired, Fact::GhostLanded, Fact::RenewalCommittedUnheard]),
        },
        Setting {
            name: "ttl-patient",
            about: "the same with a lease in which a renewal is tried a second time",
            store: TTL,
            candidates: vec![Durations::PATIENT; 2],
            clocks: Clocks::WITHIN,
            bounds: bounds((6, 1), (7, 2), (7, 3)),
            breaks: &[],
            meets: vec![
                Fact::LeaderChanged,
                Fact::Expired,
                Fact::RenewalCommittedUnheard,
                Fact::OwnWriteRecognised,
                Fact::AnsweredLate,
            ],
        },
        Setting {
            name: "ttl-granted",
            about: "a store that grants less than it is asked for",
            store: StoreKind::Ttl { grants: Some(6_000), flaw: None },
            candidates: vec![Durations { lease: 9_000, ..Durations::SHORT }; 2],
            clocks: Clocks::WITHIN,
            bounds: bounds((3, 1), (5, 2), (5, 3)),
            breaks: &[],
            meets: vec![Fact::LeaderChanged, Fact::Expired, Fact::StoreExpired],
        },
        Setting {
            name: "register",
            about: "a store that only writes conditionally: contenders judge expiry",
            store: StoreKind::Register,
            candidates: vec![Durations::SHORT; 3],
            clocks: Clocks::WITHIN,
            bounds: bounds((4, 1), (5, 2), (6, 2)),
            breaks: &[],
            meets: met(&[Fact::SilentHolderDisplaced, Fact::ThreeTenures, Fact::GhostLanded]),
        },
        Setting {
            name: "register-mixed",
            about: "the same with leases that differ",
            store: StoreKind::Register,
            candidates: vec![Durations::LONG, Durations::SHORT],
            clocks: Clocks::WITHIN,
            bounds: bounds((4, 1), (6, 2), (6, 3)),
            breaks: &[],
            meets: vec![Fact::LeaderChanged, Fact::Expired, Fact::SilentHolderDisplaced],
        },
        Setting {
            name: "session",
            about: "sessions with heartbeats, and a queue",
            store: StoreKind::Session,
            candidates: vec![Durations::SHORT; if depth == Depth::Deep { 3 } else { 2 }],
            clocks: Clocks::WITHIN,
            bounds: bounds((3, 1), (5, 2), (4, 2)),
            breaks: &[],
            meets: session_met,
        },
        Setting {
            name: "ttl-beyond",
            about: "clocks a third of a thousandth outside the bound",
            store: TTL,
            candidates: vec![Durations { lease: 6_002, ..Durations::SHORT }; 2],
            clocks: Clocks::BEYOND,
            bounds: bounds((3, 1), (5, 2), (5, 3)),
            breaks: LEASE_ALONE,
            meets: vec![Fact::LeaderChanged],
        },
        Setting {
            name: "register-beyond",
            about: "the same where contenders judge expiry",
            store: StoreKind::Register,
            candidates: vec![Durations { lease: 6_002, ..Durations::SHORT }; 2],
            clocks: Clocks::BEYOND,
            bounds: bounds((3, 1), (5, 2), (5, 3)),
            breaks: LEASE_ALONE,
            meets: vec![Fact::LeaderChanged, Fact::SilentHolderDisplaced],
        },
        flawed("ttl-renew-creates", "a store whose renewals make records", Flaw::RenewCreates),
        flawed("ttl-renews-anybody", "a store whose renewals take records over", Flaw::RenewsAnybody),
        flawed("ttl-withdraws-anybody", "a store whose withdrawals remove anybody's record", Flaw::WithdrawsAnybody),
        flawed("ttl-counter-forgotten", "a store whose counter goes with its record", Flaw::CounterForgotten),
    ]
}

/// A store that breaks a rule of the seam, to see that the checks notice.
fn flawed(name: &'static str, about: &'static str, flaw: Flaw) -> Setting {
    use Invariant::{LateWritesHarmless, NoFalseAlarm, OneBelieves, StoreAgrees, TokensRise};
    Setting {
        name,
        about,
        store: StoreKind::Ttl { grants: None, flaw: Some(flaw) },
        candidates: vec![Durations::SHORT; 2],
        clocks: Clocks::WITHIN,
        bounds: Bounds::new(4, 1),
        breaks: match flaw {
            Flaw::RenewCreates => &[LateWritesHarmless],
            Flaw::RenewsAnybody => &[StoreAgrees, LateWritesHarmless, NoFalseAlarm],
            Flaw::WithdrawsAnybody => &[OneBelieves, StoreAgrees, LateWritesHarmless, NoFalseAlarm],
            Flaw::CounterForgotten => &[TokensRise, NoFalseAlarm],
        },
        meets: vec![Fact::LeaderChanged],
    }
}
