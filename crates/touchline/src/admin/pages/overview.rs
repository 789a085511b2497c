//! The overview: key figures, what needs attention, and the latest changes.

use std::borrow::Cow;

use kit::Kind;

use super::shared::Admin;
use crate::accounts::account;
use crate::admin::summary::{self, FailedEmail, Summary, UpcomingEvent};
use crate::admin::{audit, audit_text};
use crate::doctor;
use crate::ids::{InvitationKind, UserKind};
use crate::names::Names;
use crate::prelude::*;
use crate::signals::AuditEntry;
use crate::web::list::{Cell, Column, list_page};
use crate::web::prelude::*;
use crate::webhooks::summary::WebhookAlerts;

const EVENTS: &str = "/admin/events";
const FAILED_EMAILS: &str = "/admin/failed-emails";

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/admin", get(show))
        .route(EVENTS, get(events))
        .route(FAILED_EMAILS, get(failed_emails))
}

/// Something that needs an admin's attention.
struct Alert {
    kind: &'static str,
    text: String,
    href: Cow<'static, str>,
    action: &'static str,
}

/// One entry of the audit log, formatted.
struct ActivityItem {
    label: String,
    actor: String,
    subject: Option<String>,
    at: Timestamp,
}

#[derive(Template)]
#[template(path = "admin/overview.html")]
struct Overview {
    frame: Frame,
    summary: Summary,
    alerts: Vec<Alert>,
    activity: Vec<ActivityItem>,
    now: Timestamp,
}

impl Overview {
    /// The note below the number of users: how many invitations are open.
    fn invitations_label(&self) -> String {
        match self.summary.invitations {
            0 => String::new(),
            count => tn!("{count} invited", "{count} invited", count),
        }
    }
}

async fn show(visitor: Admin) -> PageResult {
    let read = |db: &Reader<'_>| {
        let summary = summary::load(db)?;
        let activity = describe_entries(db, &summary.latest)?;
        Ok((summary, activity))
    };
    let (summary, activity) = visitor.read(read).await?;
    let now = visitor.app().clock.now();
    let data = visitor.app().config.data.clone();
    // Reading the backup folder blocks, so it runs outside of the async runtime.
    let age = tokio::task::spawn_blocking(move || doctor::backup_age(&data, now)).await;
    let age = age.map_err(|error| Error::internal(error.to_string()))?;
    let alerts = alerts(&summary, age);
    let flash =
        visitor.guest.done_flash(&[("joined", mark!("Welcome. You can now manage the club."))]);
    let frame = visitor.frame(t!("Overview"), Section::Overview).flash(flash);
    let page = Overview { frame, summary, alerts, activity, now };
    render(StatusCode::OK, &page)
}

/// Formats entries of the audit log and resolves the names in them.
fn describe_entries(db: &Reader<'_>, entries: &[AuditEntry]) -> Result<Vec<ActivityItem>> {
    let actors = entries.iter().map(|entry| audit::actor_and_app(entry).0);
    let subjects = entries.iter().map(|entry| entry.subject.as_str());
    let names = Names::load(db, actors.clone().chain(subjects))?;
    let item = |(entry, actor): (&AuditEntry, &str)| ActivityItem {
        label: audit_text::action_label(&entry.action),
        actor: names.get(actor).unwrap_or_else(|| unnamed_actor_label(actor)).to_owned(),
        subject: names.get(&entry.subject).map(str::to_owned),
        at: entry.at,
    };
    Ok(entries.iter().zip(actors).map(item).collect())
}

/// What to call an actor who has no name in the club.
fn unnamed_actor_label(actor: &str) -> &str {
    if actor.starts_with(UserKind::PREFIX) {
        t!("Someone outside the club")
    } else if actor.starts_with(InvitationKind::PREFIX) {
        t!("Someone with an invitation")
    } else {
        actor
    }
}

