//! Password strength and password hashes (argon2id).
//!
//! Hashing takes tens of milliseconds and 19 MiB of memory by design: never do it in an async task or a database job.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::Rng;

/// The minimum number of characters of a password.
pub const MIN_CHARS: usize = 12;
/// The maximum number of bytes of a password. Bounds the work of hashing.
pub const MAX_BYTES: usize = 1024;

/// Why a password was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordFault {
    /// Fewer than twelve characters.
    TooShort,
    /// More than 1,024 bytes.
    TooLong,
    /// Too easy to guess.
    TooWeak,
}

/// Checks the length and strength of a password. `personal` are words that others know about the user, such as the name
/// and the email address; they make a password weaker.
pub fn check(password: &str, personal: &[&str]) -> Result<(), PasswordFault> {
    if password.chars().count() < MIN_CHARS {
        return Err(PasswordFault::TooShort);
    }
    if password.len() > MAX_BYTES {
        return Err(PasswordFault::TooLong);
    }
    let words: Vec<_> = personal.iter().copied().chain(["touchline"]).collect();
    // Rates only the first 64 characters, which bounds the work: more characters don't make a password weaker.
    let beginning: String = password.chars().take(64).collect();
    let strength = zxcvbn::zxcvbn(&beginning, &words);
    if strength.score() < zxcvbn::Score::Three { Err(PasswordFault::TooWeak) } else { Ok(()) }
}

/// Hashes a password with a random salt. The result contains the parameters and the salt.
pub fn hash(password: &str, rng: &Rng) -> String {
    let salt = rng.bytes::<16>();
    let hash = hasher().hash_password_with_salt(password.as_bytes(), &salt);
    hash.expect("the salt and the parameters are valid").to_string()
}

/// Verifies a password against a hash. Without a hash it does the same work and returns `false`, so the timing doesn't
/// reveal whether there is one.
pub fn verify(password: &str, hash: Option<&str>) -> bool {
    let parsed = hash.and_then(|hash| PasswordHash::new(hash).ok());
    match parsed {
        Some(hash) if password.len() <= MAX_BYTES => {
            hasher().verify_password(password.as_bytes(), &hash).is_ok()
        }
        _ => {
            let _ = hasher().hash_password_with_salt(b"nobody's password", &[7; 16]);
            false
        }
    }
}

/// Whether a hash was created with other parameters than the current ones.
pub fn is_outdated(hash: &str) -> bool {
    !hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$")
}

/// 19 MiB of memory and two passes, the minimum that OWASP recommends.
fn hasher() -> Argon2<'static> {
    let params = Params::new(19 * 1024, 2, 1, None).expect("these parameters are valid");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_matches_only_its_own_hash() {
        let rng = Rng::seeded(1);
        let stored = hash("correct horse battery", &rng);
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify("correct horse battery", Some(&stored)) && !is_outdated(&stored));
        assert!(is_outdated("$argon2id$v=19$m=4096,t=3,p=1$c2FsdHNhbHQ$aGFzaA"));
        assert!(!verify("correct horse batterz", Some(&stored)) && !verify("", Some(&stored)));
        assert_ne!(stored, hash("correct horse battery", &rng));
        assert!(!verify("x", None) && !verify("x", Some("not a hash")));
    }

    #[test]
    fn weak_passwords_are_rejected() {
        assert_eq!(check("short", &[]), Err(PasswordFault::TooShort));
        assert_eq!(check(&"é".repeat(600), &[]), Err(PasswordFault::TooLong));
        for weak in ["aaaaaaaaaaaa", "password1234", "touchline123", "rita.duarte1"] {
            assert_eq!(
                check(weak, &["rita", "duarte", "rita.duarte"]),
                Err(PasswordFault::TooWeak),
                "{weak}"
            );
        }
        assert_eq!(check("correct horse battery", &["rita"]), Ok(()));
        assert_eq!(check("纸鹤飞过灯塔与海浪之间去", &[]), Ok(()));
    }
}
