//! The last requests with each API key, for the people who write the programs that use them.
//!
//! Requests are kept in memory and written to the database every few seconds, so that logging adds almost no cost to a
//! request. Requests that are not yet written are lost if the process is killed. Bodies and query parameters are not
//! logged.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::prelude::*;

/// How many requests are kept of each key.
pub const MAX_REQUESTS: u32 = 100;
/// How many days requests are kept.
pub const MAX_DAYS: u32 = 30;
/// The maximum number of keys in memory. Requests of further keys are not logged until the next write.
const MAX_KEYS: usize = 1_000;
/// Longer paths are truncated.
const MAX_PATH: usize = 200;

row! {
    /// A request that was answered.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LoggedRequest {
        pub id: String,
        pub at: Timestamp,
        pub method: String,
        pub path: String,
        pub status: i64,
        /// The code of the error; `None` if the request succeeded.
        pub code: Option<String>,
        /// How long the service took, in microseconds.
        pub duration: i64,
    }
}

/// The requests of one account by key, oldest first.
pub type Requests = BTreeMap<KeyId, VecDeque<LoggedRequest>>;

/// Keeps requests in memory until they are written to the database.
#[derive(Debug, Default)]
pub struct RequestLog(Mutex<HashMap<(AccountId, KeyId), VecDeque<LoggedRequest>>>);

impl RequestLog {
    /// Adds a request.
    pub fn add(&self, account: AccountId, key: KeyId, mut request: LoggedRequest) {
        request.path.truncate(request.path.floor_char_boundary(MAX_PATH));
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MAX_KEYS && !keys.contains_key(&(account, key)) {
            return;
        }
        let requests = keys.entry((account, key)).or_default();
        if requests.len() >= MAX_REQUESTS as usize {
            requests.pop_front();
        }
        requests.push_back(request);
    }

    /// Removes and returns the requests of one account, or of all accounts, grouped by account.
    pub fn take(&self, only: Option<AccountId>) -> BTreeMap<AccountId, Requests> {
        let mut accounts: BTreeMap<_, Requests> = BTreeMap::new();
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = keys.extract_if(|(account, _), _| only.is_none_or(|only| only == *account));
        for ((account, key), requests) in taken {
            accounts.entry(account).or_default().insert(key, requests);
        }
        accounts
    }
}

/// Adds requests to the database, and deletes older ones. Does nothing if the account was deleted in the meantime.
pub fn write(tx: &Tx<'_>, requests: &Requests) -> Result<()> {
    for (key, requests) in requests {
        for request in requests {
            let LoggedRequest { id, at, method, path, status, code, duration } = request.clone();
            tx.execute(
                "insert into key_request (account_id, key_id, id, at, method, path, status, code, duration)
                 select id, :key, :id, :at, :method, :path, :status, :code, :duration
                 from account where id = :account",
                bind! { key: *key, id, at, method, path, status, code, duration },
            )?;
        }
        tx.execute(
            "delete from key_request where account_id = :account and key_id = :key and id not in
                 (select id from key_request where account_id = :account and key_id = :key
                  order by id desc limit :max)",
            bind! { key: *key, max: i64::from(MAX_REQUESTS) },
        )?;
    }
    Ok(())
}

/// Deletes a batch of old requests. Returns the number of deleted rows.
pub fn delete_expired(tx: &Tx<'_>) -> Result<u64> {
    let before = tx.now().minus(Duration::from_secs(u64::from(MAX_DAYS) * 24 * 60 * 60));
    Ok(tx.execute(
        "delete from key_request where (account_id, key_id, id) in
             (select account_id, key_id, id from key_request where at < :before order by at limit 500)
         /* any account */",
        bind! { before },
    )?)
}

/// The last requests with a key, newest first.
pub fn list(db: &Reader<'_>, key: KeyId, only_failed: bool) -> Result<Vec<LoggedRequest>> {
    let min_status: i64 = if only_failed { 400 } else { 0 };
    Ok(db.all(
        "select id, at, method, path, status, code, duration from key_request
         where account_id = :account and key_id = :key and status >= :min_status
         order by id desc limit :max",
        bind! { key, min_status, max: i64::from(MAX_REQUESTS) },
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u32, path: &str) -> LoggedRequest {
        LoggedRequest {
            id: format!("req_{number:03}"),
            at: Timestamp::from_micros(0),
            method: "GET".to_owned(),
            path: path.to_owned(),
            status: 200,
            code: None,
            duration: 1,
        }
    }

    #[test]
    fn only_the_last_requests_of_a_key_are_kept() {
        let log = RequestLog::default();
        let (account, key) = (AccountId::from_bits(1), KeyId::from_bits(2));
        for number in 0..MAX_REQUESTS + 7 {
            log.add(account, key, request(number, "/teams"));
        }
        log.add(account, KeyId::from_bits(3), request(0, &"é".repeat(MAX_PATH)));
        assert!(log.take(Some(AccountId::from_bits(2))).is_empty());
        let mut taken = log.take(Some(account));
        assert!(log.take(None).is_empty());
        let requests = taken.remove(&account).unwrap();
        assert_eq!((requests[&key].len(), &*requests[&key][0].id), (100, "req_007"));
        assert_eq!(requests[&KeyId::from_bits(3)][0].path.len(), MAX_PATH);
    }
}
