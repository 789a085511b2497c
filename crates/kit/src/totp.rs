//! Codes of authenticator apps (TOTP, RFC 6238) with SHA-1, six digits and steps of 30 seconds, the parameters that
//! every app supports.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::Timestamp;
use crate::secret::constant_time_eq;

/// The number of bytes of a seed, the same as of the hash.
pub const SEED_BYTES: usize = 20;
const STEP: i64 = 30;
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The number of the time step at a moment.
pub fn step(moment: Timestamp) -> i64 {
    moment.seconds().div_euclid(STEP)
}

/// The code of a time step.
pub fn code(seed: &[u8], step: i64) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(seed).expect("HMAC accepts keys of any length");
    mac.update(&step.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let offset = usize::from(hash[19] & 15);
    let bytes = [hash[offset] & 127, hash[offset + 1], hash[offset + 2], hash[offset + 3]];
    format!("{:06}", u32::from_be_bytes(bytes) % 1_000_000)
}

/// Returns the time step with this code: the current one, the one before or the one after, because clocks differ a
/// little.
pub fn find_step(seed: &[u8], entered: &str, moment: Timestamp) -> Option<i64> {
    let now = step(moment);
    // Always compares all three, so the timing doesn't reveal which one matched.
    [now - 1, now, now + 1].into_iter().fold(None, |matching, step| {
        let matches = constant_time_eq(code(seed, step).as_bytes(), entered.as_bytes());
        if matches { Some(step) } else { matching }
    })
}

/// Encodes bytes in base32 (RFC 4648, without padding), the form in which people type a seed into an app.
pub fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    for part in bytes.chunks(5) {
        let mut block = [0u8; 8];
        block[3..3 + part.len()].copy_from_slice(part);
        let bits = u64::from_be_bytes(block);
        let digits = (part.len() * 8).div_ceil(5);
        let values = (0..digits).map(|index| (bits >> (35 - 5 * index)) as usize & 31);
        text.extend(values.map(|value| char::from(BASE32[value])));
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
    fn codes_match_the_examples_of_the_rfc() {
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
    fn a_code_is_valid_one_step_before_and_after() {
        let seed = b"12345678901234567890";
        let entered = code(seed, 100);
        for (second, valid) in
            [(2969, false), (2970, true), (3000, true), (3059, true), (3060, false)]
        {
            assert_eq!(find_step(seed, &entered, at(second)).is_some(), valid, "{second}");
        }
        for wrong in ["", "12345", "1234567", "abcdef"] {
            assert_eq!(find_step(seed, wrong, at(3000)), None);
        }
    }

    #[test]
    fn base32_matches_the_examples_of_the_rfc() {
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
