//! Rate limits: a quota a minute per account, and a bound on failed sign-ins per address.
//!
//! The generic cell rate algorithm: a bucket is described by one moment, the one at which it will be
//! full again. On one node that moment lives in memory, by a clock that never goes back. When several
//! nodes share a PostgreSQL, it lives in the database, and a node takes a few requests' worth at a
//! time, so the sum over all nodes keeps the quota. What a node holds it loses again at the pace at
//! which the shared bucket fills, or an idle hour would leave it with more than the quota.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::{Clock, Dice, Timestamp};
use store::{Db, Dialect, Scope, Tx, bind};

use super::pace::{Pace, Paces, ceiling};
use crate::bounded;
use crate::error::{Code, Error, Result};
use crate::ids::AccountId;

/// The time in which a bucket fills up, in microseconds: what a database keeps of a moment.
const WINDOW: u64 = 60_000_000;
/// A node takes this share of the quota at a time where quotas are shared.
const SHARE: u32 = 20;
/// The most buckets that are kept.
const CAPACITY: usize = 10_000;

/// What is left of a quota after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Requests a minute.
    pub quota: u32,
    /// Requests left now.
    pub remaining: u32,
    /// Time until there is one more.
    pub next_in: Duration,
    /// Time until the whole quota is there again.
    pub full_in: Duration,
}

/// One bucket: when it will be full again, as time since the process began.
#[derive(Debug, Default)]
struct Bucket {
    full_at: Duration,
    /// Requests that were taken from the shared bucket and not used yet.
    held: u32,
    /// The moment that this node last wrote into the shared bucket.
    written: Option<Timestamp>,
    /// Whoever asks the shared bucket holds this.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Requests that were turned away since the last one that was let in.
    refused: u32,
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
        // What is held was taken, but is still there for the caller.
        let full_in = self.full_at.saturating_sub(now).saturating_sub(cost * self.held);
        let free = whole(Self::window(quota).saturating_sub(full_in), cost);
        let next_in = match full_in.saturating_sub(cost * whole(full_in, cost)) {
            Duration::ZERO if !full_in.is_zero() => cost,
            part => part,
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

    /// Takes from what is held, as far as the shared bucket has not filled up in the meantime.
    fn use_held(&mut self, quota: u32, now: Duration) -> bool {
        let backed = whole(self.full_at.saturating_sub(now), Self::cost(quota));
        self.held = self.held.min(backed);
        let some = self.held > 0;
        self.held -= u32::from(some);
        some
    }
}

/// How often a cost fits whole into a time.
fn whole(time: Duration, cost: Duration) -> u32 {
    u32::try_from(time.as_nanos() / cost.as_nanos().max(1)).unwrap_or(u32::MAX)
}

/// The buckets of accounts.
#[derive(Debug)]
struct Buckets(Mutex<HashMap<AccountId, Bucket>>);

impl Buckets {
    fn with<T>(&self, key: AccountId, work: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(&key) {
            // The fullest go first: an account that has used up its quota does not get it back.
            bounded::make_room(&mut buckets, CAPACITY, |bucket| bucket.full_at);
        }
        work(buckets.entry(key).or_default())
    }
}

/// The limits of a node.
#[derive(Debug)]
pub struct Limits {
    accounts: Buckets,
    /// Failed sign-ins, by address.
    failed: Paces,
    failures: Pace,
    clock: Clock,
    dice: Arc<Dice>,
}

impl Limits {
    /// Limits with so many failed sign-ins a minute per address.
    pub fn new(failures: NonZeroU32, clock: Clock, dice: Arc<Dice>) -> Self {
        let failures = Pace::per_minute("failed sign-in", failures);
        let (accounts, failed) = (Buckets(Mutex::default()), Paces::new(clock.clone()));
        Self { accounts, failed, failures, clock, dice }
    }

