//! Limits how many attempts are in flight at once, in total and for one account.
//!
//! An attempt holds a permit until it ends, so slow receivers hold permits for long. To keep them from delaying others,
//! an attempt that takes longer than [`SLOW_AFTER`] gives its permit back and takes one from a separate pool. Later
//! attempts of the same webhook start in that slow pool until the receiver is fast again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::bounded;
use crate::ids::{AccountId, WebhookId};

/// A receiver that takes longer is slow.
pub(super) const SLOW_AFTER: Duration = Duration::from_secs(1);
/// After this fraction of [`SLOW_AFTER`] an attempt counts as long-running: later attempts do not wait for it.
const LONG_RUNNING_DIVISOR: u32 = 4;
/// How long a fast webhook may reuse its permit for its next attempts, unless other accounts are waiting. If an account
/// has a lot to send to many webhooks, serving one webhook after the other costs less than switching between them.
const PERMIT_REUSE_TIME: Duration = Duration::from_millis(100);
/// One account may use this fraction of all permits.
const ACCOUNT_SHARE_DIVISOR: usize = 4;
/// With more accounts than this in memory, those without webhooks in memory are dropped.
const MAX_ACCOUNTS: usize = 1_000;
/// The most webhooks in memory.
const MAX_WEBHOOKS: usize = 100_000;

/// The limits of a node.
pub(super) struct ConcurrencyLimiter {
    slow_after: Duration,
    fast: PermitPool,
    slow: PermitPool,
    /// The limiters of webhooks that something was sent to.
    webhooks: Mutex<HashMap<WebhookId, Arc<WebhookLimiter>>>,
}

impl ConcurrencyLimiter {
    pub(super) fn new(permits: usize) -> Self {
        let pool = || PermitPool::new(permits);
        Self { slow_after: SLOW_AFTER, fast: pool(), slow: pool(), webhooks: Mutex::default() }
    }

    /// The limiter of a webhook.
    pub(super) fn for_webhook(&self, account: AccountId, id: WebhookId) -> Arc<WebhookLimiter> {
        let mut webhooks = self.webhooks.lock().unwrap_or_else(PoisonError::into_inner);
        if !webhooks.contains_key(&id) {
            // Limiters in use stay in memory, so that a webhook never has two.
            let in_use = |limiter: &Arc<_>| Arc::strong_count(limiter) > 1;
            bounded::make_room(&mut webhooks, MAX_WEBHOOKS, in_use);
        }
        let limiter = || WebhookLimiter {
            slow_after: self.slow_after,
            fast: self.fast.for_account(account),
            slow: self.slow.for_account(account),
            speed: AtomicU8::new(Speed::Unknown as u8),
        };
        webhooks.entry(id).or_insert_with(|| Arc::new(limiter())).clone()
    }
}

/// How fast a receiver was in its last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Speed {
    Unknown,
    Fast,
    Slow,
}

/// Gives permits to the attempts of one webhook.
pub(super) struct WebhookLimiter {
    slow_after: Duration,
    fast: AccountPermits,
    slow: AccountPermits,
    /// A [`Speed`].
    speed: AtomicU8,
}

/// A permit for one attempt.
pub(super) struct Permit {
    permits: PermitPair,
    acquired_at: Instant,
    /// Whether it is from the slow pool.
    is_slow: bool,
}

impl WebhookLimiter {
    /// Runs an attempt with a permit, and calls `on_long_running` when it takes long. Returns the permit if the next
    /// attempt may reuse it.
    pub(super) async fn run<T>(
        &self,
        permit: Permit,
        mut attempt: impl Future<Output = T> + Unpin,
        on_long_running: impl FnOnce(),
    ) -> (T, Option<Permit>) {
        let long_running_after = self.slow_after / LONG_RUNNING_DIVISOR;
        if let Ok(output) = timeout(long_running_after, &mut attempt).await {
            self.set_speed(Speed::Fast);
            let reuse = !permit.is_slow
                && permit.acquired_at.elapsed() < PERMIT_REUSE_TIME
                && self.fast.has_free_permits();
            return (output, reuse.then_some(permit));
        }
        let mut permits = Some(permit.permits);
        on_long_running();
        if let Ok(output) =
            timeout(self.slow_after.saturating_sub(long_running_after), &mut attempt).await
        {
            self.set_speed(Speed::Fast);
            return (output, None);
        }
        self.set_speed(Speed::Slow);
        if !permit.is_slow {
            // The attempt has started, so it continues even if the slow pool has no permit left.
            permits = self.slow.try_acquire();
        }
        let output = attempt.await;
        drop(permits);
        (output, None)
    }

