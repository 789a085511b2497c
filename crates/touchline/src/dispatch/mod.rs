//! The dispatcher: takes what happened from the accounts' logs to their webhooks, beside requests, on every
//! node.
//!
//! Nothing is queued: a webhook has come so far in its account's log, and the bell says when there is more. A
//! carrier works for one webhook as long as there is something to send; the dispatcher sees to it that one is
//! at work for each webhook of the node's share that needs it, and wakes it when a delivery is due again.

mod carrier;
pub mod client;
mod desks;
mod excerpt;
mod letter;
mod looking;
mod places;
mod plan;
mod road;
mod slots;
mod writing;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use kit::Timestamp;
use store::{Dialect, Reader, Scope, bind, row};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::MissedTickBehavior;

use self::carrier::{ACTOR, Carrier, Errand};
use self::client::Client;
use self::looking::Looks;
use self::places::Places;
use self::plan::Rest;
use self::slots::Held;
use self::writing::Reports;
use crate::app::App;
use crate::error::{Error, Result};
use crate::ids::{AccountId, NodeId, WebhookId};
use crate::web::server::told;
use crate::webhooks::outcome::Rules;
use crate::webhooks::webhook::{self, Reason};

/// How often a node says that it is alive.
const SHARE_EVERY: Duration = Duration::from_secs(5);
/// While something is still to be handed over, it is not to lie with nobody for long.
const HAND_OVER: Duration = Duration::from_millis(500);
/// How often it is looked whether something was missed, such as another node's bell.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOK_SELDOM: Duration = Duration::from_secs(5);
/// How long it is remembered which webhooks an account has: whoever makes one waits no longer for its first news.
const KNOWN_FOR: Duration = Duration::from_millis(100);
/// How long attempts under way may take when the service stops.
const FAREWELL: Duration = Duration::from_secs(8);

/// The dispatcher of a node. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher {
    app: App,
    client: Client,
    rules: Arc<Rules>,
    node: NodeId,
    /// The slots this node holds, and until when.
    held: Arc<Mutex<Held>>,
    places: Arc<Places>,
    looks: Arc<Looks>,
    reports: Arc<Reports>,
}

row! {
    /// A webhook that may have something to send.
    #[derive(Debug, Clone, Copy)]
    struct Known {
        account_id: AccountId,
        id: WebhookId,
        slot: i64,
        position: i64,
    }
}

row! {
    /// A webhook that has not come to the end of its log, or has something to be sent again.
    #[derive(Debug, Clone, Copy)]
    struct Behind {
        account_id: AccountId,
        id: WebhookId,
        slot: i64,
        position: i64,
        replay_after: Option<i64>,
        next_due: Option<Timestamp>,
        sequence: i64,
    }
}

/// A carrier at work.
struct Busy {
    slot: i64,
    task: tokio::task::Id,
    /// Rings when there may be more to do.
    called: Arc<Notify>,
}

/// What is going on.
#[derive(Default)]
struct Work {
    carriers: JoinSet<(Errand, Result<Rest>)>,
    /// The webhooks with a carrier at work.
    busy: HashMap<WebhookId, Busy>,
    /// When webhooks are to be looked at again.
    due: BTreeMap<(Timestamp, WebhookId), Known>,
    /// How far the log was looked at.
    seen: HashMap<WebhookId, i64>,
    /// Which webhooks accounts have, and when that was looked up.
    known: HashMap<AccountId, (Instant, Vec<Known>)>,
    /// Accounts whose webhooks were taken from memory: they may have more by now.
    trusted: HashSet<AccountId>,
}

impl Dispatcher {
    /// The dispatcher as the settings want it.
    pub fn new(app: App) -> std::result::Result<Self, String> {
        let config = &app.config;
        let rules = Rules {
            retries: config.webhook_schedule.retries().to_vec(),
            patience: config.webhook_patience,
        };
        for net in &config.webhook_allow_cidrs {
            tracing::warn!(%net, "webhooks may reach this network");
        }
        Ok(Self {
            client: Client::new(config)?,
            rules: Arc::new(rules),
            node: NodeId::from_bits(u128::from_le_bytes(app.dice.bytes())),
            held: Arc::default(),
            places: Arc::new(Places::new(config.webhook_deliveries.get())),
            looks: Arc::default(),
            reports: Arc::default(),
            app,
        })
    }

