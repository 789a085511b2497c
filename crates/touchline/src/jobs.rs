//! Background jobs: deleting expired data, publishing scheduled messages, collecting dues, recording usage.

use std::fmt::Display;
use std::time::Duration;

use tokio::sync::watch;

use crate::accounts::usage;
use crate::dues::{late_fee, reminders};
use crate::messages::posting;
use crate::oauth::{code, grant, pending_request, token};
use crate::prelude::*;
use crate::shop::cancellation;
use crate::signin::cleanup;
use crate::web::app::App;
use crate::web::idempotency;
use crate::web::server::stop_requested;
use crate::webhooks::notifications::retention::{self, Retention};

/// How often expired data is deleted.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(60);
/// How often scheduled messages are published and unpaid orders expire.
const PUBLISH_INTERVAL: Duration = Duration::from_secs(3);
/// How often late fees and reminders for dues are processed.
const DUES_INTERVAL: Duration = Duration::from_secs(60);
/// How often usage counters are written to the database.
const USAGE_INTERVAL: Duration = Duration::from_secs(10);

/// Runs all background jobs until the service stops.
pub async fn run(app: App, stop: watch::Receiver<bool>) {
    let app = &app;
    let clean_up = move || async move {
        delete_expired_idempotency_keys(app).await;
        delete_expired_records(app).await;
        delete_old_notifications(app).await;
    };
    let publish = move || async move {
        publish_scheduled_messages(app).await;
        expire_orders(app).await;
    };
    let collect_dues = move || async move {
        add_late_fees(app).await;
        send_dues_reminders(app).await;
    };
    tokio::join!(
        repeat(CLEANUP_INTERVAL, stop.clone(), clean_up),
        repeat(PUBLISH_INTERVAL, stop.clone(), publish),
        repeat(DUES_INTERVAL, stop.clone(), collect_dues),
        // `App::finish` writes the counts of the last interval.
        repeat(USAGE_INTERVAL, stop, move || app.flush_usage())
    );
}

/// Runs a job at once and then in this interval, until the service stops.
async fn repeat<F: Future<Output = ()>>(
    interval: Duration,
    mut stop: watch::Receiver<bool>,
    job: impl Fn() -> F,
) {
    loop {
        job().await;
        if tokio::time::timeout(interval, stop_requested(&mut stop)).await.is_ok() {
            return;
        }
    }
}

/// Deletes expired idempotency keys in small batches, so that other writes do not wait long.
pub async fn delete_expired_idempotency_keys(app: &App) {
    let ttl = app.config.idempotency_ttl;
    if let Err(error) = delete_all(app, move |tx| idempotency::delete_expired(tx, ttl)).await {
        tracing::warn!(cause = ?error.cause, "could not delete expired idempotency keys");
    }
}

/// Deletes expired sign-in data, OAuth requests, codes, tokens and grants, and old usage hours, in small batches.
pub async fn delete_expired_records(app: &App) {
    let steps = [
        cleanup::delete_expired,
        pending_request::delete_expired,
        code::delete_expired,
        token::delete_expired,
        grant::delete_expired,
        usage::delete_expired,
    ];
    for step in steps {
        if let Err(error) = delete_all(app, step).await {
            return tracing::warn!(cause = ?error.cause, "could not delete expired records");
        }
    }
}

