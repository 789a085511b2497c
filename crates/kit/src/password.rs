//! Passwords: how strong one must be, and the only form in which one is kept (argon2id).
//!
//! Hashing takes tens of milliseconds and megabytes on purpose: never do it where others wait.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::Dice;

/// The shortest password, in characters, and the longest, in bytes.
pub const SHORTEST: usize = 12;
/// Longer ones would only make us work.
pub const LONGEST: usize = 1024;

/// Why a password was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordFault {
    /// Fewer than twelve characters.
    TooShort,
    /// More than 1,024 bytes.
    TooLong,
    /// Too easy to guess.
    TooWeak,
}

/// Whether a password will do for somebody of whom these words are known: their name, their address.
pub fn check(password: &str, known: &[&str]) -> Result<(), PasswordFault> {
    if password.chars().count() < SHORTEST {
        return Err(PasswordFault::TooShort);
    }
    if password.len() > LONGEST {
        return Err(PasswordFault::TooLong);
    }
    let words: Vec<_> = known.iter().copied().chain(["touchline"]).collect();
    // Only the beginning is judged: a long password does not get weaker by what follows.
    let beginning: String = password.chars().take(64).collect();
    let strength = zxcvbn::zxcvbn(&beginning, &words);
    if strength.score() < zxcvbn::Score::Three { Err(PasswordFault::TooWeak) } else { Ok(()) }
}

/// The hash to keep, with its parameters and its salt.
pub fn hash(password: &str, dice: &Dice) -> String {
    let salt = dice.bytes::<16>();
    let hash = hasher().hash_password_with_salt(password.as_bytes(), &salt);
    hash.expect("a salt of sixteen bytes is long enough").to_string()
}

/// Whether this is the password of which the hash was kept. Without a hash the same work is done, so that
/// time does not tell whether there was one.
pub fn verify(password: &str, kept: Option<&str>) -> bool {
    let parsed = kept.and_then(|kept| PasswordHash::new(kept).ok());
    match parsed {
        Some(kept) if password.len() <= LONGEST => {
            hasher().verify_password(password.as_bytes(), &kept).is_ok()
        }
        _ => {
            let _ = hasher().hash_password_with_salt(b"nobody's password", &[7; 16]);
            false
        }
    }
}

/// Whether a hash was made in a way that is no longer ours.
pub fn is_outdated(kept: &str) -> bool {
    !kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$")
}

/// 19 MiB, two passes: what OWASP asks for at least.
fn hasher() -> Argon2<'static> {
    let params = Params::new(19 * 1024, 2, 1, None).expect("these parameters are valid");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_fits_its_own_hash_only() {
        let dice = Dice::seeded(1);
        let kept = hash("correct horse battery", &dice);
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert!(verify("correct horse battery", Some(&kept)) && !is_outdated(&kept));
        assert!(is_outdated("$argon2id$v=19$m=4096,t=3,p=1$c2FsdHNhbHQ$aGFzaA"));
        assert!(!verify("correct horse batterz", Some(&kept)) && !verify("", Some(&kept)));
        assert_ne!(kept, hash("correct horse battery", &dice));
        assert!(!verify("x", None) && !verify("x", Some("not a hash")));
    }

    #[test]
    fn weak_passwords_are_refused() {
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
