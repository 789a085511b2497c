//! The page of one webhook: its settings, its health and its deliveries.

use super::display::{self, DayChart};
use super::form::team_names;
use super::{WebhookAdmin, load_names, render, webhook_path};
use crate::accounts::account;
use crate::names::Names;
use crate::prelude::*;
use crate::web::list::FilterBar;
use crate::web::prelude::*;
use crate::webhooks::delivery::{Delivery, Status as DeliveryStatus};
use crate::webhooks::summary::{self, DeliverySearch, Last24Hours, Search, Undelivered};
use crate::webhooks::webhook::{self, Ordering, Status, Webhook};

/// The messages after an action.
const DONE: [(&str, &str); 7] = [
    ("saved", mark!("The webhook was saved.")),
    ("off", mark!("The webhook is off. Nothing is sent to it.")),
    ("on", mark!("The webhook is on. It receives notifications from now on.")),
    ("on-missed", mark!("The webhook is on. The missed notifications are being sent.")),
    ("on-before", mark!("The webhook was already on. Nothing was changed.")),
    ("replay", mark!("The replay has started.")),
    (
        "before",
        mark!(
            "You already submitted this form. It was processed once, and the secret was shown then. If you did not copy the secret, rotate it."
        ),
    ),
];
/// The options of the status filter.
const STATUSES: [(&str, &str); 3] =
    [("succeeded", mark!("Delivered")), ("pending", mark!("Pending")), ("failed", mark!("Failed"))];
/// The maximum length of a search.
const MAX_SEARCH_LENGTH: usize = 100;

/// A delivery as it is listed.
struct Row {
    delivery: Delivery,
    badge: (&'static str, &'static str),
    last_result: String,
    is_due_soon: bool,
}

impl Row {
    fn new(delivery: Delivery, now: Timestamp) -> Self {
        Self {
            badge: display::delivery_badge(&delivery),
            last_result: display::last_result(&delivery),
            is_due_soon: delivery
                .next_attempt_at
                .is_some_and(|next| display::is_within_a_minute(next, now)),
            delivery,
        }
    }
}

/// What the page shows apart from the deliveries.
struct PageData {
    webhook: Webhook,
    names: Names,
    teams: Vec<String>,
    zone: Zone,
    day: Last24Hours,
    undelivered: Undelivered,
    /// How many notifications it has missed while it was off or failing, and whether there may be more.
    missed: (i64, bool),
}

fn load(db: &Reader<'_>, id: WebhookId) -> Result<PageData> {
    let webhook = webhook::find(db, id)?;
    let may_have_missed = webhook.status == Status::Disabled || webhook.failing_since.is_some();
    let missed = if may_have_missed { summary::count_missed(db, &webhook)? } else { (0, false) };
    Ok(PageData {
        names: load_names(db, &webhook)?,
        teams: team_names(db, &webhook)?,
        zone: account::find(db)?.timezone,
        day: summary::day(db, id)?,
        undelivered: summary::count_undelivered(db, id)?,
        missed,
        webhook,
    })
}

#[derive(Template)]
#[template(path = "webhooks/detail.html")]
struct DetailPage {
    frame: Frame,
    webhook: Webhook,
    creator: String,
    /// The app through which it was created.
    creator_app: Option<String>,
    teams: Vec<String>,
    kind_count: usize,
    badge: (&'static str, &'static str),
    disabled_text: &'static str,
    missed: (i64, bool),
    chart: DayChart,
    /// The hours with attempts, newest first.
    hours: Vec<summary::Hour>,
    undelivered: Undelivered,
    rows: Vec<Row>,
    next: String,
    filters: FilterBar,
    /// The URL of this page, and whether it updates itself.
    page_href: String,
    is_live: bool,
    webhook_href: String,
    now: Timestamp,
    zone: Zone,
}

impl DetailPage {
    fn is_on(&self) -> bool {
        self.webhook.status == Status::Enabled
    }

    fn is_strict(&self) -> bool {
        self.webhook.ordering == Ordering::Strict
    }
}

pub(super) async fn one(
    visitor: WebhookAdmin,
    PathParams(id): PathParams<WebhookId>,
) -> PageResult<Response> {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let q: String = request.form.text("q").chars().take(MAX_SEARCH_LENGTH).collect();
    let status = DeliveryStatus::parse(request.form.text("status"));
    let filter = DeliverySearch { status, search: Search::parse(&q) };
    let is_search = !matches!(filter.search, Search::All);
    let PageData { webhook, names, teams, zone, day, undelivered, missed } =
        visitor.read(move |db| load(db, id)).await?;
    let deliveries = move |db: &Reader<'_>, page: &_| summary::deliveries(db, id, &filter, page);
    let RowPage { rows, next } = RowPage::read(&visitor, &request, deliveries).await?;
    let now = visitor.app().clock.now();
    let filters = request.filters();
    let webhook_href = webhook_path(&webhook);
    let page_href =
        if filters.is_empty() { webhook_href.clone() } else { format!("{webhook_href}?{filters}") };
    let frame = visitor.frame(display::short_url(&webhook.url), Section::Webhooks);
    let via = webhook.creator_app.as_deref().map(|app| names.get_or_id(app).to_owned());
    let page = DetailPage {
        frame: frame.flash(visitor.guest.done_flash(&DONE)),
        creator: names.get_or_id(&webhook.creator).to_owned(),
        creator_app: via,
        teams,
        kind_count: display::count_kinds(&webhook),
        badge: display::webhook_badge(&webhook),
        disabled_text: display::disabled_text(&webhook),
        missed,
        chart: DayChart::new(&day),
        hours: day.0.into_iter().rev().filter(|hour| hour.succeeded + hour.failed > 0).collect(),
        undelivered,
        rows: rows.into_iter().map(|delivery| Row::new(delivery, now)).collect(),
        next,
        filters: FilterBar::new(&request.form)
            .select("status", "Status", "All", STATUSES)
            .input("q", "ID or type", "search")
            .clear(&webhook_href),
        // Older pages rarely change, a search can be slow, and nothing is sent while the webhook is off.
        is_live: webhook.status == Status::Enabled
            && !is_search
            && request.form.optional("cursor").is_none(),
        page_href,
        webhook_href,
        now,
        zone,
        webhook,
    };
    render(StatusCode::OK, &page)
}