    /// Takes one request from the account's quota, or says when to come back.
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
                    bucket.refused = 0;
                    (allowance, Ok(()))
                }
                Ok(false) => {
                    let refusal = self.refusal(bucket, quota, allowance.next_in);
                    (Allowance { remaining: 0, ..allowance }, Err(refusal))
                }
                Err(error) => (allowance, Err(error)),
            }
        })
    }

    /// What is left of the account's quota, as far as this node knows.
    pub fn remaining(&self, account: AccountId, quota: u32) -> u32 {
        self.with(account, |bucket, now| bucket.allowance(quota, now).remaining)
    }

    fn with<T>(&self, account: AccountId, work: impl FnOnce(&mut Bucket, Duration) -> T) -> T {
        let now = self.clock.elapsed();
        self.accounts.with(account, |bucket| work(bucket, now))
    }

    fn refusal(&self, bucket: &mut Bucket, quota: u32, next_in: Duration) -> Error {
        bucket.refused = bucket.refused.saturating_add(1);
        // Whoever is turned away together must not come back together.
        let spread = (Bucket::cost(quota) * bucket.refused.min(quota)).as_secs();
        let seconds = ceiling(next_in).max(1) + self.dice.below(spread + 1);
        let detail = format!("More than {quota} requests a minute. Try again in {seconds} s.");
        Error::new(Code::RateLimited, detail).retry_after(seconds)
    }

    /// Takes one request from what this node holds or, if that is nothing, gets some more.
    async fn take_shared(&self, db: &Db, account: AccountId, quota: u32) -> Result<bool> {
        let held = |bucket: &mut Bucket, now| (bucket.use_held(quota, now), bucket.turn.clone());
        let (taken, turn) = self.with(account, held);
        if taken {
            return Ok(true);
        }
        // One at a time: whoever waited here may find what the one before has brought.
        let _turn = turn.lock().await;
        let (taken, seen) = self.with(account, |bucket, now| {
            let full_in = bucket.full_at.saturating_sub(now);
            (bucket.use_held(quota, now), Seen { written: bucket.written, full_in })
        });
        // The others only take: a bucket that was empty for us cannot be fuller than we know.
        let empty = Bucket::window(quota).saturating_sub(seen.full_in) < Bucket::cost(quota);
        if taken || empty {
            return Ok(taken);
        }
        let leased = lease(db, account, quota, seen).await?;
        Ok(self.with(account, |bucket, now| {
            bucket.held += leased.granted;
            bucket.full_at = now + leased.full_in;
            bucket.written = Some(leased.written);
            bucket.use_held(quota, now)
        }))
    }

    /// Counts a failed sign-in from an address; too many of them are answered with 429.
    pub fn fail(&self, address: IpAddr, refusal: Error) -> Error {
        match self.failed.take(self.failures, address) {
            Ok(()) => refusal,
            Err(slow) => {
                Error { detail: "Too many failed attempts from this address.".into(), ..slow }
            }
        }
    }
}

/// What a node knows of the shared bucket: what it wrote last, and by its steady clock how much of
/// that is left.
struct Seen {
    written: Option<Timestamp>,
    full_in: Duration,
}

/// What a node was given of the shared quota.
struct Leased {
    granted: u32,
    full_in: Duration,
    written: Timestamp,
}

async fn lease(db: &Db, account: AccountId, quota: u32, seen: Seen) -> Result<Leased> {
    // Not behind the account's writes: a read must not wait for a long one.
    let scope = Scope::account(account, "system").beside("quota");
    db.write(scope, move |tx| lease_some(tx, quota, &seen)).await
}

fn lease_some(tx: &Tx<'_>, quota: u32, seen: &Seen) -> Result<Leased> {
    let now = tx.now();
    let cost = micros(Bucket::cost(quota));
    let window = micros(Bucket::window(quota));
    let known: Option<(Timestamp,)> =
        tx.maybe("select full_at from rate_limit where account_id = :account", bind! {})?;
    let full_in = match known {
        // Nobody else has asked since: our own clock knows better than one that may have been set.
        Some((full_at,)) if Some(full_at) == seen.written => micros(seen.full_in),
        Some((full_at,)) => full_at.micros() - now.micros(),
        None => 0,
    };
    // A clock that was set back would otherwise lock the account out.
    let full_in = full_in.clamp(0, window);
    let granted = ((window - full_in) / cost).min(i64::from(quota.div_ceil(SHARE)));
    let full_in = full_in + granted * cost;
    let full_at = Timestamp::from_micros(now.micros() + full_in);
    tx.run(
        "insert into rate_limit (account_id, full_at) values (:account, :full_at)
         on conflict (account_id) do update set full_at = excluded.full_at",
        bind! { full_at },
    )?;
    Ok(Leased {
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
    fn a_bucket_holds_its_quota_and_refills_evenly() {
        let (mut bucket, start) = (Bucket::default(), Duration::from_secs(1000));
        assert_eq!((0..100).filter(|_| bucket.take(60, start)).count(), 60);
        let allowance = bucket.allowance(60, start);
        assert_eq!((allowance.remaining, ceiling(allowance.next_in)), (0, 1));
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
    fn the_next_request_of_a_small_quota_is_a_while_away() {
        let (mut bucket, start) = (Bucket::default(), Duration::from_secs(1000));
        assert_eq!(bucket.allowance(6, start).next_in, Duration::ZERO);
        assert!(bucket.take(6, start));
        assert_eq!(bucket.allowance(6, start).next_in, Duration::from_secs(10));
        let later = start + Duration::from_secs(4);
        assert_eq!(bucket.allowance(6, later).next_in, Duration::from_secs(6));
    }

    #[test]
    fn what_is_held_fades_as_the_shared_bucket_fills() {
        let start = Duration::from_secs(1000);
        let full_at = start + Duration::from_secs(5);
        let mut bucket = Bucket { full_at, held: 5, ..Bucket::default() };
        assert_eq!(bucket.allowance(60, start).remaining, 60);
        let later = start + Duration::from_secs(3);
        assert_eq!((0..9).filter(|_| bucket.use_held(60, later)).count(), 2);
    }
}
