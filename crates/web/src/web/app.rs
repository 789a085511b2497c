//! The shared state of a running service, created once at startup.

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::id::Id;
use kit::{Clock, IdGenerator, Rng};
use store::Db;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::accounts::request_log::{self, RequestLog};
use crate::accounts::usage::{self, UsageCounter};
use crate::card_provider::Cards;
use crate::config::{BaseUrl, Config, Secret};
use crate::file_store::FileStore;
use crate::passwords::PasswordHasher;
use crate::prelude::*;
use crate::secrets::Secrets;
use crate::smtp::direct::{DirectEmail, DirectMailer};
use crate::unsubscribe_key::UnsubscribeKey;
use crate::uploads::UploadChecker;
use crate::web::admission::RosterAccessCache;
use crate::web::body::UploadLimiter;
use crate::web::cache::Cache;
use crate::web::cursor::CursorKey;
use crate::web::idempotency::InFlightKeys;
use crate::web::limits::Limits;
use crate::web::metrics::Metrics;
use crate::web::stream::StreamLimiter;
use crate::web::throttle::Throttle;

/// Memory for cached responses, in bytes.
const CACHE_BYTES: usize = 16 * 1024 * 1024;
/// The last use of a key or grant is recorded at most once in this interval.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// A handle to the running service. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<AppInner>);

/// The state behind [`App`].
pub struct AppInner {
    pub config: Config,
    /// The setting `base_url`, or the address the server listens on. It never depends on a request.
    pub base_url: BaseUrl,
    pub db: Db,
    pub clock: Clock,
    pub rng: Arc<Rng>,
    pub cursor_key: CursorKey,
    pub unsubscribe_key: UnsubscribeKey,
    pub secrets: Secrets,
    pub limits: Limits,
    /// Limits attempts such as sign-ins, by client address.
    pub throttle: Throttle,
    pub passwords: PasswordHasher,
    /// Sends emails that contain secrets. They are never stored in the outbox.
    pub direct_mailer: DirectMailer,
    /// Card payments, if they are configured.
    pub cards: Option<Cards>,
    /// The store of uploaded files.
    pub files: FileStore,
    pub uploads: UploadChecker,
    pub usage: UsageCounter,
    pub request_log: RequestLog,
    pub cache: Cache,
    pub roster_access_cache: RosterAccessCache,
    pub idempotent_requests: Arc<InFlightKeys>,
    pub slow_uploads: Arc<UploadLimiter>,
    pub streams: Arc<StreamLimiter>,
    pub pending_touches: Arc<PendingTouches>,
    pub metrics: Metrics,
    /// State of other modules, by type.
    module_state: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    ids: IdGenerator,
    tasks: Mutex<JoinSet<()>>,
    shutdown: watch::Sender<bool>,
}

impl Deref for App {
    type Target = AppInner;

    fn deref(&self) -> &AppInner {
        &self.0
    }
}

impl App {
    /// Creates the service on a database whose schema is up to date.
    pub async fn new(config: Config, db: Db, clock: Clock, rng: Arc<Rng>) -> Result<Self> {
        let key = installation_key(&db).await?;
        Ok(Self(Arc::new(AppInner {
            throttle: Throttle::new(clock.clone()),
            passwords: PasswordHasher::new(rng.clone()),
            direct_mailer: DirectMailer::new(&config, clock.clone(), rng.clone())?,
            cards: Cards::new(&config).map_err(Error::internal)?,
            files: FileStore::new(&config).map_err(Error::internal)?,
            uploads: UploadChecker::default(),
            secrets: Secrets::new(key, config.secret.as_ref().map(Secret::reveal)),
            limits: Limits::new(config.auth_failures, clock.clone(), rng.clone()),
            usage: UsageCounter::new(clock.clone()),
            request_log: RequestLog::default(),
            base_url: config.effective_base_url(),
            config,
            db,
            clock,
            rng,
            cursor_key: CursorKey::new(key),
            unsubscribe_key: UnsubscribeKey::derive(&key),
            cache: Cache::new(CACHE_BYTES),
            roster_access_cache: RosterAccessCache::default(),
            idempotent_requests: Arc::default(),
            slow_uploads: Arc::default(),
            streams: Arc::default(),
            pending_touches: Arc::default(),
            metrics: Metrics::default(),
            module_state: Mutex::default(),
            ids: IdGenerator::default(),
            tasks: Mutex::new(JoinSet::new()),
            shutdown: watch::channel(false).0,
        })))
    }

