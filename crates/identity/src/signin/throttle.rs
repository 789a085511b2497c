//! Throttling of sign-in attempts per email address, whether or not a user has it, so that guessing gets slower and
//! slower. Users are never locked out: after the wait, the correct password works.
//!
//! Failures are counted per location: an IPv4 address or an IPv6 /64 network. A location waits longer after each failure
//! and does not affect others. To bound guessing from many locations, all locations share one limit. A location without
//! recent failures can exceed the shared limit by using a reserve that failing locations have no access to. A location
//! where the user has signed in before (a known location) is exempt from the shared limit, so that strangers cannot make
//! the user wait there.

use std::time::Duration;

use kit::text;

use crate::prelude::*;
use crate::secrets::{SealKey, Secrets};

/// The number of failures without a wait.
const FREE_FAILURES: i64 = 3;
/// The longest wait after a failure at the same location.
const MAX_WAIT_SECONDS: u64 = 60;
/// Failures are forgotten after this time.
const FAILURE_TTL: Duration = Duration::from_secs(86_400);
/// How long known locations are stored.
pub(super) const KNOWN_LOCATION_TTL: Duration = Duration::from_secs(30 * 86_400);
/// After this many wrong codes, the user has to enter the password again.
const MAX_WRONG_CODES: i64 = 5;

/// A rate limit: `burst` attempts at once, then one attempt per interval.
#[derive(Debug, Clone, Copy)]
struct RateLimit {
    burst: u32,
    interval: Duration,
}

impl RateLimit {
    const fn new(burst: u32, seconds: u64) -> Self {
        Self { burst, interval: Duration::from_secs(seconds) }
    }
}

/// The factor that an attempt is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor {
    Password,
    /// A six-digit code is easier to guess than a password, so the limits are stricter: from all unknown locations
    /// together, ten attempts in any 15 minutes.
    Code,
}

/// The limits for a factor.
struct Limits {
    /// The limit that all unknown locations share.
    shared: RateLimit,
    /// The reserve for unknown locations without recent failures.
    reserve: RateLimit,
    /// The limit of each known location, in addition to the growing wait.
    known_location: Option<RateLimit>,
}

impl Factor {
    fn limits(self) -> Limits {
        let (shared, reserve, known_location) = match self {
            Self::Password => (RateLimit::new(30, 2), RateLimit::new(30, 2), None),
            Self::Code => {
                (RateLimit::new(4, 300), RateLimit::new(1, 450), Some(RateLimit::new(5, 180)))
            }
        };
        Limits { shared, reserve, known_location }
    }
}

/// The keys of the counters for attempts with an email address, overall and from one location. They are keyed hashes, so
/// that the database does not reveal the addresses.
#[derive(Debug, Clone, Copy)]
pub struct ThrottleKeys {
    factor: Factor,
    /// The limit that all unknown locations share.
    all_locations: [u8; 32],
    /// Their reserve.
    reserve: [u8; 32],
    /// Failures at this location.
    location_failures: [u8; 32],
    /// Exists if this is a known location.
    known_location: [u8; 32],
    /// The limit of this location if it is known.
    known_location_limit: [u8; 32],
    /// Password failures at this location, which a correct code resets too.
    location_password_failures: [u8; 32],
}

impl ThrottleKeys {
    /// The counters for attempts with this email address from this location.
    pub fn new(secrets: &Secrets, factor: Factor, email: &str, location: &str) -> Self {
        let (key, email) = (secrets.key("sign-in attempts"), text::fold_case(email.trim()));
        // The labels below are part of the stored keys. Changing them resets all counters.
        let overall = |label: &str| key.sign(&[label.as_bytes(), b" ", email.as_bytes()]);
        let at_location = |label: &str| {
            key.sign(&[label.as_bytes(), b" ", location.as_bytes(), b" ", email.as_bytes()])
        };
        let (shared, reserve, failures, known_limit) = match factor {
            Factor::Password => ("anywhere", "reserve", "here", "at home"),
            Factor::Code => ("codes anywhere", "codes reserve", "codes here", "codes at home"),
        };
        Self {
            factor,
            all_locations: overall(shared),
            reserve: overall(reserve),
            location_failures: at_location(failures),
            known_location: at_location("home"),
            known_location_limit: at_location(known_limit),
            location_password_failures: at_location("here"),
        }
    }

    /// Keys for other limits on this email address: at this location, and overall.
    pub fn hashes(&self) -> ([u8; 32], [u8; 32]) {
        (self.location_failures, self.all_locations)
    }
}

/// An attempt that was allowed.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    keys: ThrottleKeys,
    /// The counter and limit that it was counted against.
    counted: Option<([u8; 32], RateLimit)>,
    /// The number of consecutive failures if this attempt fails: at all unknown locations, or at this known one.
    pub failures: i64,
}

