//! A cache of responses that are valid until something in the account changes.
//!
//! Every visible change raises the account's sequence in its own transaction, and every request learns the
//! sequence when its credential is looked up. A response created at the same sequence is therefore current on
//! every node, and one created at another sequence is never used.
//!
//! Memory is bounded by two generations: when the recent one is full it becomes the older one, and the entries of the
//! previous older one that were not used since are dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use kit::Timestamp;

/// A response without the parts that differ from request to request.
#[derive(Debug, Clone)]
pub struct CachedResponse {
    /// The envelope up to the request id, which is added when it is sent.
    pub body: Bytes,
    /// The version of a single object.
    pub version: Option<i64>,
    /// The cursor of the next page, or the entity tag of a response without a version.
    pub next: Option<Arc<str>>,
}

#[derive(Debug)]
struct Entry {
    sequence: i64,
    /// When the response expires, even if nothing has changed.
    expires_at: Option<Timestamp>,
    response: CachedResponse,
}

impl Entry {
    fn is_valid(&self, sequence: i64, now: Timestamp) -> bool {
        self.sequence == sequence && self.expires_at.is_none_or(|until| now < until)
    }
}

#[derive(Debug, Default)]
struct Generations {
    recent: HashMap<String, Entry>,
    older: HashMap<String, Entry>,
    bytes: usize,
}

/// The cached responses of a node.
#[derive(Debug)]
pub struct Cache {
    generations: Mutex<Generations>,
    /// The maximum size of each generation, in bytes.
    limit: usize,
}

/// The estimated size of an entry besides its body and its key, in bytes.
const OVERHEAD: usize = 200;

impl Cache {
    /// Creates a cache of about this size in bytes.
    pub fn new(bytes: usize) -> Self {
        Self { generations: Mutex::default(), limit: bytes / 2 }
    }

    /// The response for this key, if it was created at this sequence and has not expired.
    pub fn get(&self, key: &str, sequence: i64, now: Timestamp) -> Option<CachedResponse> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = generations.recent.get(key) {
            return entry.is_valid(sequence, now).then(|| entry.response.clone());
        }
        let (key, entry) = generations.older.remove_entry(key)?;
        let response = entry.is_valid(sequence, now).then(|| entry.response.clone())?;
        generations.put(key, entry, self.limit);
        Some(response)
    }

    /// Stores a response that was created at this sequence and may expire.
    pub fn put(
        &self,
        key: String,
        (sequence, until): (i64, Option<Timestamp>),
        response: CachedResponse,
    ) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.put(key, Entry { sequence, expires_at: until, response }, self.limit);
    }
}

impl Generations {
    fn put(&mut self, key: String, entry: Entry, limit: usize) {
        let size = |key: &str, entry: &Entry| key.len() + entry.response.body.len() + OVERHEAD;
        let added = size(&key, &entry);
        if self.bytes + added > limit {
            self.older = std::mem::take(&mut self.recent);
            self.bytes = 0;
        }
        if added > limit {
            return;
        }
        self.bytes += added;
        if let Some((key, old)) = self.recent.remove_entry(&key) {
            self.bytes -= size(&key, &old);
        }
        self.recent.insert(key, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000);

    fn response(text: &'static str) -> CachedResponse {
        CachedResponse { body: Bytes::from_static(text.as_bytes()), version: None, next: None }
    }

    #[test]
    fn a_response_of_another_sequence_is_not_used() {
        let cache = Cache::new(10_000);
        cache.put("q".to_owned(), (7, None), response("seven"));
        assert_eq!(cache.get("q", 7, NOW).unwrap().body, "seven");
        assert!(cache.get("q", 8, NOW).is_none() && cache.get("q", 6, NOW).is_none());
        cache.put("q".to_owned(), (8, None), response("eight"));
        assert_eq!(cache.get("q", 8, NOW).unwrap().body, "eight");
    }

    #[test]
    fn an_expired_response_is_not_used() {
        let cache = Cache::new(10_000);
        cache.put("q".to_owned(), (7, Some(NOW)), response("late"));
        assert!(cache.get("q", 7, NOW).is_none());
        assert!(cache.get("q", 7, Timestamp::from_micros(999)).is_some());
    }

    #[test]
    fn memory_is_bounded_and_used_entries_stay() {
        let cache = Cache::new(10_000);
        cache.put("used".to_owned(), (1, None), response("often"));
        for number in 0..1000 {
            cache.put(format!("q{number}"), (1, None), response("once"));
            assert!(cache.get("used", 1, NOW).is_some(), "{number}");
        }
        let generations = cache.generations.lock().unwrap();
        assert!(generations.recent.len() + generations.older.len() < 60);
    }
}
