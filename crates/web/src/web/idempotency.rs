//! Idempotency keys: a repeated request takes effect once and gets the same response.
//!
//! The response is stored in the transaction of the change, so there is never one without the other. A request waits
//! while another one with the same key is running.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderName, Method, StatusCode};
use kit::secret::sha256;
use tokio::sync::Notify;

use super::reply::WriteResponse;
use crate::prelude::*;
use crate::secrets::SealKey;

/// The header with the key.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// How long a request waits for another one with the same key.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

record! {
    /// A completed request and its response.
    #[derive(Debug)]
    pub struct StoredResponse in idempotency {
        pub account_id: AccountId,
        pub key: String,
        pub request_hash: [u8; 32],
        pub status: i64,
        pub etag: Option<String>,
        pub data: String,
        pub created_at: Timestamp,
    }
}

record! {
    /// The complete data of a response with a secret, encrypted.
    #[derive(Debug)]
    pub struct StoredSecret in idempotency_secret {
        pub account_id: AccountId,
        pub key: String,
        pub data: Vec<u8>,
    }
}

/// How responses are stored and repeated.
#[derive(Clone)]
pub struct ReplaySettings {
    /// How long responses are stored.
    pub ttl: Duration,
    /// The key that encrypts responses with secrets.
    pub seal: SealKey,
}

/// A key with the hash of its request.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    pub key: String,
    pub request_hash: [u8; 32],
}

/// Reads the key of a request: 1 to 255 visible ASCII characters, optionally quoted.
pub fn parse_key(headers: &HeaderMap) -> Result<Option<String>> {
    let mut lines = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let invalid = |detail: &'static str| Error::new(Code::InvalidRequest, detail);
    if lines.next().is_some() {
        return Err(invalid("The header `Idempotency-Key` was sent more than once."));
    }
    let malformed =
        || invalid("The header `Idempotency-Key` must have 1 to 255 visible ASCII characters.");
    let text = line.to_str().map_err(|_| malformed())?;
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let key = quoted.unwrap_or(text);
    let visible = key.bytes().all(|byte| byte.is_ascii_graphic());
    if visible && (1..=255).contains(&key.len()) {
        Ok(Some(key.to_owned()))
    } else {
        Err(malformed())
    }
}

/// The hash that identifies a request: its method, path and canonical body, and the access of the caller, so that a
/// response is never replayed to a caller with other access.
pub fn request_hash(method: &Method, path: &str, body: &[u8], access: &str) -> [u8; 32] {
    let mut text = format!("{method} {path}\n{access}").into_bytes();
    text.extend_from_slice(body);
    sha256(&text)
}

/// The stored response for this key, if it has not expired. Fails if the key was used for another request.
pub fn find_stored(
    tx: &Tx<'_>,
    key: &IdempotencyKey,
    ttl: Duration,
) -> Result<Option<StoredResponse>> {
    let IdempotencyKey { key, request_hash } = key;
    let stored: Option<StoredResponse> = tx.optional(
        sql!(StoredResponse::SELECT, " where account_id = :account and key = :key"),
        bind! { key },
    )?;
    match stored {
        Some(expired) if expired.created_at.plus(ttl) <= tx.now() => {
            tx.execute(
                "delete from idempotency where account_id = :account and key = :key",
                bind! { key },
            )?;
            Ok(None)
        }
        Some(other) if other.request_hash != *request_hash => {
            let detail = "This Idempotency-Key was already used for a different request, or with other \
                credentials. Use a new key for each request.";
            Err(Error::new(Code::IdempotencyKeyReused, detail))
        }
        stored => Ok(stored),
    }
}

/// Stores the response to a request.
pub fn save(tx: &Tx<'_>, response: &StoredResponse) -> Result<()> {
    Ok(tx.execute_deferred(StoredResponse::INSERT, &response.bind())?)
}

/// Stores the data of a response with a secret, so that a request whose response was lost gets it when it is repeated.
pub fn save_secret(tx: &Tx<'_>, seal: &SealKey, key: &str, data: &str) -> Result<()> {
    let stored = StoredSecret {
        account_id: tx.account(),
        key: key.to_owned(),
        data: seal.seal(tx.rng(), &sealed_for(tx.account(), key), data.as_bytes()),
    };
    Ok(tx.execute_deferred(StoredSecret::INSERT, &stored.bind())?)
}

/// The data of a response with a secret. `None` if the response has none, or if the key of the installation has changed.
pub fn find_secret(tx: &Tx<'_>, seal: &SealKey, key: &str) -> Result<Option<String>> {
    let stored: Option<StoredSecret> = tx.optional(
        sql!(StoredSecret::SELECT, " where account_id = :account and key = :key"),
        bind! { key },
    )?;
    let open = |stored: StoredSecret| {
        String::from_utf8(seal.open(&sealed_for(tx.account(), key), &stored.data)?).ok()
    };
    Ok(stored.and_then(open))
}

