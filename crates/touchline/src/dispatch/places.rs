//! Places: how many attempts are under way at once, in all and of one account.
//!
//! A receiver that takes its time holds its place as long. So that it keeps nobody waiting but others like it,
//! whoever takes more than a moment moves over to places of their own, and begins there until it is quick again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::bounded;
use crate::ids::{AccountId, WebhookId};

/// Who takes longer is slow.
pub(super) const MOMENT: Duration = Duration::from_secs(1);
/// After this part of a moment an attempt takes long: others are not to wait for it.
const NOTICED: u32 = 4;
/// So long somebody quick keeps their place for what comes next, unless other accounts wait: where many webhooks of an
/// account are told a great deal, it costs less to tell one after the other than each a little.
const TURN: Duration = Duration::from_millis(100);
/// One account may have this part of all places.
const ACCOUNTS: usize = 4;
/// How many accounts are remembered before those without a seat are forgotten.
const REMEMBERED: usize = 1_000;
/// The most webhooks whose seats are remembered.
const SEATS: usize = 100_000;

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
        if !seats.contains_key(&webhook) {
            // Seats that somebody holds stay, or their attempts and new ones would not know of each other.
            bounded::make_room(&mut seats, SEATS, |seat| Arc::strong_count(seat) > 1);
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

/// A place that a webhook has.
pub(super) struct Taken {
    place: Place,
    since: Instant,
    /// Whether it is one of those for the slow.
    slow: bool,
}

impl Seat {
    /// Makes an attempt at a place, and says so once it takes long. Gives the place back if it can be kept for the next.
    pub(super) async fn attempt<T>(
        &self,
        taken: Taken,
        mut attempt: impl Future<Output = T> + Unpin,
        takes_long: impl FnOnce(),
    ) -> (T, Option<Taken>) {
        let noticed = self.moment / NOTICED;
        if let Ok(done) = timeout(noticed, &mut attempt).await {
            self.learn(Speed::Quick);
            let keeps = !taken.slow && taken.since.elapsed() < TURN && self.quick.is_there_more();
            return (done, keeps.then_some(taken));
        }
        let mut place = Some(taken.place);
        takes_long();
        if let Ok(done) = timeout(self.moment.saturating_sub(noticed), &mut attempt).await {
            self.learn(Speed::Quick);
            return (done, None);
        }
        self.learn(Speed::Slow);
        if !taken.slow {
            // It goes on even where there is no room for it: it has begun, and no further one will.
            place = self.slow.take_now();
        }
        let done = attempt.await;
        drop(place);
        (done, None)
    }

    /// Waits for a place where the webhook belongs. Others of its attempts may show meanwhile that it belongs
    /// elsewhere.
    pub(super) async fn place(&self) -> Taken {
        loop {
            let slow = self.is(Speed::Slow);
            let place = self.share(slow).take().await;
            if self.is(Speed::Slow) == slow {
                return Taken { place, since: Instant::now(), slow };
            }
        }
    }

    /// A place where the webhook belongs, if one is free.
    pub(super) fn place_now(&self) -> Option<Taken> {
        let slow = self.is(Speed::Slow);
        let place = self.share(slow).take_now()?;
        Some(Taken { place, since: Instant::now(), slow })
    }

    fn share(&self, slow: bool) -> &Share {
        if slow { &self.slow } else { &self.quick }
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

    /// Whether accounts need not wait for each other.
    fn is_there_more(&self) -> bool {
        self.all.available_permits() > 0
    }

    /// A place, if one is free.
    fn take_now(&self) -> Option<Place> {
        let own = self.own.clone().try_acquire_owned().ok()?;
        Some((own, self.all.clone().try_acquire_owned().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::pin::pin;

    use futures_util::FutureExt;
    use tokio::task::JoinSet;
    use tokio::time::sleep;

    use super::*;

    /// Longer than any story.
    const NEVER: Duration = Duration::from_secs(3_600);
    /// Soon over.
    const MOMENT: Duration = Duration::from_millis(20);
    /// What must come has come by then, however busy the machine is.
    const PATIENCE: Duration = Duration::from_secs(30);

    impl Seat {
        /// Makes an attempt once there is a place for it.
        async fn within<T>(&self, attempt: impl Future<Output = T> + Unpin) -> T {
            self.attempt(self.place().await, attempt, || ()).await.0
        }
    }

    /// Eight places, two for an account; whoever takes longer than that is slow.
    fn places(moment: Duration) -> Arc<Places> {
        Arc::new(Places { moment, ..Places::new(8) })
    }

    fn account(number: u128) -> AccountId {
        AccountId::from_bits(number)
    }

    /// So many attempts of an account, each for a webhook of its own, that never end.
    fn hanging(places: &Arc<Places>, of: AccountId, many: u128) -> (JoinSet<()>, Vec<Arc<Seat>>) {
        let (mut tasks, mut seats) = (JoinSet::new(), Vec::new());
        for number in 0..many {
            let webhook = WebhookId::from_bits(of.bits() << 32 | number);
            let seat = places.seat(of, webhook);
            seats.push(seat.clone());
            tasks.spawn(async move { seat.within(std::future::pending()).await });
        }
        (tasks, seats)
    }

    /// Waits until something is so.
    async fn until(what: impl Fn() -> bool) {
        let so = async {
            while !what() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, so).await.expect("it comes to pass");
    }

    /// Waits until all of these are known to be slow.
    async fn until_slow(seats: &[Arc<Seat>]) {
        until(|| seats.iter().all(|seat| seat.is(Speed::Slow))).await;
    }

    /// An attempt of another webhook of an account, which takes no time once it has begun.
    async fn another(places: &Places, of: AccountId) {
        places.seat(of, WebhookId::from_bits(of.bits())).within(ready(())).await;
    }

    /// Whether there is no place yet for another webhook of an account.
    fn waits(places: &Places, of: AccountId) -> bool {
        another(places, of).now_or_never().is_none()
    }

    #[tokio::test]
    async fn who_hangs_keeps_nobody_of_another_account_waiting() {
        let places = places(NEVER);
        let _hanging = hanging(&places, account(1), 2);
        until(|| places.quick.all.available_permits() == 6).await;
        // Its own places are all taken until it shows that those are slow; others' are not.
        assert!(!waits(&places, account(2)));
        assert!(waits(&places, account(1)));
    }

    #[tokio::test]
    async fn who_is_slow_keeps_nobody_waiting_for_more_than_a_moment() {
        let places = places(MOMENT);
        let _hanging = hanging(&places, account(1), 2);
        timeout(PATIENCE, another(&places, account(1))).await.expect("those that hang move over");
        assert!(!waits(&places, account(1)));
    }

    #[tokio::test]
    async fn accounts_full_of_slow_receivers_leave_room_for_everybody_else() {
        let places = places(MOMENT);
        let all: Vec<_> = (1..=8).map(|number| hanging(&places, account(number), 4)).collect();
        // Each turn fills the quick places with others that are not yet known to be slow: four turns.
        for (_, seats) in &all {
            until_slow(seats).await;
        }
        assert!(!waits(&places, account(99)));
        assert!(!waits(&places, account(1)));
    }

    #[test]
    fn a_flood_of_webhooks_forgets_no_seat_that_somebody_holds() {
        let places = places(NEVER);
        let held = places.seat(account(1), WebhookId::from_bits(1));
        held.learn(Speed::Slow);
        for number in 2..150_000 {
            places.seat(account(1), WebhookId::from_bits(number));
        }
        assert!(places.seats.lock().unwrap().len() <= SEATS);
        assert!(Arc::ptr_eq(&held, &places.seat(account(1), WebhookId::from_bits(1))));
    }

    #[tokio::test]
    async fn who_is_quick_keeps_their_place_for_a_turn() {
        let places = places(NEVER);
        let seat = places.seat(account(1), WebhookId::from_bits(7));
        let (mut taken, began) = (seat.place().await, Instant::now());
        let mut kept = 0;
        while let ((), Some(again)) = seat.attempt(taken, ready(()), || ()).await {
            taken = again;
            kept += 1;
            assert!(began.elapsed() < PATIENCE, "a turn has an end");
        }
        assert!(kept > 0 && began.elapsed() >= TURN);
        assert_eq!(places.quick.all.available_permits(), 8);
    }

    #[tokio::test]
    async fn who_is_known_to_be_slow_waits_for_others_that_are() {
        let places = places(MOMENT);
        let seat = places.seat(account(1), WebhookId::from_bits(7));
        // Takes as long as it takes to be found slow.
        seat.within(pin!(until(|| seat.is(Speed::Slow)))).await;
        let (hanging, seats) = hanging(&places, account(1), 2);
        until_slow(&seats).await;
        let mut next = Box::pin(seat.within(ready(())));
        assert!(next.as_mut().now_or_never().is_none());
        drop(hanging);
        timeout(PATIENCE, next).await.expect("there is room again");
        // It was quick this time.
        assert!(seat.is(Speed::Quick));
    }
}
