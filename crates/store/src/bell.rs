//! The bell: rings when a change with news is durable, so that nobody has to keep asking.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kit::Id;
use tokio::sync::{Notify, oneshot, watch};

/// Tells one listener which accounts have news, and any number of others that theirs has. What rings while the
/// first does not listen is kept.
#[derive(Debug, Default)]
pub struct Bell {
    rung: Rung,
    rooms: Arc<Rooms>,
    /// What other nodes are to be told, if somebody tells them.
    away: Rung,
    /// Dropped when nobody is to tell them any more.
    herald: Mutex<Option<oneshot::Sender<()>>>,
}

/// The accounts that were rung for since somebody asked.
#[derive(Debug, Default)]
struct Rung {
    accounts: Mutex<HashSet<u128>>,
    more: Notify,
}

impl Rung {
    fn accounts(&self) -> MutexGuard<'_, HashSet<u128>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, account: u128) {
        self.accounts().insert(account);
        self.more.notify_one();
    }

    /// Waits until there are some, and takes them.
    async fn some(&self) -> HashSet<u128> {
        loop {
            let accounts = std::mem::take(&mut *self.accounts());
            if !accounts.is_empty() {
                return accounts;
            }
            self.more.notified().await;
        }
    }
}

/// The accounts that somebody listens to.
#[derive(Debug, Default)]
struct Rooms(Mutex<HashMap<u128, Room>>);

/// Those who listen to one account.
#[derive(Debug)]
struct Room {
    bell: watch::Sender<()>,
    listeners: usize,
}

impl Rooms {
    fn open(&self) -> MutexGuard<'_, HashMap<u128, Room>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bell {
    /// Somebody here has changed something.
    pub(crate) fn ring(&self, account: u128) {
        self.echo(account);
        if self.herald().is_some() {
            self.away.add(account);
        }
    }

    /// Somebody tells other nodes from now on, until this ends.
    pub(crate) fn herald_it(&self) -> oneshot::Receiver<()> {
        let (herald, down) = oneshot::channel();
        *self.herald() = Some(herald);
        down
    }

    /// Waits until other nodes are to be told of accounts, and says of which.
    pub(crate) async fn heard_here(&self) -> HashSet<u128> {
        self.away.some().await
    }

    /// Other nodes are told nothing more.
    pub(crate) fn take_down(&self) {
        *self.herald() = None;
    }

    fn herald(&self) -> MutexGuard<'_, Option<oneshot::Sender<()>>> {
        self.herald.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings here alone.
    pub(crate) fn echo(&self, account: u128) {
        self.rung.add(account);
        if let Some(room) = self.rooms.open().get(&account) {
            room.bell.send_replace(());
        }
    }

    /// Waits until accounts have news, and says which. One listener at a time.
    pub async fn heard<K>(&self) -> Vec<Id<K>> {
        self.rung.some().await.into_iter().map(Id::from_bits).collect()
    }

    /// Listens to one account from now on, beside whoever else does.
    pub fn listen<K>(&self, account: Id<K>) -> Listener {
        let account = account.bits();
        let mut rooms = self.rooms.open();
        let empty = || Room { bell: watch::channel(()).0, listeners: 0 };
        let room = rooms.entry(account).or_insert_with(empty);
        room.listeners += 1;
        let heard = room.bell.subscribe();
        drop(rooms);
        Listener { rooms: self.rooms.clone(), account, heard }
    }

    /// How many accounts are listened to.
    pub fn listened(&self) -> usize {
        self.rooms.open().len()
    }
}

/// Somebody who listens to one account.
#[derive(Debug)]
pub struct Listener {
    rooms: Arc<Rooms>,
    account: u128,
    heard: watch::Receiver<()>,
}

impl Listener {
    /// Waits until the account has had news since the last time this was awaited.
    pub async fn news(&mut self) {
        // The other end lives as long as somebody listens.
        let _ = self.heard.changed().await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut rooms = self.rooms.open();
        let Some(room) = rooms.get_mut(&self.account) else { return };
        room.listeners -= 1;
        // Whoever goes last closes the door.
        if room.listeners == 0 {
            rooms.remove(&self.account);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Club;

    async fn hears(listener: &mut Listener) -> bool {
        tokio::time::timeout(Duration::from_millis(20), listener.news()).await.is_ok()
    }

    #[tokio::test]
    async fn everybody_hears_their_own_account_and_nothing_is_left_of_them() {
        let bell = Bell::default();
        let (one, other) = (Id::<Club>::from_bits(1), Id::<Club>::from_bits(2));
        let (mut first, mut second) = (bell.listen(one), bell.listen(one));
        let mut third = bell.listen(other);
        bell.ring(1);
        bell.ring(1);
        assert!(hears(&mut first).await && hears(&mut second).await);
        assert!(!hears(&mut first).await && !hears(&mut third).await);
        assert_eq!(bell.heard::<Club>().await.len(), 1);
        drop(first);
        bell.ring(1);
        assert!(hears(&mut second).await);
        assert_eq!(bell.listened(), 2);
        drop((second, third));
        assert_eq!(bell.listened(), 0);
        bell.ring(1);
    }
}
