//! Idempotency keys: the same request twice has one effect and one answer.
//!
//! The memory of a key is written in the transaction of its effect, so there is never one without
//! the other. A request whose twin is still running waits for it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderName, Method, StatusCode};
use kit::Timestamp;
use kit::secret::sha256;
use serde::Serialize;
use store::{Tx, bind, record, sql};
use tokio::sync::Notify;

use super::reply::Written;
use crate::error::{Code, Error, Result};
use crate::expected::Versioned;
use crate::ids::AccountId;

/// The header.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// How long a request waits for its twin.
const PATIENCE: Duration = Duration::from_secs(5);

record! {
    /// A request that was carried out, and what was answered.
    #[derive(Debug)]
    pub struct Remembered in idempotency {
        pub account_id: AccountId,
        pub key: String,
        pub request_hash: [u8; 32],
        pub status: i64,
        pub etag: Option<String>,
        pub data: String,
        pub created_at: Timestamp,
    }
}

/// A key with what it stands for.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    pub key: String,
    pub request_hash: [u8; 32],
}

/// The key of a request: 1 to 255 visible ASCII characters, quoted or not.
pub fn key(headers: &HeaderMap) -> Result<Option<String>> {
    let mut lines = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let refused = || {
        let detail = "An Idempotency-Key is one header of 1 to 255 visible ASCII characters.";
        Error::new(Code::InvalidRequest, detail)
    };
    if lines.next().is_some() {
        return Err(refused());
    }
    let text = line.to_str().map_err(|_| refused())?;
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let key = quoted.unwrap_or(text);
    let visible = key.bytes().all(|byte| byte.is_ascii_graphic());
    if visible && (1..=255).contains(&key.len()) {
        Ok(Some(key.to_owned()))
    } else {
        Err(refused())
    }
}

/// What identifies a request: its method, its path, what its body says, and what the caller may see
/// that not everybody may: an answer is never given to somebody with other rights.
pub fn request_hash(method: &Method, path: &str, body: &[u8], rights: &str) -> [u8; 32] {
    let mut text = format!("{method} {path}\n{rights}").into_bytes();
    text.extend_from_slice(body);
    sha256(&text)
}

/// What was answered to this request before, if it was carried out and is still remembered.
pub fn recall(tx: &Tx<'_>, key: &IdempotencyKey, kept: Duration) -> Result<Option<Remembered>> {
    let IdempotencyKey { key, request_hash } = key;
    let found: Option<Remembered> = tx.maybe(
        sql!(Remembered::SELECT, " where account_id = :account and key = :key"),
        bind! { key },
    )?;
    match found {
        Some(old) if old.created_at.plus(kept) <= tx.now() => {
            tx.run(
                "delete from idempotency where account_id = :account and key = :key",
                bind! { key },
            )?;
            Ok(None)
        }
        Some(other) if other.request_hash != *request_hash => {
            let detail = "This Idempotency-Key was used for another method, path or body, or by a \
                key with other rights.";
            Err(Error::new(Code::IdempotencyKeyReused, detail))
        }
        found => Ok(found),
    }
}

/// Remembers what is answered to a request.
pub fn remember(tx: &Tx<'_>, remembered: &Remembered) -> Result<()> {
    Ok(tx.later(Remembered::INSERT, &remembered.bind())?)
}

/// Forgets keys that are too old, a few at a time, and says how many.
pub fn forget(tx: &Tx<'_>, kept: Duration) -> Result<u64> {
    let before = tx.now().minus(kept);
    Ok(tx.run(
        "delete from idempotency where (account_id, key) in
             (select account_id, key from idempotency where created_at < :before
              order by created_at limit 500) /* any account */",
        bind! { before },
    )?)
}

/// The requests with a key that are running on this node.
#[derive(Debug, Default)]
pub struct Running {
    keys: Mutex<HashSet<(AccountId, String)>>,
    left: Notify,
}

/// A running request; dropping it lets its twin go on.
#[derive(Debug)]
pub struct Turn {
    running: Arc<Running>,
    key: (AccountId, String),
}

impl Running {
    /// Waits until no other request with this key is running.
    pub async fn enter(self: Arc<Self>, account: AccountId, key: &str) -> Result<Turn> {
        let key = (account, key.to_owned());
        let turn = async {
            loop {
                let left = self.left.notified();
                tokio::pin!(left);
                // Registered before the look, so that a leaving twin cannot slip in between.
                left.as_mut().enable();
                if self.keys().insert(key.clone()) {
                    return Turn { running: self.clone(), key: key.clone() };
                }
                left.await;
            }
        };
        tokio::time::timeout(PATIENCE, turn).await.map_err(|_| {
            let detail = "A request with this Idempotency-Key is still running.";
            Error::new(Code::IdempotencyKeyInUse, detail).retry_after(1)
        })
    }

    fn keys(&self) -> std::sync::MutexGuard<'_, HashSet<(AccountId, String)>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.running.keys().remove(&self.key);
        self.running.left.notify_waiters();
    }
}

/// Makes replays answer with an object as it is now: what was retracted must not come back, and must not
/// be made a second time either. An answer is about the object if it begins like it, up to its id.
pub fn amend<T: Serialize + Versioned>(tx: &Tx<'_>, id: &str, object: &T) -> Result<()> {
    let Written { data, .. } = Written::new(StatusCode::OK, None, object)?;
    let head = data.split_inclusive(id).next().unwrap_or_default().to_owned();
    let etag = object.version().to_string();
    tx.run(
        "update idempotency set data = :data, etag = :etag
         where account_id = :account and substr(data, 1, length(cast(:head as text))) = :head",
        bind! { data, etag, head },
    )?;
    Ok(())
}

/// Rewrites remembered answers that speak of something: what was erased must not come back as a replay,
/// and a late retry must not make it anew.
pub fn rewrite_mentions(
    tx: &Tx<'_>,
    id: &str,
    rewrite: impl Fn(&str) -> Result<Option<String>>,
) -> Result<()> {
    let pattern = kit::text::contains_pattern(id);
    let told: Vec<(String, String)> = tx.all(
        "select key, data from idempotency
         where account_id = :account and data like :pattern escape '\\'",
        bind! { pattern },
    )?;
    for (key, data) in told {
        if let Some(data) = rewrite(&data)? {
            tx.run(
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
    fn keys_are_visible_ascii_and_quotes_do_not_count() {
        let read = |value: &[u8]| {
            let value = http::HeaderValue::from_bytes(value).unwrap();
            key(&HeaderMap::from_iter([("idempotency-key".parse().unwrap(), value)]))
        };
        assert_eq!(read(b"abc").unwrap(), Some("abc".to_owned()));
        assert_eq!(read(b"\"abc\"").unwrap(), Some("abc".to_owned()));
        assert!(read(&[b'x'; 255]).is_ok());
        for wrong in [&b""[..], b"\"\"", b"a b", &[b'x'; 256], "ü".as_bytes(), b"a\tb"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(key(&HeaderMap::new()).unwrap(), None);
    }
}
