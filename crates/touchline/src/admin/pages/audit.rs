//! The audit log: who did what, newest first, with what changed.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kit::{Day, Timestamp, Zone};
use serde_json::json;
use store::Tx;

use super::shared::{Admin, show};
use crate::accounts::account;
use crate::accounts::rights::Reach;
use crate::admin::audit::{self, AuditTable, Filter};
use crate::admin::words::{self, Member, Told};
use crate::app::App;
use crate::error::Result;
use crate::exports::api::{Source, send};
use crate::names::{self, Names};
use crate::paging::{Order, Page};
use crate::signals::{self, AuditEntry, Tell};
use crate::web::form::Form;
use crate::web::leaf::Asked;
use crate::web::page::{Frame, Section};
use crate::web::visitor::Outcome;

/// So many of the latest entries are checked whenever the page is looked at.
const CHECKED: i64 = 500;
/// No field of the filter is longer.
const LONGEST: usize = 100;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/admin/audit", get(list))
        .route("/admin/audit.csv", get(download))
        .route("/admin/audit/check", get(check))
}

/// What was typed into the filter.
#[derive(Debug, Clone)]
struct Typed {
    actor: String,
    action: String,
    subject: String,
    from: String,
    to: String,
    /// What is wrong with the days.
    wrong: &'static str,
}

impl Typed {
    /// Reads the filter; a day is meant in the club's zone, and the last day counts as a whole.
    fn read(form: &Form, zone: &Zone) -> (Self, Filter) {
        let text = |name: &str| form.text(name).chars().take(LONGEST).collect::<String>();
        let day = |name: &str| form.maybe(name).map(str::parse::<Day>);
        let begin = |day: Day| zone.nearest(day.at_midnight());
        let (from, to) = (day("from"), day("to"));
        let wrong = matches!(from, Some(Err(_))) || matches!(to, Some(Err(_)));
        let known =
            |day: Option<std::result::Result<Day, _>>| day.and_then(std::result::Result::ok);
        let maybe = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let typed = Self {
            actor: text("actor"),
            action: text("action"),
            subject: text("subject"),
            from: text("from"),
            to: text("to"),
            wrong: if wrong { "Write days like 2026-09-05." } else { "" },
        };
        let filter = Filter {
            actor: maybe(&typed.actor),
            action: maybe(&typed.action),
            subject: maybe(&typed.subject),
            from: known(from).and_then(begin),
            until: known(to).and_then(|day| day.plus_days(1)).and_then(begin),
        };
        (typed, filter)
    }

    fn is_empty(&self) -> bool {
        [&self.actor, &self.action, &self.subject, &self.from, &self.to]
            .iter()
            .all(|text| text.is_empty())
    }
}

/// Whoever or whatever an entry names: their name, and the page about them.
struct Named {
    /// Empty where it is no id.
    id: String,
    name: String,
    href: String,
}

impl Named {
    fn new(id: &str, names: &Names) -> Self {
        let known = names.of_id(id);
        let name = known.or_else(|| names::noun(id)).unwrap_or(id).to_owned();
        let href = known.and_then(|_| page_of(id)).unwrap_or_default();
        let id = if names::is_id(id) { id.to_owned() } else { String::new() };
        Self { id, name, href }
    }

    /// A value of the details, in which lists are written with commas.
    fn value(text: String, names: &Names) -> Self {
        if names::is_id(&text) {
            return Self::new(&text, names);
        }
        let parts: Vec<_> = text.split(", ").collect();
        let listed = parts.len() > 1 && parts.iter().all(|part| names::is_id(part));
        let called: Vec<_> = parts.iter().map(|part| names.or_id(part)).collect();
        let name = if listed { called.join(", ") } else { text };
        Self { id: String::new(), name, href: String::new() }
    }
}

/// The page about something in the admin area, if there is one.
fn page_of(id: &str) -> Option<String> {
    let (prefix, _) = id.split_once('_')?;
    Some(match prefix {
        "key" => format!("/admin/keys/{id}"),
        "app" => format!("/admin/apps/{id}"),
        "whk" => format!("/admin/webhooks/{id}"),
        "usr" => format!("/admin/members/{id}"),
        "ord" => format!("/admin/orders/{id}"),
        "due" => format!("/admin/dues/{id}"),
        "prod" => format!("/admin/store/products/{id}"),
        "dsc" => format!("/admin/store/codes/{id}"),
        "inv" => "/admin/members/invitations".to_owned(),
        "clm" => "/admin/members/claims".to_owned(),
        _ => return None,
    })
}

