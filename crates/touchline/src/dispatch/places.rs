//! Places: how many attempts are under way at once, in all and of one account.
//!
//! A receiver that takes its time holds its place as long. So that it keeps nobody waiting but others like it,
//! whoever takes more than a moment moves over to places of their own, and begins there until it is quick again.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::ids::{AccountId, WebhookId};

/// Who takes longer is slow.
const MOMENT: Duration = Duration::from_secs(1);
/// One account may have this part of all places.
const ACCOUNTS: usize = 4;
/// How many accounts, or a hundredth of the webhooks, are remembered before it is looked which may be forgotten.
const REMEMBERED: usize = 1_000;

/// The places of a node.
pub(super) struct Places {
    moment: Duration,
    quick: Lane,
    slow: Lane,
    /// The seats of webhooks that were sent something.
    seats: Mutex<HashMap<WebhookId, Arc<Seat>>>,
}

impl Places {
    pub(super) fn new(many: usize) -> Self {
        let lane = || Lane::new(many);
        Self { moment: MOMENT, quick: lane(), slow: lane(), seats: Mutex::default() }
    }

    /// The seat of a webhook.
    pub(super) fn seat(&self, account: AccountId, webhook: WebhookId) -> Arc<Seat> {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        if seats.len() > REMEMBERED * 100 {
            // Webhooks that were deleted, mostly. The others are found out again with their next attempt.
            seats.clear();
        }
        let seat = || Seat {
            moment: self.moment,
            quick: self.quick.share(account),
            slow: self.slow.share(account),
            speed: AtomicU8::new(Speed::Unknown as u8),
        };
        seats.entry(webhook).or_insert_with(|| Arc::new(seat())).clone()
    }
}

/// How long a receiver took last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Speed {
    Unknown,
    Quick,
    Slow,
}

/// Where the attempts of one webhook find their places.
pub(super) struct Seat {
    moment: Duration,
    quick: Share,
    slow: Share,
    /// A [`Speed`].
    speed: AtomicU8,
}

impl Seat {
    /// Makes an attempt once there is a place for it.
    pub(super) async fn within<T>(&self, attempt: impl Future<Output = T>) -> T {
        let (known_slow, place) = self.place().await;
        let mut place = Some(place);
        let mut attempt = pin!(attempt);
        if let Ok(done) = timeout(self.moment, &mut attempt).await {
            self.learn(Speed::Quick);
            return done;
        }
        self.learn(Speed::Slow);
        if !known_slow {
            // It goes on even where there is no room for it: it has begun, and no further one will.
            place = self.slow.take_now();
        }
        let done = attempt.await;
        drop(place);
        done
    }

    /// Waits for a place where the webhook belongs. Others of its attempts may show meanwhile that it belongs
    /// elsewhere.
    async fn place(&self) -> (bool, Place) {
        loop {
            let slow = self.is(Speed::Slow);
            let place = if slow { &self.slow } else { &self.quick }.take().await;
            if self.is(Speed::Slow) == slow {
                return (slow, place);
            }
        }
    }

    /// Whether it is known how long the receiver takes.
    pub(super) fn is_known(&self) -> bool {
        !self.is(Speed::Unknown)
    }

    fn is(&self, speed: Speed) -> bool {
        self.speed.load(Ordering::Relaxed) == speed as u8
    }

    fn learn(&self, speed: Speed) {
        self.speed.store(speed as u8, Ordering::Relaxed);
    }
}

/// Places, and how many of them one account may have.
struct Lane {
    all: Arc<Semaphore>,
    each: usize,
    of_account: Mutex<HashMap<AccountId, Arc<Semaphore>>>,
}

impl Lane {
    fn new(many: usize) -> Self {
        let each = (many / ACCOUNTS).max(1);
        Self { all: Arc::new(Semaphore::new(many)), each, of_account: Mutex::default() }
    }

    fn share(&self, account: AccountId) -> Share {
        let mut of_account = self.of_account.lock().unwrap_or_else(PoisonError::into_inner);
        if of_account.len() > REMEMBERED {
            of_account.retain(|_, own| Arc::strong_count(own) > 1);
        }
        let own = of_account.entry(account).or_insert_with(|| Arc::new(Semaphore::new(self.each)));
        Share { own: own.clone(), all: self.all.clone() }
    }
}

/// The places of a lane that one account may have.
struct Share {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// A place; free again when it is dropped.
type Place = (OwnedSemaphorePermit, OwnedSemaphorePermit);

impl Share {
    /// Waits for a place: its account's first, so that whoever has many to send waits for themselves, not
    /// others for them.
    async fn take(&self) -> Place {
        const OPEN: &str = "places are never closed";
        let own = self.own.clone().acquire_owned().await.expect(OPEN);
        (own, self.all.clone().acquire_owned().await.expect(OPEN))
    }

    /// A place, if one is free.
    fn take_now(&self) -> Option<Place> {
        let own = self.own.clone().try_acquire_owned().ok()?;
        Some((own, self.all.clone().try_acquire_owned().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;
    use tokio::time::{Instant, sleep};

    use super::*;

    const MOMENT: Duration = Duration::from_millis(300);

    /// Eight places, two for an account.
    fn places() -> Arc<Places> {
        Arc::new(Places { moment: MOMENT, ..Places::new(8) })
    }

    fn account(number: u128) -> AccountId {
        AccountId::from_bits(number)
    }

    /// So many attempts of an account, each for a webhook of its own, that never end.
    fn hanging(places: &Arc<Places>, of: AccountId, many: u128) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for number in 0..many {
            let webhook = WebhookId::from_bits(of.bits() << 32 | number);
            let seat = places.seat(of, webhook);
            tasks.spawn(async move { seat.within(std::future::pending()).await });
        }
        tasks
    }

    async fn waits(places: &Places, of: AccountId) -> bool {
        let began = Instant::now();
        places.seat(of, WebhookId::from_bits(of.bits())).within(async {}).await;
        began.elapsed() > MOMENT / 2
    }

    #[tokio::test]
    async fn who_is_slow_keeps_nobody_waiting_for_more_than_a_moment() {
        let places = places();
        let (slow, other) = (account(1), account(2));
        let _hanging = hanging(&places, slow, 2);
        tokio::task::yield_now().await;
        // Its own places are all taken until it shows that those are slow; others' are not.
        assert!(!waits(&places, other).await);
        assert!(waits(&places, slow).await);
        assert!(!waits(&places, slow).await);
    }

    #[tokio::test]
    async fn accounts_full_of_slow_receivers_leave_room_for_everybody_else() {
        let places = places();
        let _all: Vec<_> = (1..=8).map(|number| hanging(&places, account(number), 4)).collect();
        // Each turn fills the quick places with others that are not yet known to be slow: four turns.
        sleep(MOMENT * 8).await;
        assert!(!waits(&places, account(99)).await);
        assert!(!waits(&places, account(1)).await);
    }

    #[tokio::test]
    async fn who_is_known_to_be_slow_waits_for_others_that_are() {
        let places = places();
        let seat = places.seat(account(1), WebhookId::from_bits(7));
        seat.within(sleep(MOMENT * 2)).await;
        let hanging = hanging(&places, account(1), 2);
        sleep(MOMENT * 2).await;
        let mut next = Box::pin(seat.within(async {}));
        assert!(timeout(MOMENT * 3, &mut next).await.is_err());
        drop(hanging);
        next.await;
        // It was quick this time.
        assert!(seat.is(Speed::Quick));
    }
}
