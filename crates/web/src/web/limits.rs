//! Rate limits: a quota per minute for each account, and a limit on failed authentication per address.
//!
//! This is the generic cell rate algorithm: a bucket is described by the time at which it will be full again.
//! With SQLite that time is in memory, measured by a monotonic clock. When several nodes share a PostgreSQL
//! database, it is stored there, and each node leases a few requests at a time, so that all nodes together stay
//! within the quota. Leased requests expire at the rate at which the shared bucket refills; otherwise a node
//! would exceed the quota after an idle hour.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::{Clock, Rng};
use store::{Db, Dialect};

use super::throttle::{RateLimit, Throttle, ceil_seconds};
use crate::bounded;
use crate::prelude::*;

/// The time in which an empty bucket fills up, in microseconds (the precision of timestamps in the database).
const WINDOW: u64 = 60_000_000;
/// A node leases one part in `LEASE_DIVISOR` of a shared quota at a time.
const LEASE_DIVISOR: u32 = 20;
/// The maximum number of buckets in memory.
const CAPACITY: usize = 10_000;

/// The state of a quota after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Requests per minute.
    pub quota: u32,
    /// Requests that are left now.
    pub remaining: u32,
    /// Time until one more request is allowed.
    pub next_in: Duration,
    /// Time until the whole quota is available again.
    pub full_in: Duration,
}

/// The bucket of one account.
#[derive(Debug, Default)]
struct Bucket {
    /// When the bucket will be full again, as time since the process started.
    full_at: Duration,
    /// Requests that were leased from the shared bucket and not used yet.
    leased: u32,
    /// The value that this node last wrote to the shared bucket.
    last_written: Option<Timestamp>,
    /// Held while a request leases from the shared bucket.
    lease_lock: Arc<tokio::sync::Mutex<()>>,
    /// Requests that were rejected since the last allowed one.
    rejected: u32,
}

impl Bucket {
    fn cost(quota: u32) -> Duration {
        Duration::from_micros((WINDOW / u64::from(quota.max(1))).max(1))
    }

    fn window(quota: u32) -> Duration {
        Self::cost(quota) * quota.max(1)
    }

    fn allowance(&self, quota: u32, now: Duration) -> Allowance {
        let cost = Self::cost(quota);
        // Leased requests are still available to the caller.
        let full_in = self.full_at.saturating_sub(now).saturating_sub(cost * self.leased);
        let free = whole_units(Self::window(quota).saturating_sub(full_in), cost);
        let next_in = match full_in.saturating_sub(cost * whole_units(full_in, cost)) {
            Duration::ZERO if !full_in.is_zero() => cost,
            remainder => remainder,
        };
        Allowance { quota, remaining: free.min(quota), next_in, full_in }
    }

    fn take(&mut self, quota: u32, now: Duration) -> bool {
        let full_at = self.full_at.max(now) + Self::cost(quota);
        let fits = full_at.saturating_sub(now) <= Self::window(quota);
        if fits {
            self.full_at = full_at;
        }
        fits
    }

    /// Takes a leased request. Leased requests that have expired, because the shared bucket has refilled since, are
    /// dropped first.
    fn take_leased(&mut self, quota: u32, now: Duration) -> bool {
        let valid = whole_units(self.full_at.saturating_sub(now), Self::cost(quota));
        self.leased = self.leased.min(valid);
        let taken = self.leased > 0;
        self.leased -= u32::from(taken);
        taken
    }
}

/// How many times `cost` fits into `time`.
fn whole_units(time: Duration, cost: Duration) -> u32 {
    u32::try_from(time.as_nanos() / cost.as_nanos().max(1)).unwrap_or(u32::MAX)
}

/// The buckets of all accounts.
#[derive(Debug)]
struct Buckets(Mutex<HashMap<AccountId, Bucket>>);

impl Buckets {
    fn with<T>(&self, key: AccountId, work: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(&key) {
            // Evict the fullest first, so that an account that has used up its quota does not get it back.
            bounded::make_room(&mut buckets, CAPACITY, |bucket| bucket.full_at);
        }
        work(buckets.entry(key).or_default())
    }
}

