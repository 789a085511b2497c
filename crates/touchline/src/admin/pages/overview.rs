//! The overview: key figures, what needs attention, and the latest changes.

use std::borrow::Cow;

use askama::Template;
use axum::Router;
use axum::routing::get;
use http::StatusCode;
use kit::{Kind, Timestamp, Zone};
use store::Reader;

use crate::accounts::account;
use crate::accounts::permits::AdminArea;
use crate::admin::summary::{self, Ahead, Failed, Summary};
use crate::admin::words;
use crate::app::App;
use crate::doctor;
use crate::error::{Error, Result};
use crate::ids::{InvitationKind, UserKind, WebhookId};
use crate::names::Names;
use crate::paging::Order;
use crate::signals::AuditEntry;
use crate::web::leaf::{Asked, Leaf};
use crate::web::page::{self, Frame, Section};
use crate::web::visitor::{Outcome, Visitor};
use crate::webhooks::summary::Waiting;

const EVENTS: &str = "/admin/events";
const LETTERS: &str = "/admin/letters";

pub(super) fn router() -> Router<App> {
    Router::new().route("/admin", get(show)).route(EVENTS, get(events)).route(LETTERS, get(letters))
}

/// Something that waits for somebody.
struct Need {
    kind: &'static str,
    text: String,
    href: Cow<'static, str>,
    action: &'static str,
}

/// One entry of the audit log, in words.
struct Deed {
    what: String,
    who: String,
    about: Option<String>,
    at: Timestamp,
}

#[derive(Template)]
#[template(path = "admin/overview.html")]
struct Overview {
    frame: Frame,
    summary: Summary,
    needs: Vec<Need>,
    deeds: Vec<Deed>,
    now: Timestamp,
}

impl Overview {
    /// Who may still come, below the number of those who are there.
    fn invited(&self) -> String {
        match self.summary.invitations {
            0 => String::new(),
            count => format!("{count} invited"),
        }
    }
}

async fn show(visitor: Visitor<AdminArea>) -> Outcome {
    let look = |db: &Reader<'_>| {
        let summary = summary::of(db)?;
        let deeds = told(db, &summary.latest)?;
        Ok((summary, deeds))
    };
    let (summary, deeds) = visitor.read(look).await?;
    let now = visitor.app().clock.now();
    let data = visitor.app().config.data.clone();
    // Files are looked at where nobody waits for the database or the network.
    let age = tokio::task::spawn_blocking(move || doctor::backup_age(&data, now)).await;
    let age = age.map_err(|error| Error::internal(error.to_string()))?;
    let needs = needs(&summary, age);
    let flash = visitor.guest.done(&[("joined", "Welcome. You help to run the club now.")]);
    let frame = visitor.frame("Overview", Section::Overview).flash(flash);
    Ok(page::html(StatusCode::OK, &Overview { frame, summary, needs, deeds, now })?)
}

/// Entries of the audit log, in words.
fn told(db: &Reader<'_>, entries: &[AuditEntry]) -> Result<Vec<Deed>> {
    let actor = |entry: &AuditEntry| {
        entry.actor.split_once(" via ").map_or(entry.actor.clone(), |(actor, _)| actor.to_owned())
    };
    let actors: Vec<_> = entries.iter().map(actor).collect();
    let subjects = entries.iter().map(|entry| entry.subject.as_str());
    let names = Names::of(db, actors.iter().map(String::as_str).chain(subjects))?;
    let deed = |(entry, actor): (&AuditEntry, &String)| Deed {
        what: words::deed(&entry.action),
        who: names.of_id(actor).unwrap_or_else(|| stranger(actor)).to_owned(),
        about: names.of_id(&entry.subject).map(str::to_owned),
        at: entry.at,
    };
    Ok(entries.iter().zip(&actors).map(deed).collect())
}

/// Whoever acted and has no name in the club.
fn stranger(actor: &str) -> &str {
    if actor.starts_with(UserKind::PREFIX) {
        "Somebody who is not in the club"
    } else if actor.starts_with(InvitationKind::PREFIX) {
        "Somebody with an invitation"
    } else {
        actor
    }
}

/// What waits for somebody, the most urgent first.
fn needs(summary: &Summary, backup_age: Option<i64>) -> Vec<Need> {
    let some = |count: i64, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let need = |kind, text: Option<String>, href: &'static str, action| {
        text.map(|text| Need { kind, text, href: href.into(), action })
    };
    let backup = backup_age.filter(|days| *days > doctor::OLD_BACKUP_DAYS);
    let backup = backup.map(|days| format!("The last backup is {days} days old"));
    let demo = summary.account.demo.then(|| "This is the demo club".to_owned());
    let owners = some(
        summary.owners_without_two_step,
        "owner signs in with a password alone",
        "owners sign in with a password alone",
    );
    let letters = some(summary.failed_letters, "letter did not arrive", "letters did not arrive");
    let expiring = some(
        summary.expiring_keys,
        "API key expires within 14 days",
        "API keys expire within 14 days",
    );
    let old =
        some(summary.old_keys, "API key is older than 90 days", "API keys are older than 90 days");
    let claims = some(summary.claims, "person wants to join", "people want to join");
    let [turned_off, failing] = webhooks(&summary.webhooks);
    [
        turned_off,
        need("warn", claims, "/admin/members/claims", "Decide"),
        need("warn", owners, "/admin/members?role=owner&two_step=off", "See who"),
        need("warn", letters, LETTERS, "See which"),
        failing,
        need("warn", expiring, "/admin/keys?state=expiring", "See keys"),
        need("info", old, "/admin/keys?state=old", "Replace"),
        need("warn", backup, "/admin/health", "See health"),
        need("info", demo, "/admin/settings", "Settings"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Webhooks that need attention. A single one is linked directly, as its own page says more.
fn webhooks(waiting: &Waiting) -> [Option<Need>; 2] {
    let need = |kind, found: &[WebhookId], state: &str, one: &str, many: &str| {
        let (text, href) = match found {
            [] => return None,
            [id] => (one.to_owned(), format!("/admin/webhooks/{id}")),
            _ => (format!("{} {many}", found.len()), format!("/admin/webhooks?state={state}")),
        };
        Some(Need { kind, text, href: href.into(), action: "See why" })
    };
    let off = ("A webhook was turned off", "webhooks were turned off");
    let failing = ("A webhook is failing", "webhooks are failing");
    [
        need("danger", &waiting.turned_off, "turned_off", off.0, off.1),
        need("warn", &waiting.failing, "failing", failing.0, failing.1),
    ]
}

#[derive(Template)]
#[template(path = "admin/overview_events.html")]
struct Events {
    frame: Frame,
    rows: Vec<Ahead>,
    next: String,
    zone: Zone,
}

async fn events(visitor: Visitor<AdminArea>) -> Outcome {
    let asked = Asked::of(&visitor, Order::Asc)?;
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, summary::week).await?;
    let zone = visitor.read(account::find).await?.timezone;
    let frame = visitor.frame("Events this week", Section::Overview);
    Ok(page::html(StatusCode::OK, &Events { frame, rows, next, zone })?)
}

#[derive(Template)]
#[template(path = "admin/overview_letters.html")]
struct Letters {
    frame: Frame,
    rows: Vec<Failed>,
    next: String,
    now: Timestamp,
}

async fn letters(visitor: Visitor<AdminArea>) -> Outcome {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, summary::failed_letters).await?;
    let frame = visitor.frame("Letters that did not arrive", Section::Overview);
    let now = visitor.app().clock.now();
    Ok(page::html(StatusCode::OK, &Letters { frame, rows, next, now })?)
}
