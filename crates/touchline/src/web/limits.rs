//! Rate limits: a quota a minute per account, and a bound on failed sign-ins per address.
//!
//! The generic cell rate algorithm: a bucket is described by one moment, the one at which it will be
//! full again. On one node that moment lives in memory, by a clock that never goes back. When several
//! nodes share a PostgreSQL, it lives in the database, and a node takes a few requests' worth at a
//! time, so the sum over all nodes keeps the quota.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::{Clock, Dice, Timestamp};
use store::{Db, Dialect, Scope, Tx, bind};

use crate::error::{Code, Error, Result};
use crate::ids::AccountId;

/// The time in which a bucket fills up.
const WINDOW: Duration = Duration::from_secs(60);
/// A node takes this share of the quota at a time where quotas are shared.
const SHARE: u32 = 20;
/// Buckets that are full again are forgotten once there are so many.
const MANY: usize = 10_000;

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
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    full_at: Duration,
    /// Requests that were taken from the shared bucket and not used yet.
    held: u32,
    /// Requests that were turned away since the last one that was let in.
    refused: u32,
}

impl Bucket {
    fn cost(quota: u32) -> Duration {
        WINDOW / quota.max(1)
    }

    fn allowance(&self, quota: u32, now: Duration) -> Allowance {
        let full_in = self.full_at.saturating_sub(now);
        let cost = Self::cost(quota);
        let free = WINDOW.saturating_sub(full_in).as_nanos() / cost.as_nanos().max(1);
        let part = full_in.as_nanos() % cost.as_nanos().max(1);
        let next_in = if full_in.is_zero() { Duration::ZERO } else { nanos(part.max(1)) };
        let remaining = u32::try_from(free).unwrap_or(u32::MAX).min(quota) + self.held;
        Allowance { quota, remaining: remaining.min(quota), next_in, full_in }
    }

    fn take(&mut self, quota: u32, now: Duration) -> bool {
        let full_at = self.full_at.max(now) + Self::cost(quota);
        let fits = full_at.saturating_sub(now) <= WINDOW;
        if fits {
            self.full_at = full_at;
        }
        fits
    }
}

fn nanos(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}

/// Buckets by whatever they are kept for.
#[derive(Debug)]
struct Buckets<K>(Mutex<HashMap<K, Bucket>>);

impl<K: Eq + Hash + Copy> Buckets<K> {
    fn with<T>(&self, key: K, now: Duration, work: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MANY && !buckets.contains_key(&key) {
            buckets.retain(|_, bucket| bucket.full_at > now);
            if buckets.len() >= MANY {
                // Everybody is busy: forgetting all of them is fairer than growing without bound.
                buckets.clear();
            }
        }
        work(buckets.entry(key).or_default())
    }
}

/// The limits of a node.
#[derive(Debug)]
pub struct Limits {
    accounts: Buckets<AccountId>,
    addresses: Buckets<IpAddr>,
    failures: u32,
    clock: Clock,
    dice: Arc<Dice>,
}

impl Limits {
    /// Limits with so many failed sign-ins a minute per address.
    pub fn new(failures: u32, clock: Clock, dice: Arc<Dice>) -> Self {
        let (accounts, addresses) = (Buckets(Mutex::default()), Buckets(Mutex::default()));
        Self { accounts, addresses, failures, clock, dice }
    }

