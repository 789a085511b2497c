//! Wakes tasks when an account has new notifications, so they don't have to poll.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kit::Id;
use tokio::sync::{Notify, oneshot, watch};

/// Reports which accounts have new notifications, after the transaction is durable.
///
/// One task (the webhook dispatcher) waits for changes of any account; changes that happen while it isn't waiting are
/// queued. Any number of [`Listener`]s each wait for changes of one account.
#[derive(Debug, Default)]
pub struct ChangeNotifier {
    local: PendingAccounts,
    channels: Arc<Channels>,
    /// Changed accounts that other nodes have not been notified of yet. Only filled while `shutdown` is set.
    remote: PendingAccounts,
    /// Set while a thread notifies other nodes. Dropping the sender stops that thread.
    shutdown: Mutex<Option<oneshot::Sender<()>>>,
}

/// A set of changed accounts that one task waits for. Being a set, it is bounded by the number of accounts.
#[derive(Debug, Default)]
struct PendingAccounts {
    accounts: Mutex<HashSet<u128>>,
    notify: Notify,
}

impl PendingAccounts {
    fn accounts(&self) -> MutexGuard<'_, HashSet<u128>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, account: u128) {
        self.accounts().insert(account);
        self.notify.notify_one();
    }

    /// Waits until the set is not empty, then empties it and returns its content.
    async fn take_all(&self) -> HashSet<u128> {
        loop {
            let accounts = std::mem::take(&mut *self.accounts());
            if !accounts.is_empty() {
                return accounts;
            }
            self.notify.notified().await;
        }
    }
}

/// The channels of all accounts that have at least one [`Listener`].
#[derive(Debug, Default)]
struct Channels(Mutex<HashMap<u128, Channel>>);

/// The channel that wakes the listeners of one account.
#[derive(Debug)]
struct Channel {
    sender: watch::Sender<()>,
    listeners: usize,
}

impl Channels {
    fn lock(&self) -> MutexGuard<'_, HashMap<u128, Channel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChangeNotifier {
    /// Reports a change that was committed on this node, here and to other nodes.
    pub(crate) fn notify(&self, account: u128) {
        self.notify_local(account);
        if self.lock_shutdown().is_some() {
            self.remote.add(account);
        }
    }

    /// Starts collecting changes for other nodes. The receiver resolves when [`Self::disable_remote`] is called.
    pub(crate) fn enable_remote(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        *self.lock_shutdown() = Some(sender);
        receiver
    }

    /// Waits until other nodes must be notified of changes, and returns the accounts.
    pub(crate) async fn wait_for_outgoing(&self) -> HashSet<u128> {
        self.remote.take_all().await
    }

    /// Stops notifying other nodes.
    pub(crate) fn disable_remote(&self) {
        *self.lock_shutdown() = None;
    }

    fn lock_shutdown(&self) -> MutexGuard<'_, Option<oneshot::Sender<()>>> {
        self.shutdown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a change on this node only.
    pub(crate) fn notify_local(&self, account: u128) {
        self.local.add(account);
        if let Some(channel) = self.channels.lock().get(&account) {
            channel.sender.send_replace(());
        }
    }

    /// Waits until accounts have changed, and returns them. Only one task may wait at a time.
    pub async fn wait_for_changes<K>(&self) -> Vec<Id<K>> {
        self.local.take_all().await.into_iter().map(Id::from_bits).collect()
    }

    /// Listens to changes of one account from now on.
    pub fn listen<K>(&self, account: Id<K>) -> Listener {
        let account = account.bits();
        let mut channels = self.channels.lock();
        let new_channel = || Channel { sender: watch::channel(()).0, listeners: 0 };
        let channel = channels.entry(account).or_insert_with(new_channel);
        channel.listeners += 1;
        let receiver = channel.sender.subscribe();
        drop(channels);
        Listener { channels: self.channels.clone(), account, receiver }
    }

    /// The number of accounts that have a listener.
    pub fn listened_account_count(&self) -> usize {
        self.channels.lock().len()
    }
}

/// Waits for changes of one account. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Listener {
    channels: Arc<Channels>,
    account: u128,
    receiver: watch::Receiver<()>,
}

impl Listener {
    /// Waits until the account has changed since the last call returned.
    pub async fn wait_for_change(&mut self) {
        // Cannot fail: the sender lives as long as the account has a listener.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut channels = self.channels.lock();
        let Some(channel) = channels.get_mut(&self.account) else { return };
        channel.listeners -= 1;
        // The last listener removes the channel.
        if channel.listeners == 0 {
            channels.remove(&self.account);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Club;

    async fn is_woken(listener: &mut Listener) -> bool {
        tokio::time::timeout(Duration::from_millis(20), listener.wait_for_change()).await.is_ok()
    }

    #[tokio::test]
    async fn a_listener_is_woken_by_its_own_account_only_and_is_removed_when_dropped() {
        let notifier = ChangeNotifier::default();
        let (one, other) = (Id::<Club>::from_bits(1), Id::<Club>::from_bits(2));
        let (mut first, mut second) = (notifier.listen(one), notifier.listen(one));
        let mut third = notifier.listen(other);
        notifier.notify(1);
        notifier.notify(1);
        assert!(is_woken(&mut first).await && is_woken(&mut second).await);
        assert!(!is_woken(&mut first).await && !is_woken(&mut third).await);
        assert_eq!(notifier.wait_for_changes::<Club>().await.len(), 1);
        drop(first);
        notifier.notify(1);
        assert!(is_woken(&mut second).await);
        assert_eq!(notifier.listened_account_count(), 2);
        drop((second, third));
        assert_eq!(notifier.listened_account_count(), 0);
        notifier.notify(1);
    }
}