    /// The absolute URL of a path, for links that are stored, emailed or sent to another party.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url.as_str())
    }

    /// Generates a request id.
    pub fn new_request_id(&self) -> RequestId {
        self.new_id()
    }

    /// Generates an id outside of a transaction.
    pub fn new_id<K>(&self) -> Id<K> {
        self.ids.generate(self.clock.now(), &self.rng)
    }

    /// Spawns a background task that shutdown waits for.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // Drop finished tasks so that the set does not grow.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// The state of this type that another module keeps for this service. It is created when it is first used.
    pub fn state<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let mut states = self.module_state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        let state = state.clone().downcast::<T>();
        state.unwrap_or_else(|_| unreachable!("states are stored by their type"))
    }

    /// Sends an email in the background without storing it.
    pub fn send_email(&self, email: &DirectEmail) {
        if let Some(task) = self.direct_mailer.prepare(email, self.shutdown_signal()) {
            self.spawn(task);
        }
    }

    /// Whether the service is shutting down.
    pub fn is_stopping(&self) -> bool {
        *self.shutdown.borrow()
    }

    /// A receiver that turns `true` when the service starts to shut down.
    pub fn shutdown_signal(&self) -> watch::Receiver<bool> {
        self.shutdown.subscribe()
    }

    /// Starts the shutdown: the service no longer reports itself as ready.
    pub fn stop(&self) {
        self.shutdown.send_replace(true);
    }

    /// Waits for background tasks, at most 10 seconds, and writes the usage counters and the request log.
    pub async fn finish(&self) {
        let mut tasks = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_secs(10), all).await.is_err() {
            tracing::warn!("background tasks were still running after 10 seconds");
        }
        self.flush_usage().await;
        self.flush_request_log(None).await;
    }

    /// Writes the usage counters of keys and apps to the database. Counts that cannot be written are kept for the next
    /// time.
    pub async fn flush_usage(&self) {
        for (account, counts) in self.usage.take() {
            // Outside of the account's queue, so that none of its writes wait for this one.
            let scope = Scope::account(account, "system").in_own_lane("usage");
            let to_write = counts.clone();
            let result = self.db.write(scope, move |tx| usage::write(tx, &to_write)).await;
            if let Err(error) = result {
                tracing::warn!(cause = ?error.cause, "could not write the usage counters");
                self.usage.restore(account, counts);
            }
        }
    }

    /// Writes the last requests of API keys to the database: those of one account, or all. Requests that cannot be
    /// written are lost.
    pub async fn flush_request_log(&self, only: Option<AccountId>) {
        for (account, requests) in self.request_log.take(only) {
            let scope = Scope::account(account, "system").in_own_lane("usage");
            let result = self.db.write(scope, move |tx| request_log::write(tx, &requests)).await;
            if let Err(error) = result {
                tracing::warn!(cause = ?error.cause, "could not write the request log");
            }
        }
    }
}

/// The installation's secret key. The first node that starts creates it.
pub async fn installation_key(db: &Db) -> Result<[u8; 32]> {
    let key = db
        .write(Scope::system("installation"), |tx| {
            tx.execute(
                "insert into installation (id, cursor_key, created_at) values (1, :key, :now)
                 on conflict do nothing /* any account */",
                bind! { key: tx.rng().bytes::<32>() },
            )?;
            let (key,) = tx.one(
                "select cursor_key from installation where id = 1 /* any account */",
                bind! {},
            )?;
            Ok::<[u8; 32], store::Error>(key)
        })
        .await?;
    Ok(key)
}

/// The keys and grants whose last use is being recorded, by the bits of their ids.
#[derive(Debug, Default)]
pub struct PendingTouches(Mutex<HashSet<u128>>);

/// Permission to record the last use of one key or grant. Dropping it allows the next one.
#[derive(Debug)]
pub struct Touch {
    touches: Arc<PendingTouches>,
    subject: u128,
    /// No update is needed if the recorded use is later than this.
    pub before: Timestamp,
}

impl PendingTouches {
    /// Returns a guard if the recorded use is too old and no other task is updating it.
    pub fn begin_if_due(
        self: &Arc<Self>,
        subject: u128,
        last: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Touch> {
        let before = now.minus(TOUCH_INTERVAL);
        if last.is_some_and(|last| last > before) {
            return None;
        }
        let inserted = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(subject);
        inserted.then(|| Touch { touches: self.clone(), subject, before })
    }
}

impl Drop for Touch {
    fn drop(&mut self) {
        self.touches.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.subject);
    }
}
