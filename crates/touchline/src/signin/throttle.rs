//! Attempts to sign in, counted for each address of mail whether it is known or not, so that guessing
//! gets slower and slower. Nobody is ever locked out: after the wait, the right password works.
//!
//! Whoever fails waits longer and longer where they are, and only there: each neighbourhood is counted
//! apart. So that many places together do not guess without end either, all of them share a bound; a place
//! that has not failed lately gets past it on a reserve that those who fail cannot touch. Where somebody
//! signed in before, no stranger can make them wait.

use std::time::Duration;

use kit::{Timestamp, text};
use store::{Reader, Tx, bind};

use crate::error::{Code, Error, Result};
use crate::ids::SessionId;
use crate::secrets::{SealKey, Secrets};

/// So many failures cost nothing.
const FREE: i64 = 3;
/// The longest anybody waits after a failure of their own.
const LONGEST: u64 = 60;
/// After so long without a failure everything is forgiven.
const FORGIVEN: Duration = Duration::from_secs(86_400);
/// For so long it is remembered where somebody signed in.
pub(super) const REMEMBERED: Duration = Duration::from_secs(30 * 86_400);
/// So many codes can be tried before the password is asked for again.
const CODES: i64 = 5;

/// How often something may happen: a few times at once, then once in a while.
#[derive(Debug, Clone, Copy)]
struct Bound {
    burst: u32,
    every: Duration,
}

impl Bound {
    const fn new(burst: u32, seconds: u64) -> Self {
        Self { burst, every: Duration::from_secs(seconds) }
    }
}

/// What somebody tries to tell us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    Password,
    /// Six digits are guessed sooner than a password, so fewer are taken: from all strange places together
    /// ten in any quarter of an hour.
    Code,
}

impl Proof {
    /// What all strange places share.
    fn shared(self) -> Bound {
        match self {
            Self::Password => Bound::new(30, 2),
            Self::Code => Bound::new(4, 300),
        }
    }

    /// What is kept for strange places that have not failed lately.
    fn reserve(self) -> Bound {
        match self {
            Self::Password => Bound::new(30, 2),
            Self::Code => Bound::new(1, 450),
        }
    }

    /// What a place has to itself where somebody signed in before, beside the growing wait.
    fn at_home(self) -> Option<Bound> {
        match self {
            Self::Password => None,
            Self::Code => Some(Bound::new(5, 180)),
        }
    }
}

/// Whose attempts are counted: an address of mail, and that address from one network.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    proof: Proof,
    /// All strange places together, and their reserve.
    anywhere: [u8; 32],
    reserve: [u8; 32],
    /// Failures at this place.
    here: [u8; 32],
    /// Kept if somebody signed in at this place.
    home: [u8; 32],
    /// What a place where somebody signed in has to itself.
    at_home: [u8; 32],
    /// Failures at this place with the password, which a right code forgives too.
    password_here: [u8; 32],
}

impl Subject {
    /// The subject of attempts with this address of mail from this place.
    pub fn new(secrets: &Secrets, proof: Proof, email: &str, place: &str) -> Self {
        let (key, email) = (secrets.key("sign-in attempts"), text::folded(email.trim()));
        let anywhere = |what: &str| key.sign(&[what.as_bytes(), b" ", email.as_bytes()]);
        let here = |what: &str| {
            key.sign(&[what.as_bytes(), b" ", place.as_bytes(), b" ", email.as_bytes()])
        };
        let (shared, reserve, own, at_home) = match proof {
            Proof::Password => ("anywhere", "reserve", "here", "at home"),
            Proof::Code => ("codes anywhere", "codes reserve", "codes here", "codes at home"),
        };
        Self {
            proof,
            anywhere: anywhere(shared),
            reserve: anywhere(reserve),
            here: here(own),
            home: here("home"),
            at_home: here(at_home),
            password_here: here("here"),
        }
    }

    /// What other counters know this address of mail by, at this place and anywhere.
    pub fn hashes(&self) -> ([u8; 32], [u8; 32]) {
        (self.here, self.anywhere)
    }
}

/// An attempt that was let in.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    subject: Subject,
    /// The bound that let it in.
    taken: Option<([u8; 32], Bound)>,
    /// How many have failed in a row if this one does, at all strange places or at this known one.
    pub failures: i64,
}

