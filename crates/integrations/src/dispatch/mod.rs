//! The webhook dispatcher: sends notifications from each account's log to its webhooks, in the background, on every
//! node.
//!
//! There is no queue. Each webhook stores its position in the account's log, and the store's change notifier reports
//! new entries. A delivery worker serves one webhook while there is something to send. The dispatcher runs one worker
//! for each webhook that needs it and whose slot this node has leased, and starts it again when a retry is due.

mod delivery_worker;
pub mod client;
mod batcher;
mod log_window;
mod disabled_email;
mod plan_batcher;
mod concurrency_limiter;
mod plan;
mod in_flight;
mod slots;
mod report_writer;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use store::Dialect;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::MissedTickBehavior;

use self::client::Client;
use self::concurrency_limiter::ConcurrencyLimiter;
use self::delivery_worker::{ACTOR, DeliveryJob, DeliveryWorker};
use self::plan::Idle;
use self::plan_batcher::PlanBatcher;
use self::report_writer::ReportBatcher;
use self::slots::Leases;
use crate::prelude::*;
use crate::web::app::App;
use crate::web::server::stop_requested;
use crate::webhooks::outcome::RetryPolicy;
use crate::webhooks::webhook::{self, Reason};

/// How often a node sends its heartbeat and renews its slot leases.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);
/// How soon leases are renewed again while slots still have to move between nodes, so that no slot stays unserved long.
const REBALANCE_INTERVAL: Duration = Duration::from_millis(500);
/// How often to poll for work that was not announced, for example because another node's wake-up was lost.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The poll interval on SQLite, where there is only one node. Also the longest time that anything waits for a timer.
const SLOW_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// How long an account's list of webhooks is cached. A new webhook gets its first notification at most this much later.
const WEBHOOK_CACHE_TTL: Duration = Duration::from_millis(100);
/// How long attempts in flight may still take when the service stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(8);

/// A node's webhook dispatcher. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher {
    app: App,
    client: Client,
    retry_policy: Arc<RetryPolicy>,
    node: NodeId,
    /// The slots that this node has leased, and when each lease ends.
    leases: Arc<Mutex<Leases>>,
    limiter: Arc<ConcurrencyLimiter>,
    plan_batcher: Arc<PlanBatcher>,
    report_batcher: Arc<ReportBatcher>,
}

row! {
    /// A webhook that may have something to send.
    #[derive(Debug, Clone, Copy)]
    struct WebhookRef {
        account_id: AccountId,
        id: WebhookId,
        slot: i64,
        position: i64,
    }
}

row! {
    /// A webhook that has not reached the end of its log, or has deliveries to retry or replay.
    #[derive(Debug, Clone, Copy)]
    struct LaggingWebhook {
        account_id: AccountId,
        id: WebhookId,
        slot: i64,
        position: i64,
        replay_after: Option<i64>,
        next_due: Option<Timestamp>,
        sequence: i64,
    }
}

/// A running delivery worker.
struct RunningWorker {
    slot: i64,
    task: tokio::task::Id,
    /// Notified when there may be more to send.
    wake: Arc<Notify>,
}

/// What the dispatcher knows about its workers and webhooks.
#[derive(Default)]
struct DispatchState {
    workers: JoinSet<(DeliveryJob, Result<Idle>)>,
    /// The webhooks that have a running worker.
    running: HashMap<WebhookId, RunningWorker>,
    /// When to start a worker for a webhook again.
    scheduled: BTreeMap<(Timestamp, WebhookId), WebhookRef>,
    /// The last sequence number of the log that was scanned for each webhook.
    scanned_to: HashMap<WebhookId, i64>,
    /// The webhooks of recently active accounts, and when they were read.
    webhook_cache: HashMap<AccountId, (Instant, Vec<WebhookRef>)>,
    /// Accounts whose webhooks were taken from the cache. They may have more webhooks now, so they are checked again.
    served_from_cache: HashSet<AccountId>,
}

impl DispatchState {
    fn scanned_to(&self, webhook: WebhookRef) -> i64 {
        self.scanned_to.get(&webhook.id).copied().unwrap_or(0).max(webhook.position)
    }
}

