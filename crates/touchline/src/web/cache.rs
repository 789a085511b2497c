//! Answers that are still true: a read is not done twice while nothing in the account has changed.
//!
//! Every visible change raises the account's sequence in its own transaction, and every request learns
//! the sequence when its credential is looked up. So an answer made at the same sequence is the answer
//! now, on every node, and one made at another sequence is never used. The memory is bounded: when it
//! is full, answers that were not asked for since the last time it was full are forgotten.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use kit::Timestamp;

/// An answer, without what differs from request to request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The envelope up to the request id.
    pub body: Bytes,
    /// The version of a single object.
    pub version: Option<i64>,
    /// The cursor of the next page, or the entity tag of something that has no version.
    pub next: Option<Arc<str>>,
}

#[derive(Debug)]
struct Entry {
    sequence: i64,
    /// When it is true no more, though nothing has changed.
    until: Option<Timestamp>,
    answer: Answer,
}

impl Entry {
    fn is_true(&self, sequence: i64, now: Timestamp) -> bool {
        self.sequence == sequence && self.until.is_none_or(|until| now < until)
    }
}

#[derive(Debug, Default)]
struct Shelves {
    recent: HashMap<String, Entry>,
    older: HashMap<String, Entry>,
    bytes: usize,
}

/// The answers of a node.
#[derive(Debug)]
pub struct Cache {
    shelves: Mutex<Shelves>,
    /// How many bytes each of the two shelves may hold.
    limit: usize,
}

/// What an entry costs beside its body and its key.
const OVERHEAD: usize = 200;

impl Cache {
    /// A cache of about so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { shelves: Mutex::default(), limit: bytes / 2 }
    }

    /// The answer to this question, if it was made at this sequence and its time is not up.
    pub fn get(&self, question: &str, sequence: i64, now: Timestamp) -> Option<Answer> {
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = shelves.recent.get(question) {
            return entry.is_true(sequence, now).then(|| entry.answer.clone());
        }
        let (question, entry) = shelves.older.remove_entry(question)?;
        let answer = entry.is_true(sequence, now).then(|| entry.answer.clone())?;
        shelves.put(question, entry, self.limit);
        Some(answer)
    }

    /// Keeps an answer that was made at a sequence, and may be true only until then.
    pub fn put(
        &self,
        question: String,
        (sequence, until): (i64, Option<Timestamp>),
        answer: Answer,
    ) {
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        shelves.put(question, Entry { sequence, until, answer }, self.limit);
    }
}

impl Shelves {
    fn put(&mut self, question: String, entry: Entry, limit: usize) {
        let size =
            |question: &str, entry: &Entry| question.len() + entry.answer.body.len() + OVERHEAD;
        let added = size(&question, &entry);
        if self.bytes + added > limit {
            self.older = std::mem::take(&mut self.recent);
            self.bytes = 0;
        }
        if added > limit {
            return;
        }
        self.bytes += added;
        if let Some((question, old)) = self.recent.remove_entry(&question) {
            self.bytes -= size(&question, &old);
        }
        self.recent.insert(question, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000);

    fn answer(text: &'static str) -> Answer {
        Answer { body: Bytes::from_static(text.as_bytes()), version: None, next: None }
    }

    #[test]
    fn an_answer_of_another_sequence_is_not_used() {
        let cache = Cache::new(10_000);
        cache.put("q".to_owned(), (7, None), answer("seven"));
        assert_eq!(cache.get("q", 7, NOW).unwrap().body, "seven");
        assert!(cache.get("q", 8, NOW).is_none() && cache.get("q", 6, NOW).is_none());
        cache.put("q".to_owned(), (8, None), answer("eight"));
        assert_eq!(cache.get("q", 8, NOW).unwrap().body, "eight");
    }

    #[test]
    fn an_answer_whose_time_is_up_is_not_used() {
        let cache = Cache::new(10_000);
        cache.put("q".to_owned(), (7, Some(NOW)), answer("late"));
        assert!(cache.get("q", 7, NOW).is_none());
        assert!(cache.get("q", 7, Timestamp::from_micros(999)).is_some());
    }

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let cache = Cache::new(10_000);
        cache.put("asked".to_owned(), (1, None), answer("often"));
        for number in 0..1000 {
            cache.put(format!("q{number}"), (1, None), answer("once"));
            assert!(cache.get("asked", 1, NOW).is_some(), "{number}");
        }
        let shelves = cache.shelves.lock().unwrap();
        assert!(shelves.recent.len() + shelves.older.len() < 60);
    }
}
