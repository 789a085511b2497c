//! A random generator whose numbers never change between versions, because a stored seed must repeat its draw.

/// `SplitMix64` of Sebastiano Vigna. Not for secrets.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator that returns the same numbers for the same seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A uniformly distributed number from 0 to `end - 1`. Panics if `end` is zero.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        loop {
            let random = self.next_u64();
            // Rejects numbers above the last multiple of `end`, which would favor small results.
            if random < u64::MAX - u64::MAX % end {
                return (random % end) as usize;
            }
        }
    }
}

/// Shuffles a list (Fisher–Yates). The same seed gives the same order.
pub fn shuffle<T>(items: &mut [T], seed: u64) {
    shuffle_with(items, &mut SplitMix64::new(seed));
}

pub(super) fn shuffle_with<T>(items: &mut [T], random: &mut SplitMix64) {
    for end in (2..=items.len()).rev() {
        items.swap(end - 1, random.below(end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference_implementation() {
        let mut random = SplitMix64::new(1_234_567);
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([(); 3].map(|()| random.next_u64()), expected);
    }

    #[test]
    fn a_seed_gives_the_same_order_in_every_version() {
        let mut items: Vec<u8> = (0..8).collect();
        shuffle(&mut items, 42);
        assert_eq!(items, [3, 1, 6, 2, 4, 0, 7, 5]);
    }

    #[test]
    fn every_order_is_about_equally_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            let mut items = [0, 1, 2];
            shuffle(&mut items, seed);
            *counts.entry(items).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
