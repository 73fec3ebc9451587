//! Random numbers that are the same on every machine and for ever.

/// SplitMix64: small, fast, and defined here, so that a seed replays bit by bit whatever libraries do.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// A random word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, not including, `end`; 0 where `end` is.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(end)) >> 64) as u64
    }

    /// A number from `start` up to, not including, `end`.
    pub fn between(&mut self, start: u64, end: u64) -> u64 {
        start + self.below(end.saturating_sub(start))
    }

    /// Whether something of this probability, in parts per million, happens.
    pub fn chance(&mut self, parts_per_million: u32) -> bool {
        self.below(1_000_000) < u64::from(parts_per_million)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_words_everywhere() {
        let mut rng = Rng::new(1);
        assert_eq!([rng.word(), rng.word()], [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67]);
        assert!((0..1_000).all(|_| (3..7).contains(&rng.between(3, 7))));
    }
}
