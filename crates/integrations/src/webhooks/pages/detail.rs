//! The page of one webhook: its settings, its health and its deliveries.

use super::display::DayChart;
use super::form::team_names;
use super::{WebhookAdmin, load_names};
use crate::accounts::account;
use crate::names::Names;
use crate::prelude::*;
use crate::web::list::FilterBar;
use crate::web::prelude::*;
use crate::webhooks::delivery::{Delivery, Status as DeliveryStatus};
use crate::webhooks::summary::{self, Hour, Last24Hours, Search, Undelivered};
use crate::webhooks::webhook::{self, Ordering, Webhook};

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
    let may_have_missed = !webhook.is_on() || webhook.failing_since.is_some();
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
    data: PageData,
    chart: DayChart,
    rows: Vec<Delivery>,
    next: String,
    filters: FilterBar,
    /// The URL of this page, and whether it updates itself.
    page_href: String,
    is_live: bool,
    webhook_href: String,
    now: Timestamp,
}

impl DetailPage {
    /// The hours with attempts, newest first.
    fn hours(&self) -> Vec<&Hour> {
        let hours = self.data.day.0.iter().rev();
        hours.filter(|hour| hour.succeeded + hour.failed > 0).collect()
    }

    fn is_strict(&self) -> bool {
        self.data.webhook.ordering == Ordering::Strict
    }

    fn is_due_soon(&self, delivery: &Delivery) -> bool {
        delivery.is_due_soon(self.now)
    }

    /// The name of the webhook's creator, or of the app through which it was created.
    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.data.names.get_or_id(id)
    }
}

pub(super) async fn one(
    visitor: WebhookAdmin,
    PathParams(id): PathParams<WebhookId>,
) -> PageResult<Response> {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let q: String = request.form.text("q").chars().take(MAX_SEARCH_LENGTH).collect();
    let status = DeliveryStatus::parse(request.form.text("status"));
    let search = Search::parse(&q);
    let is_search = !matches!(search, Search::All);
    let data = visitor.read(move |db| load(db, id)).await?;
    let deliveries =
        move |db: &Reader<'_>, page: &_| summary::deliveries(db, id, (status, &search), page);
    let RowPage { rows, next } = RowPage::read(&visitor, &request, deliveries).await?;
    let filters = request.filters();
    let webhook_href = data.webhook.path();
    let page_href =
        if filters.is_empty() { webhook_href.clone() } else { format!("{webhook_href}?{filters}") };
    let frame = visitor.frame(data.webhook.short_url(), Section::Webhooks);
    let page = DetailPage {
        frame: frame.flash(visitor.guest.done_flash(&DONE)),
        chart: DayChart::new(&data.day),
        rows,
        next,
        filters: FilterBar::new(&request.form)
            .select("status", "Status", "All", STATUSES)
            .input("q", "ID or type", "search")
            .clear(&webhook_href),
        // Older pages rarely change, a search can be slow, and nothing is sent while the webhook is off.
        is_live: data.webhook.is_on() && !is_search && request.form.optional("cursor").is_none(),
        data,
        page_href,
        webhook_href,
        now: visitor.app().clock.now(),
    };
    render(StatusCode::OK, &page)
}
