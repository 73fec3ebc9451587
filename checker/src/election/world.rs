//! One state of a small world.

use tenure::Moment;
use tenure::backend::TenureId;

use super::invariants::Broken;
use super::message::Message;
use super::node::Node;
use super::setting::Setting;
use super::shared::Shared;
use super::stepping::Stepping;
use super::store::Store;

/// A state of the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Ticks since the start.
    pub tick: u8,
    /// Whose clock is fast: one bit a candidate.
    pub(super) fast: u8,
    /// Whether the store's is.
    pub(super) store_fast: bool,
    /// The candidates.
    pub nodes: Vec<Shared<Node>>,
    /// The store.
    pub store: Shared<Store>,
    /// What is under way, sorted.
    pub network: Vec<Message>,
    pub(super) spent: Spent,
    /// How many candidates the store has heard of; they are named in that order.
    pub(super) heard_of: u8,
    /// Tenures that began, with their tokens.
    pub(super) begun: Vec<(TenureId, u64)>,
    /// The tenure that the store had in office last, and its token.
    pub(super) office: Option<(TenureId, u64)>,
    /// What is broken.
    pub broken: Broken,
}

/// Faults so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spent {
    pub(super) late: u8,
    pub(super) duplicates: u8,
    pub(super) pauses: u8,
    pub(super) crashes: u8,
    pub(super) resignations: u8,
}

impl Spent {
    /// All of them together.
    pub(super) fn total(self) -> u8 {
        self.late + self.duplicates + self.pauses + self.crashes + self.resignations
    }
}

impl World {
    /// Every candidate starts at once; whoever should start later has its first request delayed.
    pub(super) fn new(setting: &Setting, fast: u8, store_fast: bool) -> Self {
        let nodes: Vec<_> = (0..setting.candidates.len())
            .map(|candidate| Shared::new(Node::new(setting.plan(candidate, 0), 0)))
            .collect();
        let world = World {
            tick: 0,
            fast,
            store_fast,
            nodes,
            store: Shared::new(setting.store.empty()),
            network: Vec::new(),
            spent: Spent::default(),
            heard_of: 0,
            begun: Vec::new(),
            office: None,
            broken: Broken::default(),
        };
        let mut stepping = Stepping::new(setting, world);
        for candidate in 0..setting.candidates.len() {
            stepping.start(candidate);
        }
        stepping.finished()
    }

    /// Whether a candidate's clock is fast.
    pub(super) fn is_fast(&self, candidate: usize) -> bool {
        self.fast & (1 << candidate) != 0
    }

    /// A candidate's clock.
    pub(super) fn now(&self, setting: &Setting, candidate: usize) -> Moment {
        setting.clocks.at(self.tick, self.is_fast(candidate))
    }

    /// The candidates that believe.
    pub(super) fn believers(&self, setting: &Setting) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|node| self.nodes[*node].believes(self.now(setting, *node)))
    }
}
