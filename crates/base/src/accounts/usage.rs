//! Request counts per API key and app, by hour.
//!
//! Requests are counted in memory and written to the database every few seconds, so that counting adds
//! almost no cost to a request. Counts that are not yet written are lost if the process is killed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kit::Clock;

use super::credential::{Credential, Holder};
use crate::prelude::*;

pub const HOUR: Duration = Duration::from_secs(3600);
/// An hour in microseconds, the unit of [`Timestamp`].
const HOUR_MICROS: i64 = 3_600_000_000;
pub const HOURS_PER_WEEK: u32 = 7 * 24;
/// Counts older than this are deleted.
const RETENTION: Duration = Duration::from_secs(90 * 86_400);
/// The maximum number of counters (one per credential and hour) in memory, while the database is unavailable.
const MAX_COUNTERS: usize = 100_000;

/// The credential that a request is counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UsageCredential {
    Key(KeyId),
    App(AppId),
}

impl std::fmt::Display for UsageCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(id) => id.fmt(f),
            Self::App(id) => id.fmt(f),
        }
    }
}

impl From<&Credential> for UsageCredential {
    fn from(credential: &Credential) -> Self {
        match credential.holder {
            Holder::Key { id, .. } => Self::Key(id),
            Holder::App { app, .. } => Self::App(app),
        }
    }
}

/// Number of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// All requests, including refused ones.
    pub requests: i64,
    /// Requests refused because the rate limit was exceeded.
    pub refused: i64,
}

impl Count {
    /// Adds another count.
    pub fn add(&mut self, more: Self) {
        self.requests += more.requests;
        self.refused += more.refused;
    }
}

/// The counts of one account, by hour and credential.
pub type Counts = BTreeMap<(Timestamp, UsageCredential), Count>;

/// Counts requests in memory until they are written to the database.
#[derive(Debug)]
pub struct UsageCounter {
    clock: Clock,
    counters: Mutex<HashMap<(AccountId, Timestamp, UsageCredential), Count>>,
}

impl UsageCounter {
    pub fn new(clock: Clock) -> Self {
        Self { clock, counters: Mutex::default() }
    }

    /// Counts a request of a credential.
    pub fn count(&self, account: AccountId, credential: UsageCredential, refused: bool) {
        let one = Count { requests: 1, refused: i64::from(refused) };
        self.add(account, truncate_to_hour(self.clock.now()), credential, one);
    }

    fn add(&self, account: AccountId, hour: Timestamp, credential: UsageCredential, count: Count) {
        let mut slots = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = (account, hour, credential);
        if slots.len() < MAX_COUNTERS || slots.contains_key(&slot) {
            slots.entry(slot).or_default().add(count);
        }
    }

    /// Removes and returns all counts, by account.
    pub fn take(&self) -> BTreeMap<AccountId, Counts> {
        let slots =
            std::mem::take(&mut *self.counters.lock().unwrap_or_else(PoisonError::into_inner));
        let mut accounts: BTreeMap<_, Counts> = BTreeMap::new();
        for ((account, hour, credential), count) in slots {
            accounts.entry(account).or_default().insert((hour, credential), count);
        }
        accounts
    }

    /// Puts back counts that could not be written.
    pub fn restore(&self, account: AccountId, counts: Counts) {
        for ((hour, credential), count) in counts {
            self.add(account, hour, credential, count);
        }
    }
}

/// Truncates a timestamp to the full hour.
pub fn truncate_to_hour(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.micros().div_euclid(HOUR_MICROS) * HOUR_MICROS)
}

/// The start of a window of `hours` hours that ends with the current hour.
pub fn window_start(hours: u32, now: Timestamp) -> Timestamp {
    truncate_to_hour(now).minus(HOUR * hours.saturating_sub(1))
}

/// Adds counts to the database. Does nothing if the account was deleted in the meantime.
pub fn write(tx: &Tx<'_>, counts: &Counts) -> Result<()> {
    for ((hour, credential), Count { requests, refused }) in counts {
        let credential = credential.to_string();
        tx.execute(
            "insert into usage_hour (account_id, hour, credential, requests, refused)
             select id, :hour, :credential, :requests, :refused from account where id = :account
             on conflict (account_id, hour, credential) do update set
                 requests = usage_hour.requests + excluded.requests,
                 refused = usage_hour.refused + excluded.refused",
            bind! { hour: *hour, credential, requests: *requests, refused: *refused },
        )?;
    }
    Ok(())
}

row! {
    /// The requests of a credential in an hour.
    #[derive(Debug, Clone)]
    pub struct UsageHour {
        pub hour: Timestamp,
        pub credential: String,
        pub requests: i64,
        pub refused: i64,
    }
}

impl UsageHour {
    pub fn count(&self) -> Count {
        Count { requests: self.requests, refused: self.refused }
    }
}

/// The stored counts from the hour of `from` onwards, oldest first.
pub fn list_since(db: &Reader<'_>, from: Timestamp) -> Result<Vec<UsageHour>> {
    Ok(db.all(
        "select hour, credential, requests, refused from usage_hour
         where account_id = :account and hour >= :from order by hour, credential",
        bind! { from: truncate_to_hour(from) },
    )?)
}

/// Deletes a batch of expired counts. Returns the number of deleted rows.
pub fn delete_expired(tx: &Tx<'_>) -> Result<u64> {
    let before = tx.now().minus(RETENTION);
    Ok(tx.execute(
        "delete from usage_hour where (account_id, hour, credential) in
             (select account_id, hour, credential from usage_hour where hour < :before
              order by hour limit 500) /* any account */",
        bind! { before },
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_taken_once_and_can_be_put_back() {
        let usage = UsageCounter::new(Clock::system());
        let (account, key) = (AccountId::from_bits(1), UsageCredential::Key(KeyId::from_bits(2)));
        for refused in [false, true, false] {
            usage.count(account, key, refused);
        }
        usage.count(AccountId::from_bits(3), UsageCredential::App(AppId::from_bits(2)), false);
        let mut taken = usage.take();
        assert_eq!(taken.len(), 2);
        assert!(usage.take().is_empty());
        let counts = taken.remove(&account).unwrap();
        usage.restore(account, counts);
        usage.count(account, key, true);
        let total = |counts: &Counts| {
            let mut total = Count::default();
            for count in counts.values() {
                total.add(*count);
            }
            total
        };
        assert_eq!(total(&usage.take()[&account]), Count { requests: 4, refused: 2 });
    }

    #[test]
    fn timestamps_are_truncated_to_the_hour() {
        let at = |text: &str| truncate_to_hour(text.parse().unwrap()).to_string();
        assert!(at("2026-09-05T10:59:59Z").starts_with("2026-09-05T10:00:00"));
        assert!(at("2026-09-05T11:00:00Z").starts_with("2026-09-05T11:00:00"));
    }
}
