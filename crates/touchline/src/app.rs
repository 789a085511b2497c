//! The service's own parts, made once at start and handed to everybody who needs them.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::{Clock, Dice, IdMaker, Timestamp};
use store::{Db, Scope, bind};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::accounts::usage::Usage;
use crate::cards::Cards;
use crate::config::{BaseUrl, Config, Secret};
use crate::doctor::Finding;
use crate::error::{Error, Result};
use crate::ids::RequestId;
use crate::jobs;
use crate::mail::unsubscribe::LinkKey;
use crate::passwords::Passwords;
use crate::post::courier::Courier;
use crate::secrets::Secrets;
use crate::web::admission::Standings;
use crate::web::body::Uploads;
use crate::web::cache::Cache;
use crate::web::cursor::CursorKey;
use crate::web::idempotency::Running;
use crate::web::limits::Limits;
use crate::web::metrics::Metrics;
use crate::web::pace::Paces;
use crate::web::stream::Streams;

/// How much memory remembered answers may take.
const CACHE: usize = 16 * 1024 * 1024;
/// A key's last use is noted once in this time.
const TOUCH_EVERY: Duration = Duration::from_secs(60);

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// What the service is made of.
pub struct Parts {
    pub config: Config,
    /// The setting `base_url`, or the address the server listens on. A request never changes it.
    pub home: BaseUrl,
    pub db: Db,
    pub clock: Clock,
    pub dice: Arc<Dice>,
    pub cursors: CursorKey,
    pub links: LinkKey,
    pub secrets: Secrets,
    pub limits: Limits,
    /// How often people try to sign in.
    pub paces: Paces,
    pub passwords: Passwords,
    /// Takes letters with secrets to the mail server.
    pub courier: Courier,
    /// What is needed to take cards, where they are taken.
    pub cards: Option<Cards>,
    pub usage: Usage,
    pub cache: Cache,
    pub standings: Standings,
    pub running: Arc<Running>,
    pub uploads: Arc<Uploads>,
    pub streams: Arc<Streams>,
    pub touches: Arc<Touches>,
    pub metrics: Metrics,
    /// What the doctor found last, and when.
    pub checkup: tokio::sync::Mutex<Option<(Timestamp, Vec<Finding>)>>,
    ids: IdMaker,
    tasks: Mutex<JoinSet<()>>,
    stopping: watch::Sender<bool>,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl App {
    /// The service on a database whose schema is up to date.
    pub async fn new(config: Config, db: Db, clock: Clock, dice: Arc<Dice>) -> Result<Self> {
        let key = installation_key(&db).await?;
        Ok(Self(Arc::new(Parts {
            paces: Paces::new(clock.clone()),
            passwords: Passwords::new(dice.clone()),
            courier: Courier::new(&config)?,
            cards: Cards::new(&config).map_err(Error::internal)?,
            secrets: Secrets::new(key, config.secret.as_ref().map(Secret::reveal)),
            limits: Limits::new(config.auth_failures, clock.clone(), dice.clone()),
            usage: Usage::new(clock.clone()),
            home: config.home(),
            config,
            db,
            clock,
            dice,
            cursors: CursorKey::new(key),
            links: LinkKey::derive(&key),
            cache: Cache::new(CACHE),
            standings: Standings::default(),
            running: Arc::default(),
            uploads: Arc::default(),
            streams: Arc::default(),
            touches: Arc::default(),
            metrics: Metrics::default(),
            checkup: tokio::sync::Mutex::default(),
            ids: IdMaker::default(),
            tasks: Mutex::new(JoinSet::new()),
            stopping: watch::channel(false).0,
        })))
    }

    /// The absolute URL of a path: for what is stored, mailed or sent to another party.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.home.as_str())
    }

    /// A fresh request id.
    pub fn new_request_id(&self) -> RequestId {
        self.ids.make(self.clock.now(), &self.dice)
    }

    /// Starts something that goes on beside requests and is awaited at shutdown.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // What has ended is let go, so that the set does not grow.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    /// Whether the service is about to stop.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// For those who wait until the service is about to stop.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Says that the service is about to stop: it is no longer ready for new work.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Waits for what goes on beside requests, but not for ever.
    pub async fn finish(&self) {
        let mut tasks = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_secs(10), all).await.is_err() {
            tracing::warn!("some background work did not end in time");
        }
        jobs::write_usage(self).await;
    }
}

/// The installation's key for what it seals, made by whichever node comes first.
async fn installation_key(db: &Db) -> Result<[u8; 32]> {
    let key = db
        .write(Scope::system("installation"), |tx| {
            tx.run(
                "insert into installation (id, cursor_key, created_at) values (1, :key, :now)
                 on conflict do nothing /* any account */",
                bind! { key: tx.dice().bytes::<32>() },
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

/// The keys and grants whose use is being noted right now, by the bits of their ids.
#[derive(Debug, Default)]
pub struct Touches(Mutex<HashSet<u128>>);

/// The task of noting that one of them is in use.
#[derive(Debug)]
pub struct Touch {
    touches: Arc<Touches>,
    subject: u128,
    /// A use noted since then is recent enough.
    pub before: Timestamp,
}

impl Touches {
    /// The task, if the last use was noted too long ago and nobody is at it.
    pub fn due(
        self: &Arc<Self>,
        subject: u128,
        last: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Touch> {
        let before = now.minus(TOUCH_EVERY);
        if last.is_some_and(|last| last > before) {
            return None;
        }
        let fresh = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(subject);
        fresh.then(|| Touch { touches: self.clone(), subject, before })
    }
}

impl Drop for Touch {
    fn drop(&mut self) {
        self.touches.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.subject);
    }
}
