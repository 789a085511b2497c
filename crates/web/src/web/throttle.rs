//! Throttles attempts per client: a burst is allowed at once, then one attempt per interval.
//!
//! This is the generic cell rate algorithm, as in [`super::limits`]: for each key only the time is stored at
//! which its whole burst is available again. Each node counts on its own.
//!
//! Memory is bounded per limit, so that attempts of one kind never evict those of another. A full table evicts
//! the keys that have the least time left to wait. To evict a key that has used up its burst, an attacker needs
//! `CAPACITY` other keys that have used up theirs. A key must therefore never be derived from something that a
//! caller can make up, such as an unknown client id.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kit::Clock;

use crate::bounded;
use crate::prelude::*;

/// The maximum number of keys per limit.
const CAPACITY: usize = 20_000;

/// A limit on one kind of attempt.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit {
    /// The kind of attempt. Limits with the same name share their counts.
    pub name: &'static str,
    /// The number of attempts that are allowed at once.
    pub burst: u32,
    /// The time after which one more attempt is allowed.
    pub interval: Duration,
}

impl RateLimit {
    /// Allows `quota` attempts a minute.
    pub fn per_minute(what: &'static str, quota: NonZeroU32) -> Self {
        Self { name: what, burst: quota.get(), interval: Duration::from_secs(60) / quota.get() }
    }
}

/// Identifies who makes an attempt, or for whom it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThrottleKey([u8; 32]);

impl From<IpAddr> for ThrottleKey {
    fn from(address: IpAddr) -> Self {
        Self(kit::secret::sha256(client_network(address).to_string().as_bytes()))
    }
}

impl From<(IpAddr, &str)> for ThrottleKey {
    /// A named client at an address. Other clients at the same address are counted separately.
    fn from((address, client): (IpAddr, &str)) -> Self {
        Self(kit::secret::sha256(format!("{} {client}", client_network(address)).as_bytes()))
    }
}

impl From<[u8; 32]> for ThrottleKey {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

/// For each key of one limit, the time at which its whole burst is available again.
type Table = HashMap<ThrottleKey, Duration>;

/// The attempts that this node has counted.
#[derive(Debug)]
pub struct Throttle {
    tables: Mutex<HashMap<&'static str, Table>>,
    clock: Clock,
}

impl Throttle {
    /// Creates a throttle without any attempts.
    pub fn new(clock: Clock) -> Self {
        Self { tables: Mutex::default(), clock }
    }

    /// Counts an attempt, or fails with the time to wait if there were too many.
    pub fn check(&self, limit: RateLimit, key: impl Into<ThrottleKey>) -> Result<()> {
        let (now, key) = (self.clock.elapsed(), key.into());
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.entry(limit.name).or_default();
        if !table.contains_key(&key) {
            bounded::make_room(table, CAPACITY, |free_at| *free_at);
        }
        let free_at = table.entry(key).or_default();
        *free_at = next_free_at(limit, *free_at, now)?;
        Ok(())
    }

    /// Checks whether an attempt would be allowed, without counting it.
    pub fn peek(&self, limit: RateLimit, key: impl Into<ThrottleKey>) -> Result<()> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let free_at = tables.get(limit.name).and_then(|table| table.get(&key.into())).copied();
        next_free_at(limit, free_at.unwrap_or_default(), self.clock.elapsed()).map(drop)
    }

    /// Uncounts an attempt, because it succeeded.
    pub fn uncount(&self, limit: RateLimit, key: impl Into<ThrottleKey>) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.get_mut(limit.name);
        if let Some(free_at) = table.and_then(|table| table.get_mut(&key.into())) {
            *free_at = free_at.saturating_sub(limit.interval);
        }
    }
}