    /// The same dispatcher, waiting this long for a receiver.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { client: self.client.clone().patience(patience), ..self }
    }

    /// Delivers until the service stops.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        self.begin().await;
        let mut work = Work::default();
        let own = self.app.db.dialect() == Dialect::Sqlite;
        let mut look = tokio::time::interval(if own { LOOK_SELDOM } else { LOOK_EVERY });
        let mut share = tokio::time::interval(SHARE_EVERY);
        let mut remember = tokio::time::interval(KNOWN_FOR);
        remember.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let due = work.due.first_key_value().map(|((at, _), _)| self.until(*at));
            tokio::select! {
                accounts = self.app.db.bell().heard() => self.called(&mut work, accounts).await,
                Some(ended) = work.carriers.join_next() => {
                    let ended = self.ended(&mut work, ended);
                    ended.unwrap_or_else(|error| warn(&error, "could not deliver to a webhook"));
                }
                () = tokio::time::sleep(due.unwrap_or(LOOK_SELDOM)), if due.is_some() => self.wake(&mut work),
                _ = look.tick() => self.look(&mut work).await,
                _ = share.tick() => {
                    let (more, settled) = self.share(&work).await;
                    if more {
                        self.look(&mut work).await;
                    }
                    if !settled {
                        share.reset_after(HAND_OVER);
                    }
                }
                _ = remember.tick(), if !work.trusted.is_empty() => self.doubt(&mut work).await,
                () = told(&mut stop) => break,
            }
        }
        let ended = async { while work.carriers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FAREWELL, ended).await;
        // Nothing may be under way any more when another node can take over.
        work.carriers.shutdown().await;
        let node = self.node;
        let gone = self.app.db.write(Scope::system(ACTOR), move |tx| slots::let_go(tx, node)).await;
        gone.unwrap_or_else(|error| warn(&error, "could not hand the webhooks on"));
    }

    /// Delivers everything that is due now.
    pub async fn deliver(&self) -> Result<()> {
        self.begin().await;
        let mut work = Work::default();
        self.share(&work).await;
        self.look(&mut work).await;
        while let Some(ended) = work.carriers.join_next().await {
            self.ended(&mut work, ended)?;
            self.wake(&mut work);
        }
        Ok(())
    }

    async fn begin(&self) {
        let begun = self.app.db.write(Scope::system(ACTOR), slots::begin).await;
        begun.unwrap_or_else(|error| warn(&error, "could not begin to deliver"));
    }

    /// Says that this node is alive and learns which webhooks are its own. Says whether there are more of them, and
    /// whether everything is with the node it belongs to, as far as this one can tell.
    async fn share(&self, work: &Work) -> (bool, bool) {
        let node = self.node;
        let at_work: Vec<i64> = work.busy.values().map(|busy| busy.slot).collect();
        let share = move |tx: &store::Tx<'_>| slots::share(tx, node, &at_work);
        let shared = match self.app.db.write(Scope::system(ACTOR), share).await {
            Ok(shared) => shared,
            Err(error) => {
                // What is held is held until its time is up.
                warn(&error, "could not say that this node delivers");
                return (false, true);
            }
        };
        let ends = self.ends();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |slot: &i64| held.get(slot).is_none_or(|until| *until <= ends);
        let more = shared.held.keys().any(is_new);
        *held = shared.held;
        (more, shared.settled)
    }

    /// Whether this node may begin an attempt for a webhook of this slot: it must end before the node could
    /// lose the slot.
    fn holds(&self, slot: i64) -> bool {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(&slot).is_some_and(|until| self.ends() < *until)
    }

    /// When an attempt that began now would have ended for certain.
    fn ends(&self) -> Timestamp {
        self.app.clock.now().plus(self.app.config.webhook_timeout.0 + SHARE_EVERY)
    }

    /// Sees to webhooks of accounts with news.
    async fn called(&self, work: &mut Work, accounts: Vec<AccountId>) {
        work.known.retain(|_, (at, _)| at.elapsed() < KNOWN_FOR);
        let (known, unknown): (Vec<_>, Vec<_>) =
            accounts.into_iter().partition(|id| work.known.contains_key(id));
        for id in known {
            work.trusted.insert(id);
            let webhooks = work.known.get(&id).map(|(_, known)| known.clone()).unwrap_or_default();
            for known in webhooks {
                self.start(work, known);
            }
        }
        self.ask(work, unknown).await;
    }

    /// Looks again where webhooks were taken from memory: one may have been made just before the news.
    async fn doubt(&self, work: &mut Work) {
        let accounts = work.trusted.drain().collect();
        self.ask(work, accounts).await;
    }

    /// Asks which webhooks accounts have, and sees to them.
    async fn ask(&self, work: &mut Work, accounts: Vec<AccountId>) {
        if accounts.is_empty() {
            return;
        }
        let asked = accounts.clone();
        let read = self.app.db.read(Scope::system(ACTOR), move |db| of_accounts(db, asked));
        let found = match read.await {
            Ok(found) => found,
            Err(error) => {
                work.trusted.extend(accounts);
                return warn(&error, "could not look for webhooks");
            }
        };
        let now = Instant::now();
        work.known.extend(accounts.into_iter().map(|id| (id, (now, Vec::new()))));
        for known in found {
            if let Some((_, own)) = work.known.get_mut(&known.account_id) {
                own.push(known);
            }
            self.start(work, known);
        }
    }

    /// Sees to webhooks that may have something to send, whether or not anybody called.
    async fn look(&self, work: &mut Work) {
        let found = match self.app.db.read(Scope::system(ACTOR), behind).await {
            Ok(found) => found,
            Err(error) => return warn(&error, "could not look for what is to be delivered"),
        };
        let now = self.app.clock.now();
        for Behind { account_id, id, slot, position, replay_after, next_due, sequence } in found {
            let seen = work.seen.get(&id).copied().unwrap_or(0).max(position);
            let again = replay_after.is_some() || next_due.is_some_and(|due| due <= now);
            if again || seen < sequence {
                self.start(work, Known { account_id, id, slot, position });
            }
        }
    }

    /// Sees to webhooks with deliveries that are due again.
    fn wake(&self, work: &mut Work) {
        let now = self.app.clock.now();
        while let Some(first) = work.due.first_entry().filter(|first| first.key().0 <= now) {
            let known = first.remove();
            self.start(work, known);
        }
    }

    /// Puts a carrier to work for a webhook of this node's share, unless one is.
    fn start(&self, work: &mut Work, known: Known) {
        if let Some(busy) = work.busy.get(&known.id) {
            return busy.called.notify_one();
        }
        if !self.holds(known.slot) {
            return;
        }
        let seen = work.seen.get(&known.id).copied().unwrap_or(0).max(known.position);
        let Known { account_id, id, slot, .. } = known;
        let errand = Errand { account: account_id, webhook: id, slot, seen };
        let called = Arc::new(Notify::new());
        let carrier = Carrier::new(Arc::new(self.clone()), errand, called.clone());
        let carry = async move { (errand, carrier.carry().await) };
        let task = work.carriers.spawn(carry).id();
        work.busy.insert(id, Busy { slot, task, called });
    }

    /// A carrier has nothing more to do for now, or could not do it.
    fn ended(
        &self,
        work: &mut Work,
        ended: std::result::Result<(Errand, Result<Rest>), JoinError>,
    ) -> Result<()> {
        let (errand, rest) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                // Looking around finds what it has not done.
                work.busy.retain(|_, busy| busy.task != error.id());
                return Err(Error::internal("a carrier panicked"));
            }
        };
        let Errand { account, webhook: id, slot, .. } = errand;
        let busy = work.busy.remove(&id);
        let again = busy.is_some_and(|busy| busy.called.notified().now_or_never().is_some());
        let (Rest { until, seen }, outcome) = match rest {
            Ok(rest) => (rest, Ok(())),
            Err(error) => {
                let until = Some(self.app.clock.now().plus(SHARE_EVERY));
                (Rest { until, seen: errand.seen }, Err(error))
            }
        };
        work.seen.insert(id, seen);
        let known = Known { account_id: account, id, slot, position: seen };
        if again && outcome.is_ok() {
            self.start(work, known);
        } else if let Some(until) = until {
            work.due.insert((until, id), known);
        }
        outcome
    }

    fn until(&self, at: Timestamp) -> Duration {
        let micros = at.micros() - self.app.clock.now().micros();
        // A clock that was set may be far off; a look now and then costs nothing.
        Duration::from_micros(u64::try_from(micros).unwrap_or(0)).min(LOOK_SELDOM)
    }

    /// Turns a webhook off and tells whoever looks after the club.
    async fn turn_off(&self, account: AccountId, id: WebhookId, reason: Reason) -> Result<()> {
        let scope = Scope::account(account, ACTOR);
        let home = self.app.home.clone();
        let turn_off = move |tx: &store::Tx<'_>| match webhook::disable(tx, id, reason)? {
            Some(webhook) => letter::write(tx, &webhook, home.as_str()).map(|()| true),
            None => Ok(false),
        };
        if self.app.db.write(scope, turn_off).await? {
            tracing::info!(webhook = %id, %reason, "a webhook was turned off");
        }
        Ok(())
    }
}