/// Counts an attempt as a failure before it is known to be one, so that many at once are many; or says
/// how long to wait.
pub fn attempt(tx: &Tx<'_>, subject: Subject) -> Result<Attempt> {
    let now = tx.now();
    let failed = match known(tx, subject.here)? {
        Some((failures, last)) if now < last.plus(FORGIVEN) => {
            let next = last.plus(wait(failures));
            if now < next {
                return Err(too_soon(now, next));
            }
            failures
        }
        _ => 0,
    };
    if known(tx, subject.home)?.is_some() {
        let own = subject.proof.at_home().map(|bound| (subject.at_home, bound));
        if let Some((counter, bound)) = own {
            take(tx, counter, bound)?;
        }
        keep(tx, subject.here, failed + 1, now)?;
        return Ok(Attempt { subject, taken: own, failures: failed + 1 });
    }
    let (shared, reserve) = (subject.proof.shared(), subject.proof.reserve());
    let (taken, failures) = match take(tx, subject.anywhere, shared) {
        Ok(failures) => ((subject.anywhere, shared), failures),
        Err(_) if failed == 0 => {
            let failures = take(tx, subject.reserve, reserve)?;
            ((subject.reserve, reserve), failures)
        }
        Err(error) => return Err(error),
    };
    keep(tx, subject.here, failed + 1, now)?;
    Ok(Attempt { subject, taken: Some(taken), failures })
}

/// The attempt was a good one: what failed here before is forgiven, and the place is remembered.
pub fn forgive(tx: &Tx<'_>, attempt: Attempt) -> Result<()> {
    let subject = attempt.subject;
    for counter in [subject.here, subject.password_here] {
        forget(tx, counter)?;
    }
    if let Some((counter, bound)) = attempt.taken
        && let Some((_, free_at)) = known(tx, counter)?
    {
        keep(tx, counter, 0, free_at.minus(bound.every))?;
    }
    keep(tx, subject.home, 0, tx.now())
}

/// Counts a code that was wrong after one password; says whether there were too many.
pub fn too_many_codes(tx: &Tx<'_>, key: &SealKey, session: SessionId) -> Result<bool> {
    let counter = key.sign(&[b"codes of ", session.to_string().as_bytes()]);
    let tried = known(tx, counter)?.map_or(0, |(tried, _)| tried) + 1;
    keep(tx, counter, tried, tx.now())?;
    Ok(tried >= CODES)
}

/// Takes one of what a bound allows, and says how many were taken in a row. Of each bound only the moment
/// is kept at which all of it is free again.
fn take(tx: &Tx<'_>, counter: [u8; 32], bound: Bound) -> Result<i64> {
    let now = tx.now();
    let (taken, free_at) = match known(tx, counter)? {
        Some((taken, free_at)) if now < free_at.plus(FORGIVEN) => (taken, free_at.max(now)),
        _ => (0, now),
    };
    let next = free_at.plus(bound.every);
    let allowed = now.plus(bound.every * bound.burst);
    if allowed < next {
        return Err(too_soon(allowed, next));
    }
    keep(tx, counter, taken + 1, next)?;
    Ok(taken + 1)
}

fn known(db: &Reader<'_>, subject: [u8; 32]) -> Result<Option<(i64, Timestamp)>> {
    Ok(db.maybe(
        "select failures, last_at from sign_in_failure where subject = :subject /* any account */",
        bind! { subject },
    )?)
}

fn keep(tx: &Tx<'_>, subject: [u8; 32], failures: i64, at: Timestamp) -> Result<()> {
    tx.run(
        "insert into sign_in_failure (subject, failures, last_at) values (:subject, :failures, :at)
         on conflict (subject) do update set failures = :failures, last_at = :at /* any account */",
        bind! { subject, failures, at },
    )?;
    Ok(())
}

fn forget(tx: &Tx<'_>, subject: [u8; 32]) -> Result<()> {
    tx.run(
        "delete from sign_in_failure where subject = :subject /* any account */",
        bind! { subject },
    )?;
    Ok(())
}

/// How long to wait after so many failures: 1, 2, 4 … 60 seconds after the third.
fn wait(failures: i64) -> Duration {
    let over = u32::try_from(failures - FREE).ok();
    Duration::from_secs(over.map_or(0, |over| 1u64 << over.min(6)).min(LONGEST))
}

fn too_soon(now: Timestamp, next: Timestamp) -> Error {
    let left = u64::try_from(next.micros() - now.micros()).unwrap_or(0);
    let seconds = left.div_ceil(1_000_000).max(1);
    let detail = format!("Too many attempts. Try again in {seconds} s.");
    Error::new(Code::RateLimited, detail).retry_after(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_to_a_minute() {
        let waits: Vec<_> = (0..12).map(|failures| wait(failures).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }
}
