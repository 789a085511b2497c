//! What is done beside requests: forgetting what is too old to be needed, publishing what is due.

use std::fmt::Display;
use std::time::Duration;

use store::{Reader, Scope, Tx};
use tokio::sync::watch;

use crate::accounts::usage;
use crate::app::App;
use crate::dues::{late, reminders};
use crate::error::Result;
use crate::ids::AccountId;
use crate::messages::posting;
use crate::oauth::{code, grant, request, token};
use crate::shop::ending;
use crate::signin::forgetting;
use crate::web::idempotency;
use crate::web::server::told;
use crate::webhooks::notifications::keeping::{self, Kept};

/// How often old idempotency keys are looked for.
const FORGET_EVERY: Duration = Duration::from_secs(60);
/// How often messages whose time has come, and orders whose time is over, are looked for.
const PUBLISH_EVERY: Duration = Duration::from_secs(3);
/// How often dues are looked for that are overdue, or of which families are to be reminded.
const DUES_EVERY: Duration = Duration::from_secs(60);
/// How often it is written down what was counted.
const WRITE_USAGE_EVERY: Duration = Duration::from_secs(10);

/// Does what there is to do until the service stops.
pub async fn run(app: App, stop: watch::Receiver<bool>) {
    tokio::join!(
        forgetting(&app, stop.clone()),
        publishing(&app, stop.clone()),
        collecting(&app, stop.clone()),
        counting(&app, stop)
    );
}

async fn forgetting(app: &App, mut stop: watch::Receiver<bool>) {
    loop {
        forget_old_keys(app).await;
        forget_what_ended(app).await;
        forget_old_news(app).await;
        if stopped_within(FORGET_EVERY, &mut stop).await {
            return;
        }
    }
}

async fn publishing(app: &App, mut stop: watch::Receiver<bool>) {
    loop {
        publish_due(app).await;
        expire_orders(app).await;
        if stopped_within(PUBLISH_EVERY, &mut stop).await {
            return;
        }
    }
}

async fn collecting(app: &App, mut stop: watch::Receiver<bool>) {
    loop {
        add_late_fees(app).await;
        remind(app).await;
        if stopped_within(DUES_EVERY, &mut stop).await {
            return;
        }
    }
}

async fn counting(app: &App, mut stop: watch::Receiver<bool>) {
    // What comes after the last time is written down when the service ends.
    while !stopped_within(WRITE_USAGE_EVERY, &mut stop).await {
        write_usage(app).await;
    }
}

/// Waits so long, unless the service stops before.
async fn stopped_within(time: Duration, stop: &mut watch::Receiver<bool>) -> bool {
    tokio::time::timeout(time, told(stop)).await.is_ok()
}

/// Forgets idempotency keys past their time in small steps, so that no write waits long.
pub async fn forget_old_keys(app: &App) {
    let kept = app.config.idempotency_ttl;
    while !app.is_stopping() {
        let forgotten =
            app.db.write(Scope::system("forget"), move |tx| idempotency::forget(tx, kept)).await;
        match forgotten {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "could not forget old idempotency keys");
                return;
            }
        }
    }
}

/// Forgets what signing in left behind, what apps no longer need and old hours of usage, in small steps.
pub async fn forget_what_ended(app: &App) {
    let steps = [
        forgetting::forget,
        request::forget,
        code::forget,
        token::forget,
        grant::forget,
        usage::forget,
    ];
    for step in steps {
        while !app.is_stopping() {
            match app.db.write(Scope::system("forget"), step).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(cause = ?error.cause, "could not forget what has ended");
                    return;
                }
            }
        }
    }
}

/// Forgets notifications, and what became of them, once they were kept long enough.
pub async fn forget_old_news(app: &App) {
    if let Err(error) = forget_news(app).await {
        tracing::warn!(cause = ?error.cause, "could not forget old notifications");
    }
}

