//! Background jobs: deleting expired data, publishing scheduled messages, reminding of events, collecting dues, recording
//! usage.

use std::fmt::Display;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use tokio::sync::watch;

use crate::accounts::{request_log, usage};
use crate::dues::{late_fee, reminders};
use crate::event_reminders;
use crate::files::file::{parse_store_key, store_key};
use crate::files::inventory;
use crate::files::removal::{self, RemovedFile};
use crate::mail::summary;
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
/// How often scheduled messages are published, unpaid orders expire and daily summaries are sent.
const PUBLISH_INTERVAL: Duration = Duration::from_secs(3);
/// How often late fees and reminders for dues are processed.
const DUES_INTERVAL: Duration = Duration::from_secs(60);
/// How often reminders of events without an answer are sent.
const REMINDER_INTERVAL: Duration = Duration::from_secs(60);
/// How often bytes without a row are looked for in the file store.
const FILE_SWEEP_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// The number of keys of the file store that are compared with the database at once.
const FILE_SWEEP_BATCH: usize = 500;
/// How often usage counters are written to the database.
const USAGE_INTERVAL: Duration = Duration::from_secs(10);

/// Runs all background jobs until the service stops.
pub async fn run(app: App, stop: watch::Receiver<bool>) {
    let app = &app;
    let clean_up = move || async move {
        delete_expired_idempotency_keys(app).await;
        delete_expired_records(app).await;
        delete_old_notifications(app).await;
        remove_unattached_files(app).await;
        delete_removed_files(app).await;
    };
    let publish = move || async move {
        publish_scheduled_messages(app).await;
        expire_orders(app).await;
        send_daily_summaries(app).await;
    };
    let collect_dues = move || async move {
        add_late_fees(app).await;
        send_dues_reminders(app).await;
    };
    let remind = move || send_event_reminders(app);
    tokio::join!(
        repeat(CLEANUP_INTERVAL, stop.clone(), clean_up),
        repeat(PUBLISH_INTERVAL, stop.clone(), publish),
        repeat(DUES_INTERVAL, stop.clone(), collect_dues),
        repeat(REMINDER_INTERVAL, stop.clone(), remind),
        repeat(FILE_SWEEP_INTERVAL, stop.clone(), move || delete_stray_files(app)),
        // `App::finish` writes the counts of the last interval.
        repeat(USAGE_INTERVAL, stop, move || async {
            app.flush_usage().await;
            app.flush_request_log(None).await;
        })
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
        request_log::delete_expired,
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

/// Adds the daily summaries that are due to the outbox.
pub async fn send_daily_summaries(app: &App) {
    let key = |email: &summary::DueEmail| (email.account_id, email.id);
    process_due(app, "create a daily summary", summary::list_due, key, summary::create).await;
}

/// Adds late fees to overdue dues.
pub async fn add_late_fees(app: &App) {
    let key = |fee: &late_fee::PendingLateFee| (fee.account_id, fee.id);
    process_due(app, "add late fees", late_fee::list_pending, key, late_fee::add).await;
}

/// Reminds people who have not answered events, some hours before the time for answers ends.
pub async fn send_event_reminders(app: &App) {
    let events_url = app.url("/events");
    let send = move |tx: &Tx<'_>, id: EventId| {
        event_reminders::send_due(tx, id, &format!("{events_url}/{id}"))
    };
    let key = |due: &event_reminders::reminder::DueReminder| (due.account_id, due.id);
    process_due(app, "send reminders of events", event_reminders::list_due, key, send).await;
}

/// Removes files that were not attached to anything in time.
pub async fn remove_unattached_files(app: &App) {
    let key = |file: &removal::UnattachedFile| (file.account_id, file.id);
    let (find, remove) = (removal::list_unattached, removal::remove_unattached);
    process_due(app, "remove unused files", find, key, remove).await;
}

/// Deletes the bytes of removed files from the file store, and then their rows. Every node may run this.
pub async fn delete_removed_files(app: &App) {
    let mut last = FileId::MIN;
    while !app.is_stopping() {
        let find = move |db: &Reader<'_>| removal::list_removed(db, last);
        let Ok(files) = app.db.read(Scope::system("files"), find).await else { return };
        let Some(end) = files.last() else { return };
        last = end.id;
        for file in files {
            if let Err(error) = delete_removed_file(app, file).await {
                tracing::warn!(id = %file.id, cause = ?error.cause, "could not delete a file");
            }
        }
    }
}

async fn delete_removed_file(app: &App, file: RemovedFile) -> Result<()> {
    let RemovedFile { account_id, id, content_type } = file;
    app.files.delete(&store_key(account_id, id, false)).await?;
    if content_type.is_image() {
        app.files.delete(&store_key(account_id, id, true)).await?;
    }
    let scope = Scope::account(account_id, "system");
    app.db.write(scope, move |tx| removal::delete(tx, id)).await
}

/// Deletes bytes without a row, which a crash or a deleted account left in the file store. Every node may run this.
pub async fn delete_stray_files(app: &App) {
    if let Err(error) = try_delete_stray_files(app).await {
        tracing::warn!(cause = ?error.cause, "could not look for unused files in the file store");
    }
}

async fn try_delete_stray_files(app: &App) -> Result<()> {
    let until = app.clock.now().minus(removal::UNATTACHED_TTL).micros() / 1000;
    // The row of a file that is being uploaded may not exist yet.
    let is_old = |id: FileId| i64::try_from(id.millis()).is_ok_and(|millis| millis < until);
    let mut keys = app.files.list()?.try_chunks(FILE_SWEEP_BATCH);
    while let Some(batch) = keys.next().await {
        let batch = batch.map_err(|error| error.1)?.into_iter();
        let ours = batch.filter_map(|key| {
            let (account, id) = parse_store_key(&key)?;
            is_old(id).then_some((key, account, id))
        });
        let ours: Vec<_> = ours.collect();
        let find = move |db: &Reader<'_>| inventory::without_row(db, ours);
        for key in app.db.read(Scope::system("files"), find).await? {
            app.files.delete(&key).await?;
        }
        if app.is_stopping() {
            return Ok(());
        }
    }
    Ok(())
}

/// Finds due items of all accounts and processes each in a transaction of its account. Every node may run this:
/// `process` does nothing if another node was first. A failed item does not block the others and is tried again in
/// the next run.
async fn process_due<D: Copy + Send + 'static, I: Copy + Display + Send + 'static>(
    app: &App,
    job: &'static str,
    find: fn(&Reader<'_>, Option<D>) -> Result<Vec<D>>,
    key: fn(&D) -> (AccountId, I),
    process: impl Fn(&Tx<'_>, I) -> Result<()> + Clone + Send + 'static,
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
            let (scope, process) = (Scope::account(account, "system"), process.clone());
            let result = app.db.write(scope, move |tx| process(tx, id)).await;
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
