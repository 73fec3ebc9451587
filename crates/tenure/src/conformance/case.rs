//! One property, and for which stores it is chosen.

use std::future::Future;
use std::pin::Pin;

use super::Hook;
use super::bench::Bench;
use crate::backend::{Traits, Vacancies};

/// One property of the contract as a test.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) theme: &'static str,
    pub(super) name: &'static str,
    pub(super) applies: fn(&Kind) -> bool,
    pub(super) hooks: &'static [Hook],
    pub(super) run: fn(Bench) -> Pin<Box<dyn Future<Output = ()>>>,
}

impl Case {
    /// The name by which it is listed and filtered.
    pub(super) fn title(&self) -> String {
        format!("{}::{}", self.theme, self.name)
    }
}

/// What a store is like, as far as cases are chosen by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) traits: Traits,
    pub(super) administers: bool,
}

impl Kind {
    pub(super) fn any(&self) -> bool {
        true
    }

    /// The store ends a silent holder's record by itself.
    pub(super) fn expires(&self) -> bool {
        !self.traits.contenders_judge
    }

    pub(super) fn contenders_judge(&self) -> bool {
        self.traits.contenders_judge
    }

    pub(super) fn queues(&self) -> bool {
        self.traits.queues
    }

    pub(super) fn shares_sessions(&self) -> bool {
        self.traits.shares_sessions
    }

    pub(super) fn queues_on_sessions(&self) -> bool {
        self.queues() && self.shares_sessions()
    }

    /// Every record has a life of its own, so every renewal is a write.
    pub(super) fn renews_records(&self) -> bool {
        !self.traits.shares_sessions
    }

    pub(super) fn names_releases(&self) -> bool {
        self.traits.names_releases
    }

    pub(super) fn has_tokens(&self) -> bool {
        self.traits.has_tokens
    }

    pub(super) fn pushes(&self) -> bool {
        self.traits.vacancies == Vacancies::Pushed
    }

    pub(super) fn pushes_expiry(&self) -> bool {
        self.pushes() && self.expires()
    }

    pub(super) fn pushes_to_queues(&self) -> bool {
        self.pushes() && self.queues()
    }

    pub(super) fn administers(&self) -> bool {
        self.administers
    }
}

/// The cases of a theme: `name if kind, with Hook, Hook;`.
macro_rules! cases {
    ($($name:ident $(if $applies:ident)? $(, with $($hook:ident),+)?;)*) => {
        /// All cases of this theme.
        pub(super) fn cases() -> Vec<$crate::conformance::case::Case> {
            vec![$($crate::conformance::case::Case {
                theme: module_path!().rsplit("::").next().unwrap_or_default(),
                name: stringify!($name),
                applies: $crate::conformance::case::cases!(@kind $($applies)?),
                hooks: &[$($($crate::conformance::Hook::$hook),+)?],
                run: |bench| Box::pin($name(bench)),
            }),*]
        }
    };
    (@kind) => { $crate::conformance::case::Kind::any };
    (@kind $applies:ident) => { $crate::conformance::case::Kind::$applies };
}
pub(super) use cases;
