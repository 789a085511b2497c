//! Randomness, handed in from outside so that a test can repeat itself.

use std::sync::{Mutex, PoisonError};

/// The one source of random bytes of a process.
#[derive(Debug)]
pub struct Dice {
    source: Mutex<Source>,
}

#[derive(Debug)]
enum Source {
    /// The operating system's generator, asked for a few hundred bytes at a time.
    System { buffer: Box<[u8; 512]>, used: usize },
    /// `SplitMix64`: repeatable, for tests only.
    Seeded(u64),
}

impl Dice {
    /// Random bytes from the operating system.
    pub fn system() -> Self {
        Self { source: Mutex::new(Source::System { buffer: Box::new([0; 512]), used: 512 }) }
    }

    /// The same bytes for the same seed. Not for secrets.
    pub fn seeded(seed: u64) -> Self {
        Self { source: Mutex::new(Source::Seeded(seed)) }
    }

    /// Fresh random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        for byte in &mut bytes {
            *byte = source.byte();
        }
        bytes
    }

    /// A number from 0 up to but not including `end`, each equally likely.
    pub fn below(&self, end: u64) -> u64 {
        assert!(end > 0, "there is no number below zero");
        loop {
            let drawn = u64::from_le_bytes(self.bytes());
            // Draws above the last whole multiple would favour small numbers.
            if drawn < u64::MAX - u64::MAX % end {
                return drawn % end;
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
                // What was handed out is not kept: a later leak of memory must not tell it.
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
    fn seeded_dice_repeat_and_system_dice_do_not() {
        assert_eq!(Dice::seeded(1).bytes::<32>(), Dice::seeded(1).bytes::<32>());
        assert_ne!(Dice::system().bytes::<32>(), Dice::system().bytes::<32>());
        assert!((0..1000).all(|_| Dice::system().below(7) < 7));
    }
}