/// Account by account, in small steps, so that no write waits long.
async fn forget_news(app: &App) -> Result<()> {
    let kept = Kept::until(app.clock.now(), app.config.news_kept);
    let steps = [keeping::forget_deliveries, keeping::forget_hours, keeping::forget_news];
    let mut last = AccountId::LEAST;
    loop {
        let look = move |db: &Reader<'_>| keeping::look(db, &kept, last);
        let looked = app.db.read(Scope::system("forget"), look).await?;
        let Some(end) = looked.last() else { return Ok(()) };
        last = end.id;
        for account in looked.iter().filter(|account| account.old) {
            for step in steps {
                let scope = || Scope::account(account.id, "system");
                while app.db.write(scope(), move |tx| step(tx, &kept)).await? > 0 {
                    if app.is_stopping() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Writes down how often keys and apps were used. What cannot be written now is kept for the next time.
pub async fn write_usage(app: &App) {
    for (account, counts) in app.usage.take() {
        // Not among the account's writes: none of them should wait for this.
        let scope = Scope::account(account, "system").beside("usage");
        let counted = counts.clone();
        let written = app.db.write(scope, move |tx| usage::write(tx, &counted)).await;
        if let Err(error) = written {
            tracing::warn!(cause = ?error.cause, "could not write down how often keys were used");
            app.usage.put_back(account, counts);
        }
    }
}

/// Publishes the messages whose time has come.
pub async fn publish_due(app: &App) {
    let of = |due: &posting::Due| (due.account_id, due.id);
    each(app, "publish messages", posting::due, of, posting::publish_due).await;
}

/// Ends the orders that were not paid in time.
pub async fn expire_orders(app: &App) {
    let of = |late: &ending::Late| (late.account_id, late.id);
    each(app, "end unpaid orders", ending::late, of, ending::expire).await;
}

/// Adds late fees to what is overdue.
pub async fn add_late_fees(app: &App) {
    let of = |late: &late::Late| (late.account_id, late.id);
    each(app, "add late fees", late::due_now, of, late::add).await;
}

/// Looks what is due, whoever's it is, and does it, each in a job of its own account. Every node may do so: whoever
/// comes second finds it done. One that fails stays for the next time and holds up nobody.
async fn each<D: Copy + Send + 'static, I: Copy + Display + Send + 'static>(
    app: &App,
    what: &'static str,
    look: fn(&Reader<'_>, Option<D>) -> Result<Vec<D>>,
    of: fn(&D) -> (AccountId, I),
    act: fn(&Tx<'_>, I) -> Result<()>,
) {
    let mut last = None;
    while !app.is_stopping() {
        let due = match app.db.read(Scope::system("jobs"), move |db| look(db, last)).await {
            Ok(due) => due,
            Err(error) => return tracing::warn!(cause = ?error.cause, "could not look: {what}"),
        };
        if due.is_empty() {
            return;
        }
        for (account, id) in due.iter().map(of) {
            let done = app.db.write(Scope::account(account, "system"), move |tx| act(tx, id)).await;
            if let Err(error) = done {
                tracing::warn!(%id, cause = ?error.cause, "could not {what}");
            }
        }
        last = due.last().copied();
    }
}

/// Reminds families of what they owe, by the schedule of each account. Every node may do so.
pub async fn remind(app: &App) {
    let mut last = AccountId::LEAST;
    while !app.is_stopping() {
        let read = app.db.read(Scope::system("remind"), move |db| reminders::accounts(db, last));
        let Ok(accounts) = read.await else { return };
        let Some(end) = accounts.last() else { return };
        last = *end;
        for account in accounts {
            if let Err(error) = remind_account(app, account).await {
                tracing::warn!(%account, cause = ?error.cause, "could not remind of dues");
            }
        }
    }
}

/// Day by day of the schedule, in small steps, so that no write waits long.
async fn remind_account(app: &App, account: AccountId) -> Result<()> {
    let scope = || Scope::account(account, "system");
    for offset in app.db.read(scope(), reminders::schedule).await? {
        let mut after = None;
        while !app.is_stopping() {
            let look = move |db: &Reader<'_>| reminders::due_now(db, offset, after);
            let found = app.db.read(scope(), look).await?;
            after = found.last;
            if after.is_none() {
                break;
            }
            if !found.ready.is_empty() {
                let remind = move |tx: &Tx<'_>| reminders::remind_all(tx, offset, &found.ready);
                app.db.write(scope(), remind).await?;
            }
        }
    }
    Ok(())
}
