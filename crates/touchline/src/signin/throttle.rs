//! Attempts to sign in, counted for each address of mail whether it is known or not, so that guessing
//! gets slower and slower. Nobody is ever locked out: after the wait, the right password works.
//!
//! Where somebody signed in before is counted apart: whoever guesses elsewhere cannot make them wait.

use std::time::Duration;

use kit::{Timestamp, text};
use store::{Reader, Tx, bind};

use crate::error::{Code, Error, Result};
use crate::secrets::Secrets;

/// So many failures cost nothing.
const FREE: i64 = 3;
/// The longest anybody waits.
const LONGEST: u64 = 60;
/// After so long without a failure everything is forgiven.
const FORGIVEN: Duration = Duration::from_secs(86_400);
/// For so long it is remembered where somebody signed in.
pub(super) const REMEMBERED: Duration = Duration::from_secs(30 * 86_400);

/// Whose attempts are counted: an address of mail, and that address from one network.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    anywhere: [u8; 32],
    here: [u8; 32],
}

impl Subject {
    /// The subject of attempts with this address of mail from this place.
    pub fn new(secrets: &Secrets, email: &str, place: &str) -> Self {
        let (key, email) = (secrets.key("sign-in attempts"), text::folded(email.trim()));
        Self {
            anywhere: key.sign(&[b"anywhere ", email.as_bytes()]),
            here: key.sign(&[b"here ", place.as_bytes(), b" ", email.as_bytes()]),
        }
    }

    /// What other counters know this address of mail by.
    pub fn hash(&self) -> [u8; 32] {
        self.anywhere
    }
}

/// An attempt that was let in.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    subject: Subject,
    counted: [u8; 32],
    /// How many have failed in a row if this one does.
    pub failures: i64,
}

/// Counts an attempt as a failure before it is known to be one, so that many at once are many; or says
/// how long to wait.
pub fn attempt(tx: &Tx<'_>, subject: Subject) -> Result<Attempt> {
    let (counted, before) = match known(tx, subject.here)? {
        Some(row) => (subject.here, Some(row)),
        None => (subject.anywhere, known(tx, subject.anywhere)?),
    };
    let now = tx.now();
    let failures = match before {
        Some((failures, last)) if now < last.plus(FORGIVEN) => {
            let next = last.plus(wait(failures));
            if now < next {
                let left = u64::try_from(next.micros() - now.micros()).unwrap_or(0);
                return Err(too_soon(left.div_ceil(1_000_000)));
            }
            failures + 1
        }
        _ => 1,
    };
    keep(tx, counted, failures)?;
    Ok(Attempt { subject, counted, failures })
}

/// The attempt was a good one: what failed before is forgiven, and the place is remembered.
pub fn forgive(tx: &Tx<'_>, attempt: Attempt) -> Result<()> {
    if attempt.counted == attempt.subject.anywhere {
        let subject = attempt.counted;
        tx.run(
            "delete from sign_in_failure where subject = :subject /* any account */",
            bind! { subject },
        )?;
    }
    keep(tx, attempt.subject.here, 0)
}

fn known(db: &Reader<'_>, subject: [u8; 32]) -> Result<Option<(i64, Timestamp)>> {
    Ok(db.maybe(
        "select failures, last_at from sign_in_failure where subject = :subject /* any account */",
        bind! { subject },
    )?)
}

fn keep(tx: &Tx<'_>, subject: [u8; 32], failures: i64) -> Result<()> {
    tx.run(
        "insert into sign_in_failure (subject, failures, last_at) values (:subject, :failures, :now)
         on conflict (subject) do update set failures = :failures, last_at = :now /* any account */",
        bind! { subject, failures },
    )?;
    Ok(())
}

/// How long to wait after so many failures: 1, 2, 4 … 60 seconds after the third.
fn wait(failures: i64) -> Duration {
    let over = u32::try_from(failures - FREE).ok();
    Duration::from_secs(over.map_or(0, |over| 1u64 << over.min(6)).min(LONGEST))
}

fn too_soon(seconds: u64) -> Error {
    let detail = format!("Too many attempts. Try again in {seconds} s.");
    Error::new(Code::RateLimited, detail).retry_after(seconds.max(1))
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
