//! Counts what is open at present, by key, such as the event streams of each account.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// How many things are open, by key.
#[derive(Debug)]
pub struct OpenCounts<K>(Mutex<HashMap<K, usize>>);

impl<K> Default for OpenCounts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Something that is open. Dropping it makes room for another.
#[derive(Debug)]
pub struct OpenGuard<K: Copy + Eq + Hash> {
    counts: Arc<OpenCounts<K>>,
    key: K,
}

impl<K: Copy + Eq + Hash> OpenCounts<K> {
    /// Counts one more, unless `check` fails for what is open with this key and in total.
    pub fn open<E>(
        self: &Arc<Self>,
        key: K,
        check: impl FnOnce(usize, usize) -> Result<(), E>,
    ) -> Result<OpenGuard<K>, E> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        check(open.get(&key).copied().unwrap_or(0), open.values().sum())?;
        *open.entry(key).or_default() += 1;
        drop(open);
        Ok(OpenGuard { counts: self.clone(), key })
    }

    /// How many are open in total.
    pub fn total(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl<K: Copy + Eq + Hash> Drop for OpenGuard<K> {
    fn drop(&mut self) {
        let mut open = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.key);
            }
        }
    }
}