    /// Waits for a permit from the pool that fits the receiver's speed. Another attempt may change the known speed
    /// meanwhile.
    pub(super) async fn acquire(&self) -> Permit {
        loop {
            let slow = self.has_speed(Speed::Slow);
            let permits = self.pool(slow).acquire().await;
            if self.has_speed(Speed::Slow) == slow {
                return Permit { permits, acquired_at: Instant::now(), is_slow: slow };
            }
        }
    }

    /// A permit from the pool that fits the receiver's speed, if one is free.
    pub(super) fn try_acquire(&self) -> Option<Permit> {
        let slow = self.has_speed(Speed::Slow);
        let permits = self.pool(slow).try_acquire()?;
        Some(Permit { permits, acquired_at: Instant::now(), is_slow: slow })
    }

    fn pool(&self, slow: bool) -> &AccountPermits {
        if slow { &self.slow } else { &self.fast }
    }

    /// Whether the receiver's speed is known.
    pub(super) fn is_speed_known(&self) -> bool {
        !self.has_speed(Speed::Unknown)
    }

    fn has_speed(&self, speed: Speed) -> bool {
        self.speed.load(Ordering::Relaxed) == speed as u8
    }

    fn set_speed(&self, speed: Speed) {
        self.speed.store(speed as u8, Ordering::Relaxed);
    }
}

/// A pool of permits with a limit for each account.
struct PermitPool {
    total: Arc<Semaphore>,
    per_account: usize,
    accounts: Mutex<HashMap<AccountId, Arc<Semaphore>>>,
}

impl PermitPool {
    fn new(permits: usize) -> Self {
        let per_account = (permits / ACCOUNT_SHARE_DIVISOR).max(1);
        Self { total: Arc::new(Semaphore::new(permits)), per_account, accounts: Mutex::default() }
    }

    fn for_account(&self, account: AccountId) -> AccountPermits {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() > MAX_ACCOUNTS {
            accounts.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        }
        let semaphore =
            accounts.entry(account).or_insert_with(|| Arc::new(Semaphore::new(self.per_account)));
        AccountPermits { account: semaphore.clone(), total: self.total.clone() }
    }
}

/// The permits of a pool that one account may use.
struct AccountPermits {
    account: Arc<Semaphore>,
    total: Arc<Semaphore>,
}

/// One permit of the account and one of the pool. Both are released when this is dropped.
type PermitPair = (OwnedSemaphorePermit, OwnedSemaphorePermit);

impl AccountPermits {
    /// Waits for a permit of the account, then for one of the pool. In this order an account with a lot to send waits
    /// for itself and does not delay others.
    async fn acquire(&self) -> PermitPair {
        const NEVER_CLOSED: &str = "the semaphores are never closed";
        let own = self.account.clone().acquire_owned().await.expect(NEVER_CLOSED);
        (own, self.total.clone().acquire_owned().await.expect(NEVER_CLOSED))
    }

    /// Whether the pool has free permits, so that no other account is waiting for one.
    fn has_free_permits(&self) -> bool {
        self.total.available_permits() > 0
    }

