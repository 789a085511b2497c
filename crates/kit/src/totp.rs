//! Codes from an authenticator app: RFC 6238 with SHA-1, six digits and steps of thirty seconds, which
//! is what every such app can do.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::Timestamp;
use crate::secret::same;

/// How many bytes a seed has: as many as the hash.
pub const SEED: usize = 20;
const STEP: i64 = 30;
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The step of a moment.
pub fn step(moment: Timestamp) -> i64 {
    moment.seconds().div_euclid(STEP)
}

/// The code of a step.
pub fn code(seed: &[u8], step: i64) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(seed).expect("a key of any length fits");
    mac.update(&step.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let place = usize::from(hash[19] & 15);
    let bytes = [hash[place] & 127, hash[place + 1], hash[place + 2], hash[place + 3]];
    format!("{:06}", u32::from_be_bytes(bytes) % 1_000_000)
}

/// The step whose code this is: the one of the moment, or one beside it, as clocks differ a little.
pub fn find_step(seed: &[u8], typed: &str, moment: Timestamp) -> Option<i64> {
    let now = step(moment);
    // All three are compared, so that time does not tell which one it was.
    [now - 1, now, now + 1].into_iter().fold(None, |found, step| {
        let right = same(code(seed, step).as_bytes(), typed.as_bytes());
        if right { Some(step) } else { found }
    })
}

/// Bytes as people type them into an app (RFC 4648, without padding).
pub fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    for part in bytes.chunks(5) {
        let mut block = [0u8; 8];
        block[3..3 + part.len()].copy_from_slice(part);
        let bits = u64::from_be_bytes(block);
        let digits = (part.len() * 8).div_ceil(5);
        let letters = (0..digits).map(|place| (bits >> (35 - 5 * place)) as usize & 31);
        text.extend(letters.map(|letter| char::from(BASE32[letter])));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_codes_of_the_rfc() {
        let seed = b"12345678901234567890";
        for (second, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code(seed, step(at(second))), expected);
            assert_eq!(find_step(seed, expected, at(second)), Some(second / 30));
        }
    }

    #[test]
    fn a_code_is_good_for_a_step_before_and_after() {
        let seed = b"12345678901234567890";
        let typed = code(seed, 100);
        for (second, found) in
            [(2969, false), (2970, true), (3000, true), (3059, true), (3060, false)]
        {
            assert_eq!(find_step(seed, &typed, at(second)).is_some(), found, "{second}");
        }
        for wrong in ["", "12345", "1234567", "abcdef"] {
            assert_eq!(find_step(seed, wrong, at(3000)), None);
        }
    }

    #[test]
    fn base32_is_that_of_the_rfc() {
        for (plain, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(plain.as_bytes()), text);
        }
    }
}
