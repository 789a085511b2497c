//! How often something may be tried from one place: a few times at once, then now and then.
//!
//! The same rule as for quotas: of each place only the moment is kept at which it may again do as it
//! likes. Each node counts for itself.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kit::Clock;

use super::limits::{ceiling, neighbourhood};
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

/// From where something is tried, or for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place([u8; 32]);

impl From<IpAddr> for Place {
    fn from(address: IpAddr) -> Self {
        Self(kit::secret::sha256(neighbourhood(address).to_string().as_bytes()))
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
        let now = self.clock.elapsed();
        let mut places = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MANY {
            places.retain(|_, free_at| *free_at > now);
            if places.len() >= MANY {
                // Everybody is busy: forgetting all of them is fairer than growing without bound.
                places.clear();
            }
        }
        let free_at = places.entry((pace.what, from.into())).or_default();
        let next = (*free_at).max(now) + pace.every;
        let ahead = next.saturating_sub(now).saturating_sub(pace.every * pace.burst.max(1));
        if !ahead.is_zero() {
            let detail = "Too many attempts. Wait a little, then try again.";
            return Err(Error::new(Code::RateLimited, detail).retry_after(ceiling(ahead).max(1)));
        }
        *free_at = next;
        Ok(())
    }

    /// Takes an attempt back: it was a good one.
    pub fn give_back(&self, pace: Pace, from: impl Into<Place>) {
        let mut places = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(free_at) = places.get_mut(&(pace.what, from.into())) {
            *free_at = free_at.saturating_sub(pace.every);
        }
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
        paces.give_back(pace, home);
        paces.take(pace, home).unwrap();
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