/// Counts an attempt as a failure before its result is known, so that concurrent attempts all count. Fails with
/// `rate_limited` if the caller has to wait.
pub fn attempt(tx: &Tx<'_>, keys: ThrottleKeys) -> Result<Attempt> {
    let now = tx.now();
    let local_failures = match find_counter(tx, keys.location_failures)? {
        Some((failures, last)) if now < last.plus(FAILURE_TTL) => {
            let next = last.plus(wait_after(failures));
            if now < next {
                return Err(rate_limited(now, next));
            }
            failures
        }
        _ => 0,
    };
    let Limits { shared, reserve, known_location } = keys.factor.limits();
    let (counted, failures) = if find_counter(tx, keys.known_location)?.is_some() {
        let local_limit = known_location.map(|limit| (keys.known_location_limit, limit));
        if let Some((counter, limit)) = local_limit {
            count_against(tx, counter, limit)?;
        }
        (local_limit, local_failures + 1)
    } else {
        match count_against(tx, keys.all_locations, shared) {
            Err(_) if local_failures == 0 => {
                let failures = count_against(tx, keys.reserve, reserve)?;
                (Some((keys.reserve, reserve)), failures)
            }
            failures => (Some((keys.all_locations, shared)), failures?),
        }
    };
    set_counter(tx, keys.location_failures, local_failures + 1, now)?;
    Ok(Attempt { keys, counted, failures })
}

/// Records that an attempt succeeded: resets the failures of its location, undoes its count, and stores the location
/// as known.
pub fn record_success(tx: &Tx<'_>, attempt: Attempt) -> Result<()> {
    let keys = attempt.keys;
    for counter in [keys.location_failures, keys.location_password_failures] {
        delete_counter(tx, counter)?;
    }
    if let Some((counter, limit)) = attempt.counted
        && let Some((_, free_at)) = find_counter(tx, counter)?
    {
        set_counter(tx, counter, 0, free_at.minus(limit.interval))?;
    }
    set_counter(tx, keys.known_location, 0, tx.now())
}

/// Counts a wrong code in a pending session. Returns whether there were too many.
pub fn count_wrong_code(tx: &Tx<'_>, key: &SealKey, session: SessionId) -> Result<bool> {
    let counter = key.sign(&[b"codes of ", session.to_string().as_bytes()]);
    let count = find_counter(tx, counter)?.map_or(0, |(count, _)| count) + 1;
    set_counter(tx, counter, count, tx.now())?;
    Ok(count >= MAX_WRONG_CODES)
}

/// Counts an attempt against a limit. Returns the number of consecutive failures, including this attempt.
///
/// This is the generic cell rate algorithm: for each counter only the time is stored at which its whole burst is
/// available again.
fn count_against(tx: &Tx<'_>, counter: [u8; 32], limit: RateLimit) -> Result<i64> {
    let now = tx.now();
    let (failures, free_at) = match find_counter(tx, counter)? {
        Some((failures, free_at)) if now < free_at.plus(FAILURE_TTL) => {
            (failures, free_at.max(now))
        }
        _ => (0, now),
    };
    let next = free_at.plus(limit.interval);
    let allowed = now.plus(limit.interval * limit.burst);
    if allowed < next {
        return Err(rate_limited(allowed, next));
    }
    set_counter(tx, counter, failures + 1, next)?;
    Ok(failures + 1)
}

fn find_counter(db: &Reader<'_>, subject: [u8; 32]) -> Result<Option<(i64, Timestamp)>> {
    Ok(db.optional(
        "select failures, last_at from sign_in_failure where subject = :subject /* any account */",
        bind! { subject },
    )?)
}

fn set_counter(tx: &Tx<'_>, subject: [u8; 32], failures: i64, at: Timestamp) -> Result<()> {
    tx.execute(
        "insert into sign_in_failure (subject, failures, last_at) values (:subject, :failures, :at)
         on conflict (subject) do update set failures = :failures, last_at = :at /* any account */",
        bind! { subject, failures, at },
    )?;
    Ok(())
}

fn delete_counter(tx: &Tx<'_>, subject: [u8; 32]) -> Result<()> {
    let text = "delete from sign_in_failure where subject = :subject /* any account */";
    Ok(tx.execute(text, bind! { subject }).map(drop)?)
}

/// The wait after a number of failures: none before the third, then 1, 2, 4 … 60 seconds.
fn wait_after(failures: i64) -> Duration {
    let over = u32::try_from(failures - FREE_FAILURES).ok();
    Duration::from_secs(over.map_or(0, |over| 1u64 << over.min(6)).min(MAX_WAIT_SECONDS))
}

fn rate_limited(now: Timestamp, next: Timestamp) -> Error {
    let left = u64::try_from(next.micros() - now.micros()).unwrap_or(0);
    let seconds = left.div_ceil(1_000_000).max(1);
    let detail = message_n!(
        "Too many attempts. Try again in {count} second.",
        "Too many attempts. Try again in {count} seconds.",
        seconds
    );
    Error::new(Code::RateLimited, detail).retry_after(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_minute() {
        let waits: Vec<_> = (0..12).map(|failures| wait_after(failures).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }
}
