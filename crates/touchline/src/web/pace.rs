//! How often something may be tried from one place: a few times at once, then now and then.
//!
//! The same rule as for quotas: of each place only the moment is kept at which it may again do as it
//! likes. Each node counts for itself.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kit::Clock;

use crate::error::{Code, Error, Result};

/// Places that may do as they like again are forgotten once there are so many.
const MANY: usize = 20_000;

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

/// The places of a node.
#[derive(Debug)]
pub struct Paces {
    free_at: Mutex<HashMap<(&'static str, Place), Duration>>,
    clock: Clock,
}

impl Paces {
    /// Nobody has tried anything yet.
    pub fn new(clock: Clock) -> Self {
        Self { free_at: Mutex::default(), clock }
    }

    /// Counts an attempt, or says when to come back.
    pub fn take(&self, pace: Pace, from: impl Into<Place>) -> Result<()> {
        let (now, key) = (self.clock.elapsed(), (pace.what, from.into()));
        let mut places = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MANY && !places.contains_key(&key) {
            places.retain(|_, free_at| *free_at > now);
            if places.len() >= MANY {
                // Everybody is busy: forgetting all of them is fairer than growing without bound.
                places.clear();
            }
        }
        let free_at = places.entry(key).or_default();
        *free_at = after(pace, *free_at, now)?;
        Ok(())
    }

    /// Says whether an attempt would be let in, without counting one.
    pub fn peek(&self, pace: Pace, from: impl Into<Place>) -> Result<()> {
        let places = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let free_at = places.get(&(pace.what, from.into())).copied().unwrap_or_default();
        after(pace, free_at, self.clock.elapsed()).map(drop)
    }

    /// Takes an attempt back: it was a good one.
    pub fn give_back(&self, pace: Pace, from: impl Into<Place>) {
        let mut places = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(free_at) = places.get_mut(&(pace.what, from.into())) {
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

    #[test]
    fn memory_is_bounded() {
        let paces = Paces::new(Clock::system());
        let pace = Pace { what: "test", burst: 3, every: Duration::from_secs(20) };
        for host in 0..50_000u32 {
            let _ = paces.take(pace, IpAddr::V4(host.into()));
        }
        assert!(paces.free_at.lock().unwrap().len() <= MANY);
    }
}
