//! The audit log: who did what, newest first, with the changed fields.

use askama::filters::HtmlSafe;

use super::shared::Admin;
use crate::accounts::account;
use crate::admin::audit::{self, AuditTable, Filter};
use crate::admin::audit_text::{self, FieldChange};
use crate::i18n::{Html, ToValue, Value};
use crate::names::{self, Names};
use crate::prelude::*;
use crate::signals::{self, AuditEntry};
use crate::web::export::ExportSource;
use crate::web::filters;
use crate::web::list::FilterBar;
use crate::web::prelude::*;

/// How many of the newest entries are verified each time the page is shown.
const VERIFIED_ENTRIES: i64 = 500;
/// How many characters of a filter field are read.
const MAX_FILTER_CHARS: usize = 100;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/admin/audit", get(list))
        .route("/admin/audit.csv", get(download))
        .route("/admin/audit/check", get(check))
}

/// Reads the filter. Days are in the club's time zone, and the last day is included.
fn read_filter(filters: &FilterBar, zone: &Zone) -> Filter {
    let text = |name| Some(short_text(filters, name)).filter(|text| !text.is_empty());
    let day = |name| filters.value::<Day>(name);
    let midnight = |day: Day| zone.resolve(day.at_midnight());
    Filter {
        actor: text("actor"),
        action: text("action"),
        subject: text("subject"),
        from: day("from").and_then(midnight),
        until: day("to").and_then(|day| day.plus_days(1)).and_then(midnight),
    }
}

fn short_text(filters: &FilterBar, name: &str) -> String {
    filters.text(name).chars().take(MAX_FILTER_CHARS).collect()
}

fn filter_bar(query: &Form) -> FilterBar {
    let is_invalid = |name| query.optional(name).is_some_and(|text| text.parse::<Day>().is_err());
    let error = if is_invalid("from") || is_invalid("to") {
        t!("Choose a date from the calendar, or enter year, month and day, such as 2026-09-05.")
    } else {
        ""
    };
    FilterBar::new(query)
        .input("actor", "Actor ID", "text")
        .input("action", "Action, such as api_key", "text")
        .input("subject", "Object ID", "text")
        .date("from", "From", error)
        .date("to", "To", "")
        .clear("/admin/audit")
}

/// A name in an entry, with a link to its page in the admin area.
#[derive(Template)]
#[template(path = "admin/audit_name.html")]
struct NameLink {
    /// Empty if the text is not an id.
    id: String,
    name: String,
    href: String,
}

impl HtmlSafe for NameLink {}

/// In a text with markup (`t_html!`), the element is used as it is.
impl ToValue for NameLink {
    fn to_value(&self) -> Value {
        Html::new(self).to_value()
    }
}

impl NameLink {
    fn new(id: &str, names: &Names) -> Self {
        let resolved = names.get(id);
        let kind = || names::kind_label(id).map(|label| t!(label));
        let name = resolved.or_else(kind).unwrap_or(id).to_owned();
        let href = resolved.and_then(|_| admin_page(id)).unwrap_or_default();
        let id = if names::is_id(id) { id.to_owned() } else { String::new() };
        Self { id, name, href }
    }

    /// A value of the details; a list is joined with commas.
    fn from_value(text: String, names: &Names) -> Self {
        if names::is_id(&text) {
            return Self::new(&text, names);
        }
        let parts: Vec<_> = text.split(", ").collect();
        let is_id_list = parts.len() > 1 && parts.iter().all(|part| names::is_id(part));
        let resolved: Vec<_> = parts.iter().map(|part| names.get_or_id(part)).collect();
        let name = if is_id_list { resolved.join(", ") } else { text };
        Self { id: String::new(), name, href: String::new() }
    }
}

