//! The random number generator. It is passed as a dependency, so tests can be repeated.

use std::sync::{Mutex, PoisonError};

/// The random number generator of a process.
#[derive(Debug)]
pub struct Rng {
    source: Mutex<Source>,
}

#[derive(Debug)]
enum Source {
    /// The operating system's generator, read in blocks of 512 bytes.
    System { buffer: Box<[u8; 512]>, used: usize },
    /// `SplitMix64`: repeatable, for tests only.
    Seeded(u64),
}

impl Rng {
    /// A generator that uses the operating system's random bytes.
    pub fn system() -> Self {
        Self { source: Mutex::new(Source::System { buffer: Box::new([0; 512]), used: 512 }) }
    }

    /// A generator that returns the same bytes for the same seed. Not for secrets.
    pub fn seeded(seed: u64) -> Self {
        Self { source: Mutex::new(Source::Seeded(seed)) }
    }

    /// Returns random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        for byte in &mut bytes {
            *byte = source.byte();
        }
        bytes
    }

    /// Returns a uniformly distributed number from 0 to `end - 1`. Panics if `end` is zero.
    pub fn below(&self, end: u64) -> u64 {
        assert!(end > 0, "`end` must be greater than zero");
        loop {
            let random = u64::from_le_bytes(self.bytes());
            // Rejects numbers above the last multiple of `end`, which would favor small results.
            if random < u64::MAX - u64::MAX % end {
                return random % end;
            }
        }
    }
}

impl Source {
    fn byte(&mut self) -> u8 {
        match self {
            Self::System { buffer, used } => {
                if *used == buffer.len() {
                    getrandom::fill(&mut buffer[..]).expect("the system has a random generator");
                    *used = 0;
                }
                *used += 1;
                // Clears the returned byte, so a later memory leak doesn't reveal it.
                std::mem::take(&mut buffer[*used - 1])
            }
            Self::Seeded(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut mixed = *state;
                mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                (mixed >> 56) as u8
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_seeded_generator_repeats_its_bytes() {
        assert_eq!(Rng::seeded(1).bytes::<32>(), Rng::seeded(1).bytes::<32>());
        assert_ne!(Rng::system().bytes::<32>(), Rng::system().bytes::<32>());
        assert!((0..1000).all(|_| Rng::system().below(7) < 7));
    }
}