/// The rate limits of a node.
#[derive(Debug)]
pub struct Limits {
    accounts: Buckets,
    /// Failed authentication attempts, by address.
    failure_throttle: Throttle,
    failure_limit: RateLimit,
    clock: Clock,
    rng: Arc<Rng>,
}

impl Limits {
    /// Creates the limits. `failures` is the number of failed attempts per minute and address.
    pub fn new(failures: NonZeroU32, clock: Clock, rng: Arc<Rng>) -> Self {
        let failures = RateLimit::per_minute("failed authentication", failures);
        let (accounts, failed) = (Buckets(Mutex::default()), Throttle::new(clock.clone()));
        Self { accounts, failure_throttle: failed, failure_limit: failures, clock, rng }
    }

    /// Takes one request from the account's quota, or fails with the time to wait.
    pub async fn take(&self, db: &Db, account: AccountId, quota: u32) -> (Allowance, Result<()>) {
        let taken = if db.dialect() == Dialect::Postgres {
            self.take_shared(db, account, quota).await
        } else {
            Ok(self.with(account, |bucket, now| bucket.take(quota, now)))
        };
        self.with(account, |bucket, now| {
            let allowance = bucket.allowance(quota, now);
            match taken {
                Ok(true) => {
                    bucket.rejected = 0;
                    (allowance, Ok(()))
                }
                Ok(false) => {
                    let error = self.rate_limit_error(bucket, quota, allowance.next_in);
                    (Allowance { remaining: 0, ..allowance }, Err(error))
                }
                Err(error) => (allowance, Err(error)),
            }
        })
    }

    /// The requests that are left, as known to this node.
    pub fn remaining(&self, account: AccountId, quota: u32) -> u32 {
        self.with(account, |bucket, now| bucket.allowance(quota, now).remaining)
    }

    fn with<T>(&self, account: AccountId, work: impl FnOnce(&mut Bucket, Duration) -> T) -> T {
        let now = self.clock.elapsed();
        self.accounts.with(account, |bucket| work(bucket, now))
    }

    fn rate_limit_error(&self, bucket: &mut Bucket, quota: u32, next_in: Duration) -> Error {
        bucket.rejected = bucket.rejected.saturating_add(1);
        // Spread the retries of clients that were rejected at the same time.
        let spread = (Bucket::cost(quota) * bucket.rejected.min(quota)).as_secs();
        let seconds = ceil_seconds(next_in).max(1) + self.rng.below(spread + 1);
        let detail = format!(
            "Your account is limited to {quota} requests per minute. Try again in {seconds} seconds."
        );
        Error::new(Code::RateLimited, detail).retry_after(seconds)
    }

    /// Takes one of the leased requests. If there are none, leases more.
    async fn take_shared(&self, db: &Db, account: AccountId, quota: u32) -> Result<bool> {
        let take =
            |bucket: &mut Bucket, now| (bucket.take_leased(quota, now), bucket.lease_lock.clone());
        let (taken, lock) = self.with(account, take);
        if taken {
            return Ok(true);
        }
        // One lease at a time. The one before may have brought enough.
        let _guard = lock.lock().await;
        let (taken, seen) = self.with(account, |bucket, now| {
            let full_in = bucket.full_at.saturating_sub(now);
            (bucket.take_leased(quota, now), SharedBucket { written: bucket.last_written, full_in })
        });
        // Other nodes only take, so the shared bucket cannot be fuller than this node knows.
        let empty = Bucket::window(quota).saturating_sub(seen.full_in) < Bucket::cost(quota);
        if taken || empty {
            return Ok(taken);
        }
        // Outside of the account's queue, so that a request does not wait for a long write.
        let scope = Scope::account(account, "system").in_own_lane("quota");
        let leased = db.write(scope, move |tx| lease(tx, quota, &seen)).await?;
        Ok(self.with(account, |bucket, now| {
            bucket.leased += leased.granted;
            bucket.full_at = now + leased.full_in;
            bucket.last_written = Some(leased.written);
            bucket.take_leased(quota, now)
        }))
    }

    /// Counts a failed authentication attempt. Returns `error`, or 429 if there were too many from this address.
    pub fn count_failure(&self, address: IpAddr, error: Error) -> Error {
        match self.failure_throttle.check(self.failure_limit, address) {
            Ok(()) => error,
            Err(limited) => {
                let detail = "Too many failed authentication attempts from this address. Wait, then try again.";
                Error { detail: detail.into(), ..limited }
            }
        }
    }
}

