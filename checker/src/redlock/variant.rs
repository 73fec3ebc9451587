//! The protocol with one of its rules left out, to see which of them matter.

/// What is different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// What the command line calls it.
    pub name: &'static str,
    /// In words.
    pub about: &'static str,
    /// Where the token comes from.
    pub token: Source,
    /// A counter is raised only where it is below the token.
    pub below: bool,
    /// A counter is raised only where the lock is still the attempt's own.
    pub lock: bool,
    /// Counters are raised only on masters whose first answer was used.
    pub used: bool,
    /// Every attempt has a nonce of its own.
    pub fresh: bool,
    /// Masters keep what they acknowledged.
    pub durable: bool,
    /// Requests arrive any number of times.
    pub repeats: bool,
}

/// Where a token comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Two rounds.
    TwoRounds,
    /// One more than the highest counter of the first round, and no second one.
    FirstRound,
    /// The counter of one master, which is raised when its lock is taken.
    OneMaster,
}

impl Variant {
    /// The protocol as it is.
    pub const SOUND: Variant = Variant {
        name: "redlock",
        about: "the token of two rounds on independent masters",
        token: Source::TwoRounds,
        below: true,
        lock: true,
        used: true,
        fresh: true,
        durable: true,
        repeats: true,
    };

    /// One master's counter.
    pub const ONE_MASTER: Variant = Variant {
        name: "redlock-one-master",
        about: "the counter of any single master",
        token: Source::OneMaster,
        ..Variant::SOUND
    };

    /// No second round.
    pub const FIRST_ROUND: Variant = Variant {
        name: "redlock-first-round",
        about: "the highest counter of a majority, never raised",
        token: Source::FirstRound,
        ..Variant::SOUND
    };

    /// Without the condition on the counter.
    pub const NOT_BELOW: Variant = Variant {
        name: "redlock-any-counter",
        about: "counters raised whatever they are",
        below: false,
        ..Variant::SOUND
    };

    /// Without the condition on the lock.
    pub const NOT_LOCKED: Variant = Variant {
        name: "redlock-any-lock",
        about: "counters raised whosever the lock is",
        lock: false,
        ..Variant::SOUND
    };

    /// Without both, and every request arrives once at most.
    pub const UNCONDITIONAL: Variant = Variant {
        name: "redlock-unconditional",
        about: "counters raised without any condition, no request repeated",
        below: false,
        lock: false,
        repeats: false,
        ..Variant::SOUND
    };

    /// Without the condition on the counter, and every request arrives once at most.
    pub const NOT_BELOW_ONCE: Variant = Variant {
        name: "redlock-any-counter-once",
        about: "counters raised whatever they are, no request repeated",
        below: false,
        repeats: false,
        ..Variant::SOUND
    };

    /// Raising also where the first answer was not used.
    pub const UNUSED: Variant = Variant {
        name: "redlock-unused",
        about: "counters raised also where the first answer was not used",
        used: false,
        ..Variant::SOUND
    };

    /// The same without the condition on the counter, and every request arrives once at most.
    pub const UNUSED_NOT_BELOW: Variant = Variant {
        name: "redlock-unused-any-counter",
        about: "the same, whatever the counters are, no request repeated",
        used: false,
        below: false,
        repeats: false,
        ..Variant::SOUND
    };

    /// One nonce for all attempts of a client.
    pub const STALE_NONCE: Variant =
        Variant { name: "redlock-nonce", about: "one nonce for two attempts", fresh: false, ..Variant::SOUND };

    /// The same without the condition on the counter, and every request arrives once at most.
    pub const STALE_NONCE_NOT_BELOW: Variant = Variant {
        name: "redlock-nonce-any-counter",
        about: "the same, whatever the counters are, no request repeated",
        fresh: false,
        below: false,
        repeats: false,
        ..Variant::SOUND
    };

    /// Masters that lose acknowledged writes.
    pub const FORGETFUL: Variant = Variant {
        name: "redlock-forgetful",
        about: "a master that loses what it acknowledged",
        durable: false,
        ..Variant::SOUND
    };

    /// The protocol as it is among three attempts, whose requests arrive once at most.
    pub const THREE_ATTEMPTS: Variant = Variant {
        name: "redlock-three-attempts",
        about: "the token of two rounds, no request repeated",
        repeats: false,
        ..Variant::SOUND
    };

    /// The protocol as it is on five masters, to which requests come once at most.
    pub const FIVE_MASTERS: Variant = Variant {
        name: "redlock-five-masters",
        about: "the token of two rounds, no request repeated",
        repeats: false,
        ..Variant::SOUND
    };
}