/// What needs attention, most urgent first.
fn alerts(summary: &Summary, backup_age: Option<i64>) -> Vec<Alert> {
    let alert = |kind, text: Option<String>, href: &'static str, action| {
        text.map(|text| Alert { kind, text, href: href.into(), action })
    };
    let some = |count: i64, text: fn(i64) -> String| (count > 0).then(|| text(count));
    let backup = backup_age.filter(|days| *days > doctor::MAX_BACKUP_AGE_DAYS).map(|days| {
        tn!("The last backup is {count} day old", "The last backup is {count} days old", days)
    });
    let demo = summary.account.demo.then(|| t!("This is the demo club").to_owned());
    let owners = some(summary.owners_without_two_step, |count| {
        tn!(
            "{count} owner has no two-step sign-in",
            "{count} owners have no two-step sign-in",
            count
        )
    });
    let emails = some(summary.failed_emails, |count| {
        tn!("{count} email was not delivered", "{count} emails were not delivered", count)
    });
    let expiring = some(summary.expiring_keys, |count| {
        tn!(
            "{count} API key expires within 14 days",
            "{count} API keys expire within 14 days",
            count
        )
    });
    let old = some(summary.old_keys, |count| {
        tn!(
            "{count} API key is older than 90 days",
            "{count} API keys are older than 90 days",
            count
        )
    });
    let claims = some(summary.claims, |count| {
        tn!("{count} person wants to join", "{count} people want to join", count)
    });
    let [turned_off, failing] = webhook_alerts(&summary.webhooks);
    [
        turned_off,
        alert("warn", claims, "/admin/members/claims", t!("Review requests")),
        alert("warn", owners, "/admin/members?role=owner&two_step=off", t!("View owners")),
        alert("warn", emails, FAILED_EMAILS, t!("View emails")),
        failing,
        alert("warn", expiring, "/admin/keys?state=expiring", t!("View keys")),
        alert("info", old, "/admin/keys?state=old", t!("View keys")),
        alert("warn", backup, "/admin/health", t!("View details")),
        alert("info", demo, "/admin/settings", t!("Settings")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Webhooks that need attention. A single one is linked directly, because its own page says more.
fn webhook_alerts(waiting: &WebhookAlerts) -> [Option<Alert>; 2] {
    let alert = |kind, ids: &[WebhookId], state: &str, text: String| {
        let href = match ids {
            [] => return None,
            [id] => format!("/admin/webhooks/{id}"),
            _ => format!("/admin/webhooks?state={state}"),
        };
        Some(Alert { kind, text, href: href.into(), action: t!("View details") })
    };
    let WebhookAlerts { turned_off, failing, .. } = waiting;
    let off_text =
        tn!("A webhook was turned off", "{count} webhooks were turned off", turned_off.len());
    let failing_text = tn!("A webhook is failing", "{count} webhooks are failing", failing.len());
    [
        alert("danger", turned_off, "turned_off", off_text),
        alert("warn", failing, "failing", failing_text),
    ]
}

list_page!(EventsPage, "admin/overview_events.html");

const EVENT_COLUMNS: &[Column<UpcomingEvent>] = &[
    Column::page("Event", |event| Cell::name(&event.title)),
    Column::page("Team", |event| Cell::name(&event.team)),
    Column::page("Starts", |event| Cell::Appointment(event.starts_at)),
];

async fn events(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let events = RowPage::read(&visitor, &request, summary::upcoming_events).await?;
    let times = (visitor.app().clock.now(), visitor.read(account::find).await?.timezone);
    let list = events.list(t!("Events in the next 7 days"), EVENT_COLUMNS, &times);
    let frame = visitor.frame(t!("Events in the next 7 days"), Section::Overview);
    render(StatusCode::OK, &EventsPage { frame, list })
}

list_page!(FailedEmailsPage, "admin/overview_failed_emails.html");

const EMAIL_COLUMNS: &[Column<FailedEmail>] = &[
    Column::page("Recipient", |email| {
        Cell::name(&email.to_name).and(Cell::Email(&email.to_address).about())
    }),
    Column::page("Subject", |email| Cell::name(&email.subject)),
    Column::page("Reason", |email| Cell::name(email.last_error.as_deref().unwrap_or_default())),
    Column::page("When", |email| Cell::Age(email.updated_at)),
];

async fn failed_emails(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let emails = RowPage::read(&visitor, &request, summary::failed_emails).await?;
    let list = emails.list(t!("Failed emails"), EMAIL_COLUMNS, &visitor.times());
    let frame = visitor.frame(t!("Failed emails"), Section::Overview);
    render(StatusCode::OK, &FailedEmailsPage { frame, list })
}
