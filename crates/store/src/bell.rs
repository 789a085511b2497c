//! The bell: rings when a change with news is durable, so that nobody has to keep asking.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use kit::Id;
use tokio::sync::Notify;

/// Tells one listener which accounts have news. What rings while nobody listens is kept.
#[derive(Debug, Default)]
pub struct Bell {
    accounts: Mutex<HashSet<u128>>,
    rung: Notify,
}

impl Bell {
    pub(crate) fn ring(&self, account: u128) {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.insert(account);
        drop(accounts);
        self.rung.notify_one();
    }

    /// Waits until accounts have news, and says which. One listener at a time.
    pub async fn heard<K>(&self) -> Vec<Id<K>> {
        loop {
            let accounts = {
                let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *accounts)
            };
            if !accounts.is_empty() {
                return accounts.into_iter().map(Id::from_bits).collect();
            }
            self.rung.notified().await;
        }
    }
}
