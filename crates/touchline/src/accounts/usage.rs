//! How often each key and app is used, hour by hour.
//!
//! Requests are counted in memory and written down every few seconds, so that counting costs a request
//! next to nothing. What was counted and not yet written is lost if the process is killed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kit::{Clock, Timestamp};
use store::{Reader, Tx, bind, row};

use super::credential::{Credential, Holder};
use crate::error::Result;
use crate::ids::{AccountId, AppId, KeyId};

/// An hour, in seconds and in what a moment is kept in.
pub const HOUR: Duration = Duration::from_secs(3600);
const HOUR_MICROS: i64 = 3_600_000_000;
/// The hours of a week.
pub const WEEK: u32 = 7 * 24;
/// Hours older than this are forgotten.
const KEPT: Duration = Duration::from_secs(90 * 86_400);
/// While the database takes nothing, counting goes on for so many hours of credentials.
const MANY: usize = 100_000;

/// What a request came with, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Used {
    Key(KeyId),
    App(AppId),
}

impl std::fmt::Display for Used {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(id) => id.fmt(f),
            Self::App(id) => id.fmt(f),
        }
    }
}

impl From<&Credential> for Used {
    fn from(credential: &Credential) -> Self {
        match credential.holder {
            Holder::Key { id, .. } => Self::Key(id),
            Holder::App { app, .. } => Self::App(app),
        }
    }
}

/// How often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// All requests, refused ones among them.
    pub requests: i64,
    /// Those that were turned away because the quota was used up.
    pub refused: i64,
}

impl Count {
    /// Adds another count.
    pub fn add(&mut self, more: Self) {
        self.requests += more.requests;
        self.refused += more.refused;
    }
}

/// What was counted for one account, by hour and credential.
pub type Counts = BTreeMap<(Timestamp, Used), Count>;

/// The requests that were counted and not yet written down.
#[derive(Debug)]
pub struct Usage {
    clock: Clock,
    slots: Mutex<HashMap<(AccountId, Timestamp, Used), Count>>,
}

impl Usage {
    pub fn new(clock: Clock) -> Self {
        Self { clock, slots: Mutex::default() }
    }

    /// Counts a request of a credential.
    pub fn count(&self, account: AccountId, used: Used, refused: bool) {
        let one = Count { requests: 1, refused: i64::from(refused) };
        self.put(account, hour_of(self.clock.now()), used, one);
    }

    fn put(&self, account: AccountId, hour: Timestamp, used: Used, count: Count) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = (account, hour, used);
        if slots.len() < MANY || slots.contains_key(&slot) {
            slots.entry(slot).or_default().add(count);
        }
    }

    /// Takes out everything that was counted, by account.
    pub fn take(&self) -> BTreeMap<AccountId, Counts> {
        let slots = std::mem::take(&mut *self.slots.lock().unwrap_or_else(PoisonError::into_inner));
        let mut accounts: BTreeMap<_, Counts> = BTreeMap::new();
        for ((account, hour, used), count) in slots {
            accounts.entry(account).or_default().insert((hour, used), count);
        }
        accounts
    }

    /// Puts back what could not be written down.
    pub fn put_back(&self, account: AccountId, counts: Counts) {
        for ((hour, used), count) in counts {
            self.put(account, hour, used, count);
        }
    }
}

/// The hour in which a moment lies, as the moment at which it begins.
pub fn hour_of(moment: Timestamp) -> Timestamp {
    Timestamp::from_micros(moment.micros().div_euclid(HOUR_MICROS) * HOUR_MICROS)
}

/// The first of so many hours that end with the current one.
pub fn first_of(hours: u32, now: Timestamp) -> Timestamp {
    hour_of(now).minus(HOUR * hours.saturating_sub(1))
}

/// Writes counts down. An account that is gone by now needs none.
pub fn write(tx: &Tx<'_>, counts: &Counts) -> Result<()> {
    for ((hour, used), Count { requests, refused }) in counts {
        let credential = used.to_string();
        tx.run(
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
    /// What a credential did in an hour.
    #[derive(Debug, Clone)]
    pub struct Hour {
        pub hour: Timestamp,
        pub credential: String,
        pub requests: i64,
        pub refused: i64,
    }
}

impl Hour {
    pub fn count(&self) -> Count {
        Count { requests: self.requests, refused: self.refused }
    }
}

/// What was written down since a moment, oldest first.
pub fn since(db: &Reader<'_>, from: Timestamp) -> Result<Vec<Hour>> {
    Ok(db.all(
        "select hour, credential, requests, refused from usage_hour
         where account_id = :account and hour >= :from order by hour, credential",
        bind! { from: hour_of(from) },
    )?)
}

/// Forgets hours that are too old, a few at a time, and says how many.
pub fn forget(tx: &Tx<'_>) -> Result<u64> {
    let before = tx.now().minus(KEPT);
    Ok(tx.run(
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
    fn what_is_counted_is_taken_once_and_can_be_put_back() {
        let usage = Usage::new(Clock::system());
        let (account, key) = (AccountId::from_bits(1), Used::Key(KeyId::from_bits(2)));
        for refused in [false, true, false] {
            usage.count(account, key, refused);
        }
        usage.count(AccountId::from_bits(3), Used::App(AppId::from_bits(2)), false);
        let mut taken = usage.take();
        assert_eq!(taken.len(), 2);
        assert!(usage.take().is_empty());
        let counts = taken.remove(&account).unwrap();
        usage.put_back(account, counts);
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
    fn an_hour_begins_on_the_hour() {
        let at = |text: &str| hour_of(text.parse().unwrap()).to_string();
        assert!(at("2026-09-05T10:59:59Z").starts_with("2026-09-05T10:00:00"));
        assert!(at("2026-09-05T11:00:00Z").starts_with("2026-09-05T11:00:00"));
    }
}