impl Dispatcher {
    /// A dispatcher with the configured settings.
    pub fn new(app: App) -> std::result::Result<Self, String> {
        let config = &app.config;
        let retry_policy = RetryPolicy {
            retry_delays: config.webhook_schedule.retries().to_vec(),
            disable_after: config.webhook_disable_after,
        };
        for net in &config.webhook_allow_cidrs {
            tracing::warn!(%net, "webhooks can connect to this network (webhook_allow_cidrs)");
        }
        Ok(Self {
            client: Client::new(config)?,
            retry_policy: Arc::new(retry_policy),
            node: NodeId::from_bits(u128::from_le_bytes(app.rng.bytes())),
            leases: Arc::default(),
            limiter: Arc::new(ConcurrencyLimiter::new(config.webhook_deliveries.get())),
            plan_batcher: Arc::default(),
            report_batcher: Arc::default(),
            app,
        })
    }

    /// The same dispatcher with another timeout for requests to receivers.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { client: self.client.clone().with_timeout(timeout), ..self }
    }

    /// Delivers until the service stops.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        self.clear_stale_leases().await;
        let mut state = DispatchState::default();
        let single_node = self.app.db.dialect() == Dialect::Sqlite;
        let mut poll =
            tokio::time::interval(if single_node { SLOW_POLL_INTERVAL } else { POLL_INTERVAL });
        let mut heartbeat = tokio::time::interval(HEARTBEAT_INTERVAL);
        let mut recheck = tokio::time::interval(WEBHOOK_CACHE_TTL);
        recheck.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let due = state.scheduled.first_key_value().map(|((at, _), _)| self.time_until(*at));
            tokio::select! {
                accounts = self.app.db.change_notifier().wait_for_changes() => self.on_account_changes(&mut state, accounts).await,
                Some(joined) = state.workers.join_next() => {
                    let result = self.on_worker_exit(&mut state, joined);
                    result.unwrap_or_else(|error| warn(&error, "could not deliver to a webhook"));
                }
                () = tokio::time::sleep(due.unwrap_or(SLOW_POLL_INTERVAL)), if due.is_some() => self.start_due(&mut state),
                _ = poll.tick() => self.poll(&mut state).await,
                _ = heartbeat.tick() => {
                    let (has_new_slots, balanced) = self.renew_leases(&state).await;
                    if has_new_slots {
                        self.poll(&mut state).await;
                    }
                    if !balanced {
                        heartbeat.reset_after(REBALANCE_INTERVAL);
                    }
                }
                _ = recheck.tick(), if !state.served_from_cache.is_empty() => self.recheck_cached(&mut state).await,
                () = stop_requested(&mut stop) => break,
            }
        }
        let drain = async { while state.workers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, drain).await;
        // No attempt may be in flight once another node can take over.
        state.workers.shutdown().await;
        let node = self.node;
        let released =
            self.app.db.write(Scope::system(ACTOR), move |tx| slots::release_all(tx, node)).await;
        released.unwrap_or_else(|error| {
            warn(&error, "could not release the webhook slots of this node");
        });
    }

    /// Delivers everything that is due now.
    pub async fn deliver(&self) -> Result<()> {
        self.clear_stale_leases().await;
        let mut state = DispatchState::default();
        self.renew_leases(&state).await;
        self.poll(&mut state).await;
        while let Some(joined) = state.workers.join_next().await {
            self.on_worker_exit(&mut state, joined)?;
            self.start_due(&mut state);
        }
        Ok(())
    }

    async fn clear_stale_leases(&self) {
        let cleared = self.app.db.write(Scope::system(ACTOR), slots::clear_on_sqlite).await;
        cleared.unwrap_or_else(|error| warn(&error, "could not clear old webhook slot leases"));
    }

    /// Sends this node's heartbeat and renews its slot leases. Returns whether the node got new slots, and whether
    /// this node has all of its slots and no slot of another node.
    async fn renew_leases(&self, state: &DispatchState) -> (bool, bool) {
        let node = self.node;
        let busy_slots: Vec<i64> = state.running.values().map(|worker| worker.slot).collect();
        let renew = move |tx: &store::Tx<'_>| slots::renew(tx, node, &busy_slots);
        let (renewed, is_balanced) = match self.app.db.write(Scope::system(ACTOR), renew).await {
            Ok(renewed) => renewed,
            Err(error) => {
                // The current leases stay valid until they expire.
                warn(&error, "could not renew the webhook slot leases of this node");
                return (false, true);
            }
        };
        let attempt_end = self.attempt_deadline();
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |slot: &i64| leases.get(slot).is_none_or(|until| *until <= attempt_end);
        let has_new_slots = renewed.keys().any(is_new);
        *leases = renewed;
        (has_new_slots, is_balanced)
    }

    /// Whether this node may start an attempt for a webhook in this slot: the attempt must end before the lease does.
    fn holds_lease(&self, slot: i64) -> bool {
        let leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases.get(&slot).is_some_and(|until| self.attempt_deadline() < *until)
    }

    /// When an attempt that starts now has certainly ended.
    fn attempt_deadline(&self) -> Timestamp {
        self.app.clock.now().plus(self.app.config.webhook_timeout.0 + HEARTBEAT_INTERVAL)
    }

    /// Starts workers for the webhooks of accounts that have new notifications.
    async fn on_account_changes(&self, state: &mut DispatchState, accounts: Vec<AccountId>) {
        state.webhook_cache.retain(|_, (read_at, _)| read_at.elapsed() < WEBHOOK_CACHE_TTL);
        let (cached, uncached): (Vec<_>, Vec<_>) =
            accounts.into_iter().partition(|id| state.webhook_cache.contains_key(id));
        for id in cached {
            state.served_from_cache.insert(id);
            let webhooks = state.webhook_cache.get(&id).map(|(_, webhooks)| webhooks.clone());
            for webhook in webhooks.into_iter().flatten() {
                self.start_worker(state, webhook);
            }
        }
        self.refresh_webhooks(state, uncached).await;
    }

    /// Reads the webhooks of accounts again that were served from the cache: a webhook may have been created just
    /// before the notification.
    async fn recheck_cached(&self, state: &mut DispatchState) {
        let accounts = state.served_from_cache.drain().collect();
        self.refresh_webhooks(state, accounts).await;
    }

    /// Reads the webhooks of accounts into the cache and starts workers for them.
    async fn refresh_webhooks(&self, state: &mut DispatchState, accounts: Vec<AccountId>) {
        if accounts.is_empty() {
            return;
        }
        let ids = accounts.clone();
        let read = self.app.db.read(Scope::system(ACTOR), move |db| enabled_webhooks(db, ids));
        let webhooks = match read.await {
            Ok(webhooks) => webhooks,
            Err(error) => {
                state.served_from_cache.extend(accounts);
                return warn(&error, "could not read webhooks");
            }
        };
        let now = Instant::now();
        state.webhook_cache.extend(accounts.into_iter().map(|id| (id, (now, Vec::new()))));
        for webhook in webhooks {
            if let Some((_, cached)) = state.webhook_cache.get_mut(&webhook.account_id) {
                cached.push(webhook);
            }
            self.start_worker(state, webhook);
        }
    }

    /// Starts workers for webhooks that have something to send, announced or not.
    async fn poll(&self, state: &mut DispatchState) {
        let lagging = match self.app.db.read(Scope::system(ACTOR), lagging_webhooks).await {
            Ok(lagging) => lagging,
            Err(error) => return warn(&error, "could not look for due webhook deliveries"),
        };
        let now = self.app.clock.now();
        for one in lagging {
            let LaggingWebhook { account_id, id, slot, position, .. } = one;
            let webhook = WebhookRef { account_id, id, slot, position };
            let is_due = one.replay_after.is_some() || one.next_due.is_some_and(|due| due <= now);
            if is_due || state.scanned_to(webhook) < one.sequence {
                self.start_worker(state, webhook);
            }
        }
    }

    /// Starts workers for webhooks whose next delivery is due.
    fn start_due(&self, state: &mut DispatchState) {
        let now = self.app.clock.now();
        while let Some(first) = state.scheduled.first_entry().filter(|first| first.key().0 <= now) {
            let webhook = first.remove();
            self.start_worker(state, webhook);
        }
    }

    /// Starts a worker for a webhook if this node has leased its slot, or wakes the worker that is running.
    fn start_worker(&self, state: &mut DispatchState, webhook: WebhookRef) {
        if let Some(worker) = state.running.get(&webhook.id) {
            return worker.wake.notify_one();
        }
        if !self.holds_lease(webhook.slot) {
            return;
        }
        let WebhookRef { account_id: account, id, slot, .. } = webhook;
        let job = DeliveryJob { account, webhook: id, slot, scanned_to: state.scanned_to(webhook) };
        let wake = Arc::new(Notify::new());
        let worker = DeliveryWorker::new(Arc::new(self.clone()), job, wake.clone());
        let run = async move { (job, worker.run().await) };
        let task = state.workers.spawn(run).id();
        state.running.insert(id, RunningWorker { slot, task, wake });
    }

    /// Handles a worker that has nothing more to send for now, or that failed.
    fn on_worker_exit(
        &self,
        state: &mut DispatchState,
        joined: std::result::Result<(DeliveryJob, Result<Idle>), JoinError>,
    ) -> Result<()> {
        let (job, result) = match joined {
            Ok(finished) => finished,
            Err(error) => {
                // The next poll finds what the worker has not sent.
                state.running.retain(|_, worker| worker.task != error.id());
                return Err(Error::internal("a webhook delivery worker panicked"));
            }
        };
        let DeliveryJob { account, webhook: id, slot, .. } = job;
        let worker = state.running.remove(&id);
        let was_woken = worker.is_some_and(|one| one.wake.notified().now_or_never().is_some());
        let retry_at = || Some(self.app.clock.now().plus(HEARTBEAT_INTERVAL));
        let (Idle { until, scanned_to }, outcome) = match result {
            Ok(idle) => (idle, Ok(())),
            Err(error) => (Idle { until: retry_at(), scanned_to: job.scanned_to }, Err(error)),
        };
        state.scanned_to.insert(id, scanned_to);
        let webhook = WebhookRef { account_id: account, id, slot, position: scanned_to };
        if was_woken && outcome.is_ok() {
            self.start_worker(state, webhook);
        } else if let Some(until) = until {
            state.scheduled.insert((until, id), webhook);
        }
        outcome
    }

    fn time_until(&self, at: Timestamp) -> Duration {
        let micros = at.micros() - self.app.clock.now().micros();
        // The system clock may be changed while this waits, so the wait is capped. An extra wake-up costs nothing.
        Duration::from_micros(u64::try_from(micros).unwrap_or(0)).min(SLOW_POLL_INTERVAL)
    }

    /// Turns a webhook off and sends an email to the club's owners and admins.
    async fn turn_off(&self, account: AccountId, id: WebhookId, reason: Reason) -> Result<()> {
        let scope = Scope::account(account, ACTOR);
        let home = self.app.base_url.clone();
        let turn_off = move |tx: &store::Tx<'_>| match webhook::disable(tx, id, reason)? {
            Some(webhook) => disabled_email::enqueue(tx, &webhook, home.as_str()).map(|()| true),
            None => Ok(false),
        };
        if self.app.db.write(scope, turn_off).await? {
            tracing::info!(webhook = %id, %reason, "a webhook was disabled");
        }
        Ok(())
    }
}