/// What a node knows about the shared bucket: the value it wrote last, and the time until it is full by the monotonic
/// clock.
struct SharedBucket {
    written: Option<Timestamp>,
    full_in: Duration,
}

/// Requests that were leased from the shared bucket.
struct Lease {
    granted: u32,
    full_in: Duration,
    written: Timestamp,
}

/// Leases requests from the shared bucket.
fn lease(tx: &Tx<'_>, quota: u32, seen: &SharedBucket) -> Result<Lease> {
    let now = tx.now();
    let cost = micros(Bucket::cost(quota));
    let window = micros(Bucket::window(quota));
    let known: Option<(Timestamp,)> =
        tx.optional("select full_at from rate_limit where account_id = :account", bind! {})?;
    let full_in = match known {
        // No other node has written since: the monotonic clock is more reliable than the wall clock.
        Some((full_at,)) if Some(full_at) == seen.written => micros(seen.full_in),
        Some((full_at,)) => full_at.micros() - now.micros(),
        None => 0,
    };
    // Otherwise a clock that was set back would lock the account out.
    let full_in = full_in.clamp(0, window);
    let granted = ((window - full_in) / cost).min(i64::from(quota.div_ceil(LEASE_DIVISOR)));
    let full_in = full_in + granted * cost;
    let full_at = Timestamp::from_micros(now.micros() + full_in);
    tx.execute(
        "insert into rate_limit (account_id, full_at) values (:account, :full_at)
         on conflict (account_id) do update set full_at = excluded.full_at",
        bind! { full_at },
    )?;
    Ok(Lease {
        granted: u32::try_from(granted).unwrap_or(0),
        full_in: Duration::from_micros(full_in.unsigned_abs()),
        written: full_at,
    })
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_its_quota_and_refills_evenly() {
        let (mut bucket, start) = (Bucket::default(), Duration::from_secs(1000));
        assert_eq!((0..100).filter(|_| bucket.take(60, start)).count(), 60);
        let allowance = bucket.allowance(60, start);
        assert_eq!((allowance.remaining, ceil_seconds(allowance.next_in)), (0, 1));
        assert_eq!(allowance.full_in, Duration::from_secs(60));
        let later = start + Duration::from_secs(5);
        assert_eq!((0..100).filter(|_| bucket.take(60, later)).count(), 5);
        assert_eq!(bucket.allowance(60, later + Duration::from_secs(120)).remaining, 60);
    }

    #[test]
    fn a_flood_of_accounts_neither_grows_memory_nor_refills_a_bucket() {
        let (buckets, now) = (Buckets(Mutex::default()), Duration::from_secs(1000));
        let busy = AccountId::from_bits(1);
        buckets.with(busy, |bucket| while bucket.take(60, now) {});
        for number in 2..25_000 {
            buckets.with(AccountId::from_bits(number), |bucket| bucket.take(60, now));
        }
        assert!(!buckets.with(busy, |bucket| bucket.take(60, now)));
        assert!(buckets.0.lock().unwrap().len() <= CAPACITY);
    }

    #[test]
    fn next_in_is_the_time_until_one_more_request() {
        let (mut bucket, start) = (Bucket::default(), Duration::from_secs(1000));
        assert_eq!(bucket.allowance(6, start).next_in, Duration::ZERO);
        assert!(bucket.take(6, start));
        assert_eq!(bucket.allowance(6, start).next_in, Duration::from_secs(10));
        let later = start + Duration::from_secs(4);
        assert_eq!(bucket.allowance(6, later).next_in, Duration::from_secs(6));
    }

    #[test]
    fn leases_expire_as_the_shared_bucket_refills() {
        let start = Duration::from_secs(1000);
        let full_at = start + Duration::from_secs(5);
        let mut bucket = Bucket { full_at, leased: 5, ..Bucket::default() };
        assert_eq!(bucket.allowance(60, start).remaining, 60);
        let later = start + Duration::from_secs(3);
        assert_eq!((0..9).filter(|_| bucket.take_leased(60, later)).count(), 2);
    }
}
