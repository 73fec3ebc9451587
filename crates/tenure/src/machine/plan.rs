//! What a machine is told once and never changes.

use std::sync::Arc;

use super::Memory;
use crate::backend::Traits;
use crate::{CandidateName, Seat, Timing};

/// Whether a candidate may take back a record under its own name from a former life (SEEDS 34).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Reclaim {
    /// Only once the old incarnation is proved dead, or has expired like anybody's.
    #[default]
    OnProof,
    /// At once, trusting that no two processes ever run under one name. Outside I1: if they do, two lead.
    TrustingUniqueName,
}

/// A candidacy: who runs for what, on which timing, in which kind of store. Behind one `Arc`, so that a machine stays small.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    seat: Seat,
    name: CandidateName,
    nonce: u64,
    timing: Arc<Timing>,
    traits: Traits,
    advertise: Arc<[u8]>,
    base: u64,
    memory: Memory,
    reclaim: Reclaim,
    work_ends_with_process: bool,
}

impl Plan {
    /// A candidacy of `name` for `seat`; `nonce` is the random number of this incarnation (SAFETY 11).
    pub fn new(seat: Seat, name: CandidateName, nonce: u64, timing: Arc<Timing>, traits: Traits) -> Self {
        Plan {
            seat,
            name,
            nonce,
            timing,
            traits,
            advertise: Arc::default(),
            base: 0,
            memory: Memory::default(),
            reclaim: Reclaim::OnProof,
            work_ends_with_process: false,
        }
    }

    /// Sets what the holder lets others know of itself.
    #[must_use]
    pub fn advertising(mut self, bytes: Arc<[u8]>) -> Self {
        self.advertise = bytes;
        self
    }

    /// Sets what is added to the store's numbers to make fencing tokens (SAFETY 18).
    #[must_use]
    pub fn with_token_base(mut self, base: u64) -> Self {
        self.base = base;
        self
    }

    /// Sets when a record under the own name may be taken back.
    #[must_use]
    pub fn reclaiming(mut self, reclaim: Reclaim) -> Self {
        self.reclaim = reclaim;
        self
    }

    /// Says whether guarded work ends with this process.
    #[must_use]
    pub fn ending_work_with_process(mut self, ends: bool) -> Self {
        self.work_ends_with_process = ends;
        self
    }

    /// Sets what was seen of the store before.
    #[must_use]
    pub fn remembering(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// The same candidacy in another incarnation.
    pub(crate) fn reincarnated(&self, nonce: u64, memory: Memory) -> Self {
        Plan { nonce, memory, ..self.clone() }
    }

    /// The election.
    pub fn seat(&self) -> &Seat {
        &self.seat
    }

    /// The candidate.
    pub fn name(&self) -> &CandidateName {
        &self.name
    }

    /// The random number of this incarnation.
    pub fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The durations.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// What the store is like.
    pub fn traits(&self) -> &Traits {
        &self.traits
    }

    /// What the holder lets others know of itself.
    pub fn advertise(&self) -> &Arc<[u8]> {
        &self.advertise
    }

    /// What is added to the store's numbers.
    pub fn token_base(&self) -> u64 {
        self.base
    }

    /// What was seen of the store before.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// When a record under the own name may be taken back.
    pub fn reclaim(&self) -> Reclaim {
        self.reclaim
    }

    /// Whether guarded work ends with this process.
    pub fn work_ends_with_process(&self) -> bool {
        self.work_ends_with_process
    }
}