/// The webhooks of these accounts that are told anything.
fn of_accounts(db: &Reader<'_>, accounts: Vec<AccountId>) -> Result<Vec<Known>> {
    Ok(db.all(
        "select account_id, id, slot, position from webhook
         where status = 'enabled' and account_id in (:accounts) /* any account */",
        bind! { accounts },
    )?)
}

/// The webhooks that have not come to the end of their log, or have deliveries to be tried again, unless they are
/// left in peace.
fn behind(db: &Reader<'_>) -> Result<Vec<Behind>> {
    Ok(db.all(
        "select w.account_id, w.id, w.slot, w.position, w.replay_after,
             (select min(d.next_attempt_at) from delivery d
              where d.account_id = w.account_id and d.webhook_id = w.id
                and d.status = 'pending') as next_due,
             j.sequence
         from webhook w
         join journal j on j.account_id = w.account_id
         where w.status = 'enabled' and w.slot >= 0
           and (w.resting_until is null or w.resting_until <= :now)
           and (w.position < j.sequence or w.replay_after is not null
                or exists (select 1 from delivery d
                           where d.account_id = w.account_id and d.webhook_id = w.id
                             and d.status = 'pending' and d.next_attempt_at <= :now))
         /* any account */",
        bind! {},
    )?)
}

fn warn(error: &Error, what: &str) {
    tracing::warn!(cause = ?error.cause, "{what}");
}
