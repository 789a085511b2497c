//! Hashes passwords on blocking threads, away from database jobs and async tasks. Only a few are hashed at a time, and
//! the number of waiting callers is bounded.

use std::sync::Arc;

use kit::Rng;
use kit::password::{self, PasswordFault};

use crate::blocking_pool::BlockingPool;
use crate::error::{Error, Fault, Result};

/// The maximum number of passwords that are being hashed or waiting. Further callers get [`Code::Overloaded`].
const MAX_WAITING: usize = 256;

/// Hashes and verifies passwords with limited concurrency.
#[derive(Debug)]
pub struct PasswordHasher {
    pool: BlockingPool,
    rng: Arc<Rng>,
}

/// The result of verifying a password.
#[derive(Debug, PartialEq, Eq)]
pub enum Verification {
    Wrong,
    Correct,
    /// The password is correct, but its stored hash uses outdated parameters. Store this new hash instead.
    CorrectButOutdated(String),
}

impl PasswordHasher {
    /// Hashes as many passwords at a time as half of the CPU cores, at least 2 and at most 4, so hashing doesn't slow
    /// down everything else.
    pub fn new(rng: Arc<Rng>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let detail = "Too many people are signing in right now. Try again in a few seconds.";
        Self { pool: BlockingPool::new((cores / 2).clamp(2, 4), MAX_WAITING, detail), rng }
    }

    /// Verifies a password against a stored hash. Takes the same time if there is no hash, so a caller cannot find
    /// out which accounts have a password.
    pub async fn verify(&self, password: &str, hash: Option<String>) -> Result<Verification> {
        // No stored password is this long, so the early return reveals nothing.
        if password.len() > password::MAX_BYTES {
            return Ok(Verification::Wrong);
        }
        let (password, rng) = (password.to_owned(), self.rng.clone());
        self.pool
            .run(move || match hash {
                hash if !password::verify(&password, hash.as_deref()) => Verification::Wrong,
                Some(hash) if password::is_outdated(&hash) => {
                    Verification::CorrectButOutdated(password::hash(&password, &rng))
                }
                _ => Verification::Correct,
            })
            .await
    }

    /// Checks the strength of a new password and hashes it. `personal` are texts that make a weak password, such as the
    /// user's name and email address.
    pub async fn hash(&self, new: &str, personal: &[&str]) -> Result<String> {
        let (new, rng) = (new.to_owned(), self.rng.clone());
        let personal: Vec<String> = personal.iter().flat_map(|text| split_words(text)).collect();
        let hash = self.pool.run(move || {
            let personal: Vec<_> = personal.iter().map(String::as_str).collect();
            password::check(&new, &personal).map(|()| password::hash(&new, &rng))
        });
        hash.await?.map_err(|fault| Error::invalid(vec![password_fault(fault)]))
    }
}

/// Splits a name or an email address into words that make a weak password.
fn split_words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let name = text.split('@').next().unwrap_or_default();
    let parts = text.split(|c: char| !c.is_alphanumeric()).chain([name, text.as_str()]);
    parts.filter(|part| part.chars().count() > 2).take(20).map(str::to_owned).collect()
}

/// Describes why a password was rejected.
pub fn password_fault(fault: PasswordFault) -> Fault {
    let (code, detail) = match fault {
        PasswordFault::TooShort => ("too_short", "The password must have at least 12 characters."),
        PasswordFault::TooLong => ("too_long", "The password can have at most 1024 bytes."),
        PasswordFault::TooWeak => (
            "too_weak",
            "This password is too easy to guess. Use a few unrelated words, for example.",
        ),
    };
    Fault::new("/password", code, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn passwords_are_verified_against_their_hash() {
        let passwords = PasswordHasher::new(Arc::new(Rng::system()));
        let hash = passwords.hash("correct horse battery", &[]).await.unwrap();
        let verify = async |password: &str, hash: Option<&str>| {
            passwords.verify(password, hash.map(str::to_owned)).await.unwrap()
        };
        assert_eq!(verify("correct horse battery", Some(&hash)).await, Verification::Correct);
        assert_eq!(verify("wrong", Some(&hash)).await, Verification::Wrong);
        assert_eq!(verify("anything", None).await, Verification::Wrong);
        assert_eq!(verify(&"x".repeat(1025), Some(&hash)).await, Verification::Wrong);
        let old = "$argon2id$v=19$m=64,t=1,p=1$c29tZSBzYWx0IGhlcmU$";
        assert!(kit::password::is_outdated(old));
    }

    #[tokio::test]
    async fn weak_passwords_are_rejected() {
        let passwords = PasswordHasher::new(Arc::new(Rng::system()));
        for weak in ["short", "Rita Duarte1", "rita@example.org"] {
            let result = passwords.hash(weak, &["Rita Duarte", "rita@example.org"]).await;
            assert_eq!(result.unwrap_err().faults[0].pointer, "/password", "{weak}");
        }
    }
}