/// A member of the details, with names in place of ids.
struct Detail {
    name: String,
    before: Option<Named>,
    after: Named,
}

/// What an entry says beside who did what.
enum Details {
    Erased,
    Nothing,
    Listed(Vec<Detail>),
}

impl Details {
    fn new(told: Told, names: &Names) -> Self {
        let detail = |member: Member| Detail {
            name: member.name.trim_end_matches(" id").to_owned(),
            before: member.before.map(|text| Named::value(text, names)),
            after: Named::value(member.after, names),
        };
        match told {
            Told::Erased => Self::Erased,
            Told::Nothing => Self::Nothing,
            Told::Members(members) => Self::Listed(members.into_iter().map(detail).collect()),
        }
    }
}

/// An entry as it is shown.
struct Shown {
    position: i64,
    at: Timestamp,
    who: Named,
    via: Option<Named>,
    deed: String,
    action: String,
    subject: Named,
    request: Option<String>,
    details: Details,
}

impl Shown {
    fn new(entry: AuditEntry, names: &Names) -> Self {
        let (actor, app) = audit::doer(&entry);
        Self {
            position: entry.position,
            at: entry.at,
            who: Named::new(actor, names),
            via: app.map(|app| Named::new(app, names)),
            deed: words::deed(&entry.action),
            subject: Named::new(&entry.subject, names),
            details: Details::new(words::told(entry.details.as_deref()), names),
            action: entry.action,
            request: entry.request,
        }
    }
}

#[derive(Template)]
#[template(path = "admin/audit.html")]
struct ListPage {
    frame: Frame,
    typed: Typed,
    entries: Vec<Shown>,
    next: String,
    cut_short: bool,
    /// The address of the same entries as a file.
    file: String,
    /// How many entries there are in all, and whether the latest fit together.
    count: i64,
    holds: bool,
    zone: Zone,
}

async fn list(visitor: Admin) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let zone = visitor.read(account::find).await?.timezone;
    let (typed, filter) = Typed::read(&asked.form, &zone);
    let page: Page<i64> = asked.page(&visitor)?;
    let (before, limit) = (page.last, page.limit);
    let look = move |db: &store::Reader<'_>| {
        let stretch = audit::look(db, &filter, before, limit)?;
        let names = Names::of(db, stretch.entries.iter().flat_map(audit::mentioned))?;
        let holds = signals::holds_lately(db, CHECKED)?;
        Ok((stretch, names, signals::entries(db)?, holds))
    };
    let (stretch, names, count, holds) = visitor.read(look).await?;
    let next = stretch.next.map(|place| asked.next(&visitor, &place)).transpose()?;
    let page = ListPage {
        frame: visitor.frame("Audit log", Section::AuditLog),
        file: format!("/admin/audit.csv?{}", asked.filters()),
        typed,
        entries: stretch.entries.into_iter().map(|entry| Shown::new(entry, &names)).collect(),
        next: next.unwrap_or_default(),
        cut_short: stretch.cut_short,
        count,
        holds,
        zone,
    };
    show(StatusCode::OK, &page)
}

async fn download(visitor: Admin) -> Outcome<Response> {
    let zone = visitor.read(account::find).await?.timezone;
    let (typed, filter) = Typed::read(&visitor.guest.query()?, &zone);
    let account = visitor.club()?.to_string();
    let details = json!({
        "actor": typed.actor, "action": typed.action, "subject": typed.subject,
        "from": typed.from, "to": typed.to,
    });
    let enter = move |tx: &Tx<'_>| tx.audit("audit_log.exported", &account, &details);
    visitor.write(enter).await?;
    let (app, scope) = (visitor.app().clone(), visitor.scope()?);
    let source = Source { app, scope, reach: Reach::Everywhere };
    Ok(send(source, "audit.csv", AuditTable(filter), false).await?)
}

#[derive(Template)]
#[template(path = "admin/audit_check.html")]
struct CheckPage {
    frame: Frame,
    count: i64,
    fault: Option<String>,
}

/// Walks through the whole log.
async fn check(visitor: Admin) -> Outcome<Response> {
    let look =
        |db: &store::Reader<'_>| -> Result<_> { Ok((signals::entries(db)?, signals::verify(db)?)) };
    let scope = visitor.scope()?.at_length();
    let (count, fault) = visitor.app().db.snapshot(scope, look).await?;
    let frame = visitor.frame("Check of the audit log", Section::AuditLog);
    show(StatusCode::OK, &CheckPage { frame, count, fault })
}
