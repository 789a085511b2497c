//! How often something may be tried from one place: a few times at once, then now and then.
//!
//! The same algorithm as for quotas: of each place only the moment is kept at which its whole burst is free again. Each
//! node counts for itself.
//!
//! Memory is bounded per limit, so that attempts of one kind never displace those of another. A full table evicts the
//! places that have the least time left to wait. To displace a place that has used up its burst, a caller needs that many
//! other places that have used up theirs: a place must therefore never be named after something that a caller can make up,
//! such as an unknown client id.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kit::Clock;

use crate::bounded;
use crate::error::{Code, Error, Result};

/// The most places that are kept for one limit.
const CAPACITY: usize = 20_000;

/// What is tried, and how often it may be.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub what: &'static str,
    /// So many times at once.
    pub burst: u32,
    /// Then once in this time.
    pub every: Duration,
}

impl Pace {
    /// So many in any minute.
    pub fn per_minute(what: &'static str, quota: NonZeroU32) -> Self {
        Self { what, burst: quota.get(), every: Duration::from_secs(60) / quota.get() }
    }
}

/// From where something is tried, or for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place([u8; 32]);

impl From<IpAddr> for Place {
    fn from(address: IpAddr) -> Self {
        Self(kit::secret::sha256(neighbourhood(address).to_string().as_bytes()))
    }
}

impl From<(IpAddr, &str)> for Place {
    /// Somebody who says who they are, at an address: others there are counted apart from them.
    fn from((address, who): (IpAddr, &str)) -> Self {
        Self(kit::secret::sha256(format!("{} {who}", neighbourhood(address)).as_bytes()))
    }
}

impl From<[u8; 32]> for Place {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

/// The moments at which the places of one limit are free again.
type Table = HashMap<Place, Duration>;

/// The places of a node.
#[derive(Debug)]
pub struct Paces {
    tables: Mutex<HashMap<&'static str, Table>>,
    clock: Clock,
}

impl Paces {
    /// Nobody has tried anything yet.
    pub fn new(clock: Clock) -> Self {
        Self { tables: Mutex::default(), clock }
    }

    /// Counts an attempt, or says when to come back.
    pub fn take(&self, pace: Pace, from: impl Into<Place>) -> Result<()> {
        let (now, key) = (self.clock.elapsed(), from.into());
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.entry(pace.what).or_default();
        if !table.contains_key(&key) {
            bounded::make_room(table, CAPACITY, |free_at| *free_at);
        }
        let free_at = table.entry(key).or_default();
        *free_at = after(pace, *free_at, now)?;
        Ok(())
    }

    /// Says whether an attempt would be let in, without counting one.
    pub fn peek(&self, pace: Pace, from: impl Into<Place>) -> Result<()> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let free_at = tables.get(pace.what).and_then(|table| table.get(&from.into())).copied();
        after(pace, free_at.unwrap_or_default(), self.clock.elapsed()).map(drop)
    }

    /// Takes an attempt back: it was a good one.
    pub fn give_back(&self, pace: Pace, from: impl Into<Place>) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.get_mut(pace.what);
        if let Some(free_at) = table.and_then(|table| table.get_mut(&from.into())) {
            *free_at = free_at.saturating_sub(pace.every);
        }
    }
}

/// When a place may do as it likes again after one more attempt, if that is let in.
fn after(pace: Pace, free_at: Duration, now: Duration) -> Result<Duration> {
    let next = free_at.max(now) + pace.every;
    let ahead = next.saturating_sub(now).saturating_sub(pace.every * pace.burst.max(1));
    if ahead.is_zero() {
        return Ok(next);
    }
    let detail = "Too many attempts. Wait a little, then try again.";
    Err(Error::new(Code::RateLimited, detail).retry_after(ceiling(ahead).max(1)))
}

/// Whole seconds, rounded up.
pub fn ceiling(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// An IPv6 customer has a whole /64 to choose addresses from: it is one address to us.
pub fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_at_once_and_then_one_at_a_time() {
        let clock = kit::clock::HandClock::at("2026-09-05T10:00:00Z".parse().unwrap());
        let paces = Paces::new(clock.clock());
        let pace = Pace { what: "test", burst: 3, every: Duration::from_secs(20) };
        let home: IpAddr = "2001:db8::1".parse().unwrap();
        let neighbour: IpAddr = "2001:db8::ffff".parse().unwrap();
        let elsewhere: IpAddr = "192.0.2.1".parse().unwrap();
        for _ in 0..3 {
            paces.take(pace, home).unwrap();
        }
        assert_eq!(paces.take(pace, neighbour).unwrap_err().retry_after, Some(20));
        paces.take(pace, elsewhere).unwrap();
        clock.pass(Duration::from_secs(20));
        paces.take(pace, home).unwrap();
        paces.take(pace, home).unwrap_err();
        paces.peek(pace, home).unwrap_err();
        paces.give_back(pace, home);
        paces.peek(pace, home).unwrap();
        paces.take(pace, home).unwrap();
    }

    #[test]
    fn apps_at_one_address_are_counted_apart() {
        let clock = kit::clock::HandClock::at("2026-09-05T10:00:00Z".parse().unwrap());
        let paces = Paces::new(clock.clock());
        let pace = Pace::per_minute("test", NonZeroU32::new(2).unwrap());
        let home: IpAddr = "192.0.2.1".parse().unwrap();
        for app in ["app_1", "app_2"] {
            paces.take(pace, (home, app)).unwrap();
            paces.take(pace, (home, app)).unwrap();
            assert_eq!(paces.take(pace, (home, app)).unwrap_err().retry_after, Some(30));
        }
        paces.take(pace, home).unwrap();
    }

    #[test]
    fn addresses_of_one_network_are_one_place() {
        let one = neighbourhood("2001:db8:1:2:3::4".parse().unwrap());
        assert_eq!(one, neighbourhood("2001:db8:1:2:ffff::1".parse().unwrap()));
        assert_ne!(one, neighbourhood("2001:db8:1:3::1".parse().unwrap()));
        let mapped = neighbourhood("::ffff:10.0.0.1".parse().unwrap());
        assert_eq!(mapped, neighbourhood("10.0.0.1".parse().unwrap()));
    }

    /// Tries something once from so many addresses.
    fn flood(paces: &Paces, pace: Pace, addresses: u32) {
        for host in 0..addresses {
            // Some of them may be refused.
            let _ = paces.take(pace, IpAddr::V4(host.into()));
        }
    }

    #[test]
    fn a_flood_of_addresses_neither_grows_memory_nor_resets_a_limit() {
        let clock = kit::clock::HandClock::at("2026-09-05T10:00:00Z".parse().unwrap());
        let paces = Paces::new(clock.clock());
        let pace = Pace { what: "test", burst: 3, every: Duration::from_secs(20) };
        let other = Pace { what: "other", ..pace };
        let home: IpAddr = "2001:db8::1".parse().unwrap();
        for _ in 0..3 {
            paces.take(pace, home).unwrap();
            paces.take(other, home).unwrap();
        }
        flood(&paces, pace, 50_000);
        paces.peek(pace, home).unwrap_err();
        paces.peek(other, home).unwrap_err();
        let tables = paces.tables.lock().unwrap();
        assert!(tables["test"].len() <= CAPACITY);
        assert_eq!(tables["other"].len(), 1);
    }
}