/// Deletes batches until there is nothing left to delete or the service stops.
async fn delete_all(
    app: &App,
    batch: impl Fn(&Tx<'_>) -> Result<u64> + Copy + Send + 'static,
) -> Result<()> {
    while !app.is_stopping() && app.db.write(Scope::system("cleanup"), batch).await? > 0 {}
    Ok(())
}

/// Deletes notifications and their deliveries that are older than the retention period.
pub async fn delete_old_notifications(app: &App) {
    if let Err(error) = try_delete_old_notifications(app).await {
        tracing::warn!(cause = ?error.cause, "could not delete old notifications");
    }
}

/// Works account by account in small batches, so that other writes do not wait long.
async fn try_delete_old_notifications(app: &App) -> Result<()> {
    let retention = Retention::new(app.clock.now(), app.config.notification_retention);
    let steps =
        [retention::prune_deliveries, retention::prune_hours, retention::prune_notifications];
    let mut last = AccountId::MIN;
    loop {
        let find = move |db: &Reader<'_>| retention::accounts_to_prune(db, &retention, last);
        let accounts = app.db.read(Scope::system("cleanup"), find).await?;
        let Some(end) = accounts.last() else { return Ok(()) };
        last = end.id;
        for account in accounts.iter().filter(|account| account.old) {
            for step in steps {
                let scope = || Scope::account(account.id, "system");
                while app.db.write(scope(), move |tx| step(tx, &retention)).await? > 0 {
                    if app.is_stopping() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Publishes scheduled messages that are due.
pub async fn publish_scheduled_messages(app: &App) {
    let key = |due: &posting::DueMessage| (due.account_id, due.id);
    process_due(app, "publish scheduled messages", posting::list_due, key, posting::publish_due)
        .await;
}

/// Expires orders that were not paid in time.
pub async fn expire_orders(app: &App) {
    let key = |order: &cancellation::ExpiredOrder| (order.account_id, order.id);
    process_due(app, "expire unpaid orders", cancellation::find_expired, key, cancellation::expire)
        .await;
}

/// Adds late fees to overdue dues.
pub async fn add_late_fees(app: &App) {
    let key = |fee: &late_fee::PendingLateFee| (fee.account_id, fee.id);
    process_due(app, "add late fees", late_fee::list_pending, key, late_fee::add).await;
}

/// Finds due items of all accounts and processes each in a transaction of its account. Every node may run this:
/// `process` does nothing if another node was first. A failed item does not block the others and is tried again in
/// the next run.
async fn process_due<D: Copy + Send + 'static, I: Copy + Display + Send + 'static>(
    app: &App,
    job: &'static str,
    find: fn(&Reader<'_>, Option<D>) -> Result<Vec<D>>,
    key: fn(&D) -> (AccountId, I),
    process: fn(&Tx<'_>, I) -> Result<()>,
) {
    let mut last = None;
    while !app.is_stopping() {
        let due = match app.db.read(Scope::system("jobs"), move |db| find(db, last)).await {
            Ok(due) => due,
            Err(error) => {
                return tracing::warn!(cause = ?error.cause, "could not find items for the job: {job}");
            }
        };
        if due.is_empty() {
            return;
        }
        for (account, id) in due.iter().map(key) {
            let result =
                app.db.write(Scope::account(account, "system"), move |tx| process(tx, id)).await;
            if let Err(error) = result {
                tracing::warn!(%id, cause = ?error.cause, "could not {job}");
            }
        }
        last = due.last().copied();
    }
}

/// Sends reminders for open dues by the schedule of each account. Every node may run this.
pub async fn send_dues_reminders(app: &App) {
    let mut last = AccountId::MIN;
    while !app.is_stopping() {
        let read = app.db.read(Scope::system("reminders"), move |db| reminders::accounts(db, last));
        let Ok(accounts) = read.await else { return };
        let Some(end) = accounts.last() else { return };
        last = *end;
        for account in accounts {
            if let Err(error) = send_account_reminders(app, account).await {
                tracing::warn!(%account, cause = ?error.cause, "could not send reminders for dues");
            }
        }
    }
}

/// Processes each day of the schedule in small batches, so that other writes do not wait long.
async fn send_account_reminders(app: &App, account: AccountId) -> Result<()> {
    let scope = || Scope::account(account, "system");
    for offset in app.db.read(scope(), reminders::schedule).await? {
        let mut after = None;
        while !app.is_stopping() {
            let find = move |db: &Reader<'_>| reminders::list_ready(db, offset, after);
            let batch = app.db.read(scope(), find).await?;
            after = batch.last;
            if after.is_none() {
                break;
            }
            if !batch.ready.is_empty() {
                let remind = move |tx: &Tx<'_>| reminders::send_scheduled(tx, offset, &batch.ready);
                app.db.write(scope(), remind).await?;
            }
        }
    }
    Ok(())
}
