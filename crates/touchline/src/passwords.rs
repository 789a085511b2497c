//! Passwords, hashed where nobody waits: away from the threads of the database and of requests, a few
//! at a time, and with a bound on how many may wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kit::Dice;
use kit::password::{self, PasswordFault};
use tokio::sync::Semaphore;

use crate::error::{Code, Error, Fault, Result};

/// How many passwords may wait for their turn; whoever comes then is asked to come back.
const WAITING: usize = 256;

/// The place where passwords are hashed.
#[derive(Debug)]
pub struct Passwords {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    dice: Arc<Dice>,
}

/// What has become of a password.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Wrong,
    Right,
    /// Right, and its hash is to be replaced by this one, made in today's way.
    Renewed(String),
}

impl Passwords {
    /// As many at a time as leaves the machine room for everything else.
    pub fn new(dice: Arc<Dice>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let places = Arc::new(Semaphore::new((cores / 2).clamp(2, 4)));
        Self { places, waiting: AtomicUsize::new(0), dice }
    }

    /// Whether this is the password of which the hash was kept. Without a hash the same work is done.
    pub async fn verify(&self, typed: &str, kept: Option<String>) -> Result<Verdict> {
        // Nobody has a password this long, so there is nothing to find out.
        if typed.len() > password::LONGEST {
            return Ok(Verdict::Wrong);
        }
        let (typed, dice) = (typed.to_owned(), self.dice.clone());
        self.work(move || match kept {
            kept if !password::verify(&typed, kept.as_deref()) => Verdict::Wrong,
            Some(kept) if password::is_outdated(&kept) => {
                Verdict::Renewed(password::hash(&typed, &dice))
            }
            _ => Verdict::Right,
        })
        .await
    }

    /// The hash of a new password of somebody of whom these words are known, if the password will do.
    pub async fn hash(&self, new: &str, known: &[&str]) -> Result<String> {
        let (new, dice) = (new.to_owned(), self.dice.clone());
        let known: Vec<String> = known.iter().flat_map(|text| words(text)).collect();
        let hashed = self.work(move || {
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            password::check(&new, &known).map(|()| password::hash(&new, &dice))
        });
        hashed.await?.map_err(|fault| Error::invalid(vec![said(fault)]))
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let _waits = Waits::begin(&self.waiting)?;
        let closed = |_| Error::internal("the place for passwords is closed");
        let place = self.places.clone().acquire_owned().await.map_err(closed)?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            // Kept until the work is done, even if nobody waits for it any more.
            drop(place);
            done
        });
        done.await.map_err(|_| Error::internal("hashing a password failed"))
    }
}

/// Somebody who waits; counted until they go.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn begin(waiting: &'a AtomicUsize) -> Result<Self> {
        let waits = Self(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) < WAITING {
            return Ok(waits);
        }
        let detail = "Too many people sign in right now. Try again in a moment.";
        Err(Error::new(Code::Overloaded, detail).retry_after(5))
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The words of a name or an address, which do not make a password better.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let name = text.split('@').next().unwrap_or_default();
    let parts = text.split(|c: char| !c.is_alphanumeric()).chain([name, text.as_str()]);
    parts.filter(|part| part.chars().count() > 2).take(20).map(str::to_owned).collect()
}

/// What is wrong with a password, for whoever chose it.
pub fn said(fault: PasswordFault) -> Fault {
    let (code, detail) = match fault {
        PasswordFault::TooShort => ("too_short", "A password has at least 12 characters."),
        PasswordFault::TooLong => ("too_long", "A password has at most 1024 bytes."),
        PasswordFault::TooWeak => (
            "too_weak",
            "This password is too easy to guess. A few unrelated words make a good one.",
        ),
    };
    Fault::new("/password", code, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_renewed_when_its_hash_is_old() {
        let passwords = Passwords::new(Arc::new(Dice::system()));
        let kept = passwords.hash("correct horse battery", &[]).await.unwrap();
        let verify = async |typed: &str, kept: Option<&str>| {
            passwords.verify(typed, kept.map(str::to_owned)).await.unwrap()
        };
        assert_eq!(verify("correct horse battery", Some(&kept)).await, Verdict::Right);
        assert_eq!(verify("wrong", Some(&kept)).await, Verdict::Wrong);
        assert_eq!(verify("anything", None).await, Verdict::Wrong);
        assert_eq!(verify(&"x".repeat(1025), Some(&kept)).await, Verdict::Wrong);
        let old = "$argon2id$v=19$m=64,t=1,p=1$c29tZSBzYWx0IGhlcmU$";
        assert!(kit::password::is_outdated(old));
    }

    #[tokio::test]
    async fn weak_passwords_are_told() {
        let passwords = Passwords::new(Arc::new(Dice::system()));
        for weak in ["short", "Rita Duarte1", "rita@example.org"] {
            let refused = passwords.hash(weak, &["Rita Duarte", "rita@example.org"]).await;
            assert_eq!(refused.unwrap_err().faults[0].pointer, "/password", "{weak}");
        }
    }
}