    /// Takes one request from the account's quota, or says when to come back.
    pub async fn take(&self, db: &Db, account: AccountId, quota: u32) -> (Allowance, Result<()>) {
        let now = self.clock.elapsed();
        let shared = db.dialect() == Dialect::Postgres;
        let mut taken = self.accounts.with(account, now, |bucket| bucket.spend(shared, quota, now));
        if shared && !taken {
            match lease(db, account, quota).await {
                Ok(leased) => {
                    taken = self.accounts.with(account, now, |bucket| {
                        bucket.held += leased.granted;
                        bucket.full_at = now + leased.full_in;
                        bucket.spend(true, quota, now)
                    });
                }
                // A database that does not answer refuses the request by itself soon enough.
                Err(error) => tracing::warn!(cause = ?error.cause, "no lease of the shared quota"),
            }
        }
        self.accounts.with(account, now, |bucket| {
            let allowance = bucket.allowance(quota, now);
            if taken {
                bucket.refused = 0;
                return (allowance, Ok(()));
            }
            bucket.refused = bucket.refused.saturating_add(1);
            // Whoever is turned away together must not come back together.
            let spread = (Bucket::cost(quota) * bucket.refused.min(quota)).as_secs();
            let seconds = ceiling(allowance.next_in).max(1) + self.dice.below(spread + 1);
            let detail = format!("More than {quota} requests a minute. Try again in {seconds} s.");
            let refusal = Error::new(Code::RateLimited, detail).retry_after(seconds);
            (Allowance { remaining: 0, ..allowance }, Err(refusal))
        })
    }

    /// Counts a failed sign-in from an address; too many of them are answered with 429.
    pub fn fail(&self, address: IpAddr, refusal: Error) -> Error {
        let now = self.clock.elapsed();
        let key = neighbourhood(address);
        let allowed = self.addresses.with(key, now, |bucket| bucket.take(self.failures, now));
        if allowed {
            return refusal;
        }
        let detail = "Too many failed attempts from this address.";
        Error::new(Code::RateLimited, detail)
            .retry_after(ceiling(Bucket::cost(self.failures)).max(1))
    }
}

impl Bucket {
    fn spend(&mut self, shared: bool, quota: u32, now: Duration) -> bool {
        if !shared {
            return self.take(quota, now);
        }
        let some = self.held > 0;
        self.held -= u32::from(some);
        some
    }
}

/// Whole seconds, rounded up.
pub fn ceiling(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// An IPv6 customer has a whole /64 to choose addresses from: it is one address to us.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

/// What a node was given of the shared quota.
struct Leased {
    granted: u32,
    full_in: Duration,
}

async fn lease(db: &Db, account: AccountId, quota: u32) -> Result<Leased> {
    let scope = Scope::account(account, "system");
    db.write(scope, move |tx| lease_some(tx, quota)).await
}

fn lease_some(tx: &Tx<'_>, quota: u32) -> Result<Leased> {
    let now = tx.now();
    let cost = i64::try_from(Bucket::cost(quota).as_micros()).unwrap_or(i64::MAX).max(1);
    let window = cost * i64::from(quota);
    let known: Option<(Timestamp,)> =
        tx.maybe("select full_at from rate_limit where account_id = :account", bind! {})?;
    let full_in = known.map_or(0, |(full_at,)| full_at.micros() - now.micros());
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
    })
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
        assert_eq!(allowance.full_in, WINDOW);
        let later = start + Duration::from_secs(5);
        assert_eq!((0..100).filter(|_| bucket.take(60, later)).count(), 5);
        assert_eq!(bucket.allowance(60, later + WINDOW * 2).remaining, 60);
    }

    #[test]
    fn addresses_of_one_network_share_a_bucket() {
        let one = neighbourhood("2001:db8:1:2:3::4".parse().unwrap());
        assert_eq!(one, neighbourhood("2001:db8:1:2:ffff::1".parse().unwrap()));
        assert_ne!(one, neighbourhood("2001:db8:1:3::1".parse().unwrap()));
        let mapped = neighbourhood("::ffff:10.0.0.1".parse().unwrap());
        assert_eq!(mapped, neighbourhood("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn memory_is_bounded() {
        let limits = Limits::new(5, Clock::system(), Arc::new(Dice::seeded(1)));
        for host in 0..30_000u32 {
            let address = IpAddr::V4((0x0a00_0000 + host).into());
            limits.fail(address, Error::not_found());
        }
        assert!(limits.addresses.0.lock().unwrap().len() <= MANY);
    }
}