/// The address of an object's page in the admin area, if it has one.
fn admin_page(id: &str) -> Option<String> {
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

/// The details of an entry, with names in place of ids.
fn describe_details(details: &str, names: &Names) -> Vec<FieldChange<NameLink>> {
    let value = |text: String| {
        let time = text.parse().map(filters::format_utc);
        NameLink::from_value(time.unwrap_or(text), names)
    };
    let with_names = |FieldChange { name, before, after }: FieldChange| FieldChange {
        name,
        before: before.map(value),
        after: value(after),
    };
    audit_text::describe_details(details).into_iter().map(with_names).collect()
}

/// An entry, formatted for the page.
struct EntryView {
    position: i64,
    at: Timestamp,
    actor: NameLink,
    via: Option<NameLink>,
    label: String,
    action: String,
    subject: NameLink,
    request: Option<String>,
    /// None if they were erased, because they were about a person.
    details: Option<Vec<FieldChange<NameLink>>>,
}

impl EntryView {
    fn new(entry: AuditEntry, names: &Names) -> Self {
        let (actor, app) = audit::actor_and_app(&entry);
        Self {
            position: entry.position,
            at: entry.at,
            actor: NameLink::new(actor, names),
            via: app.map(|app| NameLink::new(app, names)),
            label: audit_text::action_label(&entry.action),
            subject: NameLink::new(&entry.subject, names),
            details: entry.details.map(|details| describe_details(&details, names)),
            action: entry.action,
            request: entry.request,
        }
    }
}

#[derive(Template)]
#[template(path = "admin/audit.html")]
struct ListPage {
    frame: Frame,
    filters: FilterBar,
    entries: Vec<EntryView>,
    next: String,
    cut_short: bool,
    /// The address of the same entries as CSV.
    csv_href: String,
    /// The number of entries in the log.
    count: i64,
    /// Whether the hash chain of the newest entries is unbroken.
    is_intact: bool,
    zone: Zone,
}

async fn list(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let zone = visitor.read(account::find).await?.timezone;
    let filters = filter_bar(&request.form);
    let filter = read_filter(&filters, &zone);
    let page: Page<i64> = request.page(&visitor)?;
    let (before, limit) = (page.last, page.limit);
    let read = move |db: &store::Reader<'_>| {
        let log = audit::read_page(db, &filter, before, limit)?;
        let names = Names::load(db, log.entries.iter().flat_map(audit::mentioned_ids))?;
        let is_intact = signals::verify_latest(db, VERIFIED_ENTRIES)?;
        Ok((log, names, signals::audit_entry_count(db)?, is_intact))
    };
    let (log, names, count, is_intact) = visitor.read(read).await?;
    let next = log.next.map(|position| request.next_url(&visitor, &position)).transpose()?;
    let page = ListPage {
        frame: visitor.frame(t!("Audit log"), Section::AuditLog),
        csv_href: format!("/admin/audit.csv?{}", request.filters()),
        filters,
        entries: log.entries.into_iter().map(|entry| EntryView::new(entry, &names)).collect(),
        next: next.unwrap_or_default(),
        cut_short: log.cut_short,
        count,
        is_intact,
        zone,
    };
    render(StatusCode::OK, &page)
}

async fn download(visitor: Admin) -> PageResult {
    let zone = visitor.read(account::find).await?.timezone;
    let filters = filter_bar(&visitor.guest.query()?);
    let account = visitor.club()?.to_string();
    let text = |name| short_text(&filters, name);
    let details = json!({
        "actor": text("actor"), "action": text("action"), "subject": text("subject"),
        "from": text("from"), "to": text("to"),
    });
    let record_export = move |tx: &Tx<'_>| tx.audit("audit_log.exported", &account, &details);
    visitor.write(record_export).await?;
    let file = Download { table: AuditTable(read_filter(&filters, &zone)), bom: false };
    Ok(file.send(ExportSource::of_club(&visitor)?, "audit.csv").await?)
}

#[derive(Template)]
#[template(path = "admin/audit_check.html")]
struct CheckPage {
    frame: Frame,
    count: i64,
    fault: Option<String>,
}

/// Verifies the whole log.
async fn check(visitor: Admin) -> PageResult {
    let read = |db: &store::Reader<'_>| -> Result<_> {
        Ok((signals::audit_entry_count(db)?, signals::verify(db)?))
    };
    let scope = visitor.scope()?.long_running();
    let (count, fault) = visitor.app().db.snapshot(scope, read).await?;
    let frame = visitor.frame(t!("Audit log verification"), Section::AuditLog);
    render(StatusCode::OK, &CheckPage { frame, count, fault })
}