/// The enabled webhooks of these accounts.
fn enabled_webhooks(db: &Reader<'_>, accounts: Vec<AccountId>) -> Result<Vec<WebhookRef>> {
    Ok(db.all(
        "select account_id, id, slot, position from webhook
         where status = 'enabled' and account_id in (:accounts) /* any account */",
        bind! { accounts },
    )?)
}

/// The webhooks that have not reached the end of their log, or have deliveries to retry or replay. Paused webhooks are
/// left out.
fn lagging_webhooks(db: &Reader<'_>) -> Result<Vec<LaggingWebhook>> {
    Ok(db.all(
        "select w.account_id, w.id, w.slot, w.position, w.replay_after,
             (select min(d.next_attempt_at) from delivery d
              where d.account_id = w.account_id and d.webhook_id = w.id
                and d.status = 'pending') as next_due,
             j.sequence
         from webhook w
         join journal j on j.account_id = w.account_id
         where w.status = 'enabled' and w.slot >= 0
           and (w.paused_until is null or w.paused_until <= :now)
           and (w.position < j.sequence or w.replay_after is not null
                or exists (select 1 from delivery d
                           where d.account_id = w.account_id and d.webhook_id = w.id
                             and d.status = 'pending' and d.next_attempt_at <= :now))
         /* any account */",
        bind! {},
    )?)
}

fn warn(error: &Error, message: &str) {
    tracing::warn!(cause = ?error.cause, "{message}");
}