    /// A permit, if one is free.
    fn try_acquire(&self) -> Option<PermitPair> {
        let own = self.account.clone().try_acquire_owned().ok()?;
        Some((own, self.total.clone().try_acquire_owned().ok()?))
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

    /// Longer than any test runs.
    const NEVER: Duration = Duration::from_secs(3_600);
    /// Short enough for a test to wait for.
    const SOON: Duration = Duration::from_millis(20);
    /// The longest wait for a condition, even on a busy machine.
    const TEST_TIMEOUT: Duration = Duration::from_secs(30);

    impl WebhookLimiter {
        /// Waits for a permit and runs an attempt with it.
        async fn acquire_and_run<T>(&self, attempt: impl Future<Output = T> + Unpin) -> T {
            self.run(self.acquire().await, attempt, || ()).await.0
        }
    }

    /// A limiter with eight permits, two for each account, that counts attempts as slow after this time.
    fn limiter(slow_after: Duration) -> Arc<ConcurrencyLimiter> {
        Arc::new(ConcurrencyLimiter { slow_after, ..ConcurrencyLimiter::new(8) })
    }

    fn account(number: u128) -> AccountId {
        AccountId::from_bits(number)
    }

    /// Starts attempts of an account that never end, each for its own webhook.
    fn start_hanging(
        limiter: &Arc<ConcurrencyLimiter>,
        account: AccountId,
        count: u128,
    ) -> (JoinSet<()>, Vec<Arc<WebhookLimiter>>) {
        let (mut tasks, mut webhooks) = (JoinSet::new(), Vec::new());
        for number in 0..count {
            let id = WebhookId::from_bits(account.bits() << 32 | number);
            let webhook = limiter.for_webhook(account, id);
            webhooks.push(webhook.clone());
            tasks.spawn(async move { webhook.acquire_and_run(std::future::pending()).await });
        }
        (tasks, webhooks)
    }

    /// Waits until a condition is true.
    async fn wait_until(condition: impl Fn() -> bool) {
        let poll = async {
            while !condition() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(TEST_TIMEOUT, poll).await.expect("the condition becomes true");
    }

    /// Waits until all of these webhooks are known to be slow.
    async fn wait_until_slow(webhooks: &[Arc<WebhookLimiter>]) {
        wait_until(|| webhooks.iter().all(|webhook| webhook.has_speed(Speed::Slow))).await;
    }

    /// Runs an attempt of another webhook of an account that ends at once.
    async fn run_another(limiter: &ConcurrencyLimiter, account: AccountId) {
        let webhook = limiter.for_webhook(account, WebhookId::from_bits(account.bits()));
        webhook.acquire_and_run(ready(())).await;
    }

    /// Whether another webhook of an account has to wait for a permit.
    fn has_to_wait(limiter: &ConcurrencyLimiter, account: AccountId) -> bool {
        run_another(limiter, account).now_or_never().is_none()
    }

    #[tokio::test]
    async fn hanging_attempts_do_not_delay_other_accounts() {
        let limiter = limiter(NEVER);
        let _hanging = start_hanging(&limiter, account(1), 2);
        wait_until(|| limiter.fast.total.available_permits() == 6).await;
        // All permits of the first account are in use until its attempts count as slow.
        assert!(!has_to_wait(&limiter, account(2)));
        assert!(has_to_wait(&limiter, account(1)));
    }

    #[tokio::test]
    async fn slow_attempts_release_their_fast_permits() {
        let limiter = limiter(SOON);
        let _hanging = start_hanging(&limiter, account(1), 2);
        let another = run_another(&limiter, account(1));
        timeout(TEST_TIMEOUT, another).await.expect("hanging attempts move to the slow pool");
        assert!(!has_to_wait(&limiter, account(1)));
    }

    #[tokio::test]
    async fn accounts_with_only_slow_receivers_do_not_delay_others() {
        let limiter = limiter(SOON);
        let all: Vec<_> =
            (1..=8).map(|number| start_hanging(&limiter, account(number), 4)).collect();
        // The fast pool fills four times with attempts that are not known to be slow yet.
        for (_, webhooks) in &all {
            wait_until_slow(webhooks).await;
        }
        assert!(!has_to_wait(&limiter, account(99)));
        assert!(!has_to_wait(&limiter, account(1)));
    }

    #[test]
    fn limiters_in_use_stay_in_memory() {
        let limiter = limiter(NEVER);
        let in_use = limiter.for_webhook(account(1), WebhookId::from_bits(1));
        in_use.set_speed(Speed::Slow);
        for number in 2..150_000 {
            limiter.for_webhook(account(1), WebhookId::from_bits(number));
        }
        assert!(limiter.webhooks.lock().unwrap().len() <= MAX_WEBHOOKS);
        assert!(Arc::ptr_eq(&in_use, &limiter.for_webhook(account(1), WebhookId::from_bits(1))));
    }

    #[tokio::test]
    async fn fast_webhooks_reuse_their_permit_for_a_limited_time() {
        let limiter = limiter(NEVER);
        let webhook = limiter.for_webhook(account(1), WebhookId::from_bits(7));
        let (mut permit, started) = (webhook.acquire().await, Instant::now());
        let mut reused = 0;
        while let ((), Some(returned)) = webhook.run(permit, ready(()), || ()).await {
            permit = returned;
            reused += 1;
            assert!(started.elapsed() < TEST_TIMEOUT, "the permit is reused without end");
        }
        assert!(reused > 0 && started.elapsed() >= PERMIT_REUSE_TIME);
        assert_eq!(limiter.fast.total.available_permits(), 8);
    }

    #[tokio::test]
    async fn slow_webhooks_wait_for_the_slow_pool() {
        let limiter = limiter(SOON);
        let webhook = limiter.for_webhook(account(1), WebhookId::from_bits(7));
        // This attempt runs until it counts as slow.
        webhook.acquire_and_run(pin!(wait_until(|| webhook.has_speed(Speed::Slow)))).await;
        let (hanging, webhooks) = start_hanging(&limiter, account(1), 2);
        wait_until_slow(&webhooks).await;
        let mut next = Box::pin(webhook.acquire_and_run(ready(())));
        assert!(next.as_mut().now_or_never().is_none());
        drop(hanging);
        timeout(TEST_TIMEOUT, next).await.expect("the slow pool has a permit again");
        // It was fast this time.
        assert!(webhook.has_speed(Speed::Fast));
    }
}