/// Binds encrypted data to its row.
fn sealed_for(account: AccountId, key: &str) -> Vec<u8> {
    format!("{account} {key}").into_bytes()
}

/// Deletes a batch of expired keys and returns their number.
pub fn delete_expired(tx: &Tx<'_>, ttl: Duration) -> Result<u64> {
    let before = tx.now().minus(ttl);
    Ok(tx.execute(
        "delete from idempotency where (account_id, key) in
             (select account_id, key from idempotency where created_at < :before
              order by created_at limit 500) /* any account */",
        bind! { before },
    )?)
}

/// The requests with a key that are in progress on this node.
#[derive(Debug, Default)]
pub struct InFlightKeys {
    keys: Mutex<HashSet<(AccountId, String)>>,
    released: Notify,
}

/// A request in progress. Dropping it lets the next one with the same key continue.
#[derive(Debug)]
pub struct KeyGuard {
    in_flight: Arc<InFlightKeys>,
    key: (AccountId, String),
}

impl InFlightKeys {
    /// Waits until no other request with this key is in progress.
    pub async fn acquire(self: Arc<Self>, account: AccountId, key: &str) -> Result<KeyGuard> {
        let key = (account, key.to_owned());
        let acquire = async {
            loop {
                let released = self.released.notified();
                tokio::pin!(released);
                // Enabled before the check, so that no release in between is missed.
                released.as_mut().enable();
                if self.keys().insert(key.clone()) {
                    return KeyGuard { in_flight: self.clone(), key: key.clone() };
                }
                released.await;
            }
        };
        tokio::time::timeout(WAIT_TIMEOUT, acquire).await.map_err(|_| {
            let detail =
                "Another request with this Idempotency-Key is still in progress. Try again later.";
            Error::new(Code::IdempotencyKeyInUse, detail).retry_after(1)
        })
    }

    fn keys(&self) -> std::sync::MutexGuard<'_, HashSet<(AccountId, String)>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        self.in_flight.keys().remove(&self.key);
        self.in_flight.released.notify_waiters();
    }
}

/// Replaces the stored responses for an object by its current state: a retracted message must not come back in
/// a replay, and a retry must not create it again. A response is about the object if it has the same beginning,
/// up to the id.
pub fn replace_stored<T: Serialize + Versioned>(tx: &Tx<'_>, id: &str, object: &T) -> Result<()> {
    let WriteResponse { data, .. } = WriteResponse::new(StatusCode::OK, None, object)?;
    let head = data.split_inclusive(id).next().unwrap_or_default().to_owned();
    let etag = object.version().to_string();
    tx.execute(
        "update idempotency set data = :data, etag = :etag
         where account_id = :account and substr(data, 1, length(cast(:head as text))) = :head",
        bind! { data, etag, head },
    )?;
    Ok(())
}

/// Rewrites the stored responses that mention an id: erased data must not come back in a replay, and a late
/// retry must not create it again.
pub fn rewrite_mentions(
    tx: &Tx<'_>,
    id: &str,
    rewrite: impl Fn(&str) -> Result<Option<String>>,
) -> Result<()> {
    let pattern = kit::text::contains_pattern(id);
    let responses: Vec<(String, String)> = tx.all(
        "select key, data from idempotency
         where account_id = :account and data like :pattern escape '\\'",
        bind! { pattern },
    )?;
    for (key, data) in responses {
        if let Some(data) = rewrite(&data)? {
            tx.execute(
                "delete from idempotency_secret where account_id = :account and key = :key",
                bind! { key: &*key },
            )?;
            tx.execute(
                "update idempotency set data = :data where account_id = :account and key = :key",
                bind! { key, data },
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_visible_ascii_and_quotes_are_stripped() {
        let read = |value: &[u8]| {
            let value = http::HeaderValue::from_bytes(value).unwrap();
            parse_key(&HeaderMap::from_iter([("idempotency-key".parse().unwrap(), value)]))
        };
        assert_eq!(read(b"abc").unwrap(), Some("abc".to_owned()));
        assert_eq!(read(b"\"abc\"").unwrap(), Some("abc".to_owned()));
        assert!(read(&[b'x'; 255]).is_ok());
        for wrong in [&b""[..], b"\"\"", b"a b", &[b'x'; 256], "ü".as_bytes(), b"a\tb"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(parse_key(&HeaderMap::new()).unwrap(), None);
    }
}