/// The time at which the whole burst is available again after one more attempt, if that attempt is allowed.
fn next_free_at(limit: RateLimit, free_at: Duration, now: Duration) -> Result<Duration> {
    let next = free_at.max(now) + limit.interval;
    let wait = next.saturating_sub(now).saturating_sub(limit.interval * limit.burst.max(1));
    if wait.is_zero() {
        return Ok(next);
    }
    let detail = "Too many attempts. Wait a moment, then try again.";
    Err(Error::new(Code::RateLimited, detail).retry_after(ceil_seconds(wait).max(1)))
}

/// Whole seconds, rounded up.
pub fn ceil_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// The address that attempts are counted for. An IPv6 /64 counts as one address, because a single customer
/// usually has a whole one.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_one_attempt_per_interval() {
        let clock = kit::clock::ManualClock::at("2026-09-05T10:00:00Z".parse().unwrap());
        let throttle = Throttle::new(clock.clock());
        let limit = RateLimit { name: "test", burst: 3, interval: Duration::from_secs(20) };
        let home: IpAddr = "2001:db8::1".parse().unwrap();
        let neighbour: IpAddr = "2001:db8::ffff".parse().unwrap();
        let elsewhere: IpAddr = "192.0.2.1".parse().unwrap();
        for _ in 0..3 {
            throttle.check(limit, home).unwrap();
        }
        assert_eq!(throttle.check(limit, neighbour).unwrap_err().retry_after, Some(20));
        throttle.check(limit, elsewhere).unwrap();
        clock.advance(Duration::from_secs(20));
        throttle.check(limit, home).unwrap();
        throttle.check(limit, home).unwrap_err();
        throttle.peek(limit, home).unwrap_err();
        throttle.uncount(limit, home);
        throttle.peek(limit, home).unwrap();
        throttle.check(limit, home).unwrap();
    }

    #[test]
    fn apps_at_one_address_are_counted_separately() {
        let clock = kit::clock::ManualClock::at("2026-09-05T10:00:00Z".parse().unwrap());
        let throttle = Throttle::new(clock.clock());
        let limit = RateLimit::per_minute("test", NonZeroU32::new(2).unwrap());
        let home: IpAddr = "192.0.2.1".parse().unwrap();
        for app in ["app_1", "app_2"] {
            throttle.check(limit, (home, app)).unwrap();
            throttle.check(limit, (home, app)).unwrap();
            assert_eq!(throttle.check(limit, (home, app)).unwrap_err().retry_after, Some(30));
        }
        throttle.check(limit, home).unwrap();
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let one = client_network("2001:db8:1:2:3::4".parse().unwrap());
        assert_eq!(one, client_network("2001:db8:1:2:ffff::1".parse().unwrap()));
        assert_ne!(one, client_network("2001:db8:1:3::1".parse().unwrap()));
        let mapped = client_network("::ffff:10.0.0.1".parse().unwrap());
        assert_eq!(mapped, client_network("10.0.0.1".parse().unwrap()));
    }

    /// Makes one attempt from each of many addresses.
    fn flood(throttle: &Throttle, limit: RateLimit, addresses: u32) {
        for host in 0..addresses {
            // Some attempts may be rejected.
            let _ = throttle.check(limit, IpAddr::V4(host.into()));
        }
    }

    #[test]
    fn a_flood_of_addresses_neither_grows_memory_nor_resets_a_limit() {
        let clock = kit::clock::ManualClock::at("2026-09-05T10:00:00Z".parse().unwrap());
        let throttle = Throttle::new(clock.clock());
        let limit = RateLimit { name: "test", burst: 3, interval: Duration::from_secs(20) };
        let other = RateLimit { name: "other", ..limit };
        let home: IpAddr = "2001:db8::1".parse().unwrap();
        for _ in 0..3 {
            throttle.check(limit, home).unwrap();
            throttle.check(other, home).unwrap();
        }
        flood(&throttle, limit, 50_000);
        throttle.peek(limit, home).unwrap_err();
        throttle.peek(other, home).unwrap_err();
        let tables = throttle.tables.lock().unwrap();
        assert!(tables["test"].len() <= CAPACITY);
        assert_eq!(tables["other"].len(), 1);
    }
}
